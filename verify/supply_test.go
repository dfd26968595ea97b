package verify

import (
	"debug/buildinfo"
	"go/version"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// CI itself runs the builds and tools. These checks make sure that it does, and at
// scale full run the slow ones.
var supplyChecks = checks{
	"01": {title: "known vulnerabilities are searched for", once: true, run: supply01},
	"02": {title: "static analysis and banned imports", once: true, run: supply02},
	"03": {title: "contents of the binary, and reproducible builds", once: true, run: supply03},
	"04": {title: "the binary serves no test code", once: true, run: supply04},
	"05": {title: "tests notice a missing check", once: true, run: supply05},
}

// supplyText returns a file of the repository.
func supplyText(t *T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// supplyRuns checks that the full check runs each of these commands on a separate
// line.
func supplyRuns(t *T, commands ...string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^stages=\(.*\bsupply\b`).MatchString(supplyText(t, ".ci/full")) {
		t.Error(".ci/full does not run .ci/supply")
	}
	script := supplyText(t, ".ci/supply")
	for _, c := range commands {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(c) + `( |$)`).MatchString(script) {
			t.Errorf(".ci/supply does not run %s", c)
		}
	}
}

// supplyTool runs a command of the repository.
func supplyTool(t *T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v\n%.2000s", name, args, err, out)
	}
}

func supply01(t *T) {
	supplyRuns(t, ".ci/vuln --self-test", ".ci/vuln ./authsvc")
	info, err := buildinfo.ReadFile(process.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	// People who run go test may have an older Go version; make uses the released
	// one.
	if v := strings.Fields(info.GoVersion)[0]; version.Compare(v, "go1.27.2") < 0 && demanded() {
		t.Errorf("the binary is built with %s", v)
	}
	t.Figure("built with %s", info.GoVersion)
	if theScale() == full {
		supplyTool(t, ".ci/vuln", "--self-test")
	}
}

// supplyRoot is the path of the module.
var supplyRoot = reflect.TypeFor[authsvc.Config]().PkgPath()

// supplyBanned lists imports that our packages in the binary must not have.
var supplyBanned = []string{"math/rand", "text/template", "unsafe", "plugin", "net/http/pprof", "expvar", "testing", "net/http/httptest", "os/exec"}

// supplyExcepted lists the packages that may import one of them: for the text part of
// mails, and for the profiles of debug.listen, which has its own listener.
var supplyExcepted = map[string][]string{
	"text/template":  {supplyRoot, "authsvc/internal/text/mailtext"},
	"net/http/pprof": {"authsvc/cmd/authsvc"},
}

func supply02(t *T) {
	supplyRuns(t, "make --no-print-directory supply")
	if !strings.Contains(supplyText(t, "Makefile"), "\ncheck: fmt vet lint ") {
		t.Error("make check does not run gofmt, go vet and staticcheck")
	}
	if !regexp.MustCompile(`(?m)^supply: .*\baudit\b`).MatchString(supplyText(t, "Makefile")) {
		t.Error("make supply does not run gosec and errcheck")
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Dir}} {{join .Imports \",\"}}{{end}}", "authsvc/cmd/authsvc").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != supplyRoot && !strings.HasPrefix(words[0], supplyRoot+"/") {
			continue
		}
		ours++
		for _, i := range strings.Split(words[2], ",") {
			if slices.Contains(supplyBanned, i) && !slices.Contains(supplyExcepted[i], words[0]) {
				t.Errorf("%s imports %s", words[0], i)
			}
		}
		for _, file := range globbed(t, words[1], "*.go") {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(text), "DefaultServeMux") { // which has the profiles
				t.Errorf("%s: http.DefaultServeMux, to which every import can add routes", file)
			}
			if err != nil || switchedOff.Match(text) && words[0] != "authsvc/adapter/mysql" && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: InsecureSkipVerify, %v", file, err)
			}
		}
	}
	if ours < 15 {
		t.Errorf("twin: %d packages of this module", ours)
	}
}

// switchedOff matches TLS without verification. The MySQL client has it for operators
// who write tls=skip-verify in the URL of their store.
var switchedOff = regexp.MustCompile(`InsecureSkipVerify:? *=? *true`)

func globbed(t *T, dir, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func supply03(t *T) {
	supplyRuns(t, "make --no-print-directory supply")
	if !regexp.MustCompile(`(?m)^supply: (?:.* )?modules (?:.* )?sbom (?:.* )?reproducible`).MatchString(supplyText(t, "Makefile")) {
		t.Error("make supply lacks one of modules, sbom, reproducible")
	}
	licences := supplyText(t, "THIRD_PARTY_LICENSES.md")
	info, err := buildinfo.ReadFile(process.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if m.Sum == "" || !strings.Contains(licences, m.Path) {
			t.Errorf("%s %s: sum %q, or not in the list of licences", m.Path, m.Version, m.Sum)
		}
	}
	t.Figure("%d modules", len(info.Deps))
	if theScale() == full {
		supplyTool(t, "make", "--no-print-directory", "reproducible")
	}
}

// supply04 checks that only its own command starts development mode, which stays on
// loopback, and that code that breaks things for tests is not linked or not called.
func supply04(t *T) {
	p := configFile(t, configGood)
	for _, args := range [][]string{
		{"dev", "--listen", "0.0.0.0:3000"}, {"dev", "--listen", ":3000"}, {"dev", "--listen", "192.0.2.1:3000"}, {"dev", "--listen", "[::]:3000"}, {"dev", "--listen", "localhost.evil.test:3000"},
		{"dev", "--url", "https://app.example.com"}, {"dev", "--url", "http://192.0.2.1:3000"}, {"dev", "--url", "http://localhost.evil.test"}, {"serve", "--dev"}, {"dev", "--config", "authsvc.yaml", "--listen", "0.0.0.0:1"},
		{"dev", "--config", "authsvc.yaml", "--url", "https://app.example.com"}, {"dev", "--config", "authsvc.yaml", "--url", "http://localhost:3000", "--listen", "0.0.0.0:3000"}, {"dev", "--config", "authsvc.yaml", "--url", "http://192.0.2.1:3000"},
	} {
		if out, code := p.Command(args...); code == 0 || strings.Contains(out, "Open ") || strings.Contains(out, "Sign in at") {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
	for _, line := range []string{"dev: true", "inbox: true", "mailbox: {}", "idp: {}", "fault: {}", "providers: [{id: dev, type: dev}]", "providers: [{id: idp}]"} {
		if out, code := configFile(t, strings.Split(configGood, "providers:")[0]+line+"\n").Command("check", "--offline"); code == 0 {
			t.Errorf("%s: %s", line, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "nm", process.Binary(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"authsvc/internal/test/arena", "authsvc/adaptertest", "authsvc/authtest", "authsvc/internal/test/servertest", "authsvc/internal/test/proxytest", "authsvc/internal/test/freeport", "FailBefore", "testing.(*T)"} {
		if strings.Contains(string(out), hook) {
			t.Errorf("the binary has %s", hook)
		}
	}
	for _, dir := range []string{"../cmd/authsvc", "../internal/dev", "../internal/dev/devsite", "../devidp", "../authtest", "..", "../engine"} {
		for _, file := range globbed(t, dir, "*.go") {
			if text, err := os.ReadFile(file); err != nil || !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), ".SetFault(") {
				t.Errorf("%s breaks the identity provider, %v", file, err)
			}
		}
	}
	if !strings.Contains(string(out), "authsvc/engine.(*Service).ServeHTTP") {
		t.Error("twin: the symbols of the binary are not read")
	}
	served := process.Serve(t, process.NewNeighbours(t).YAML(""), "AUTHSVC_STORAGE_URL=memory:")
	for _, path := range []string{"/inbox", "/mails", "/idp", "/.well-known/openid-configuration", "/authorize", "/dev", "/fault"} {
		if a, err := browser.New(served.URL, nil).Get(path); err != nil || a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %+v, %v", path, a, err)
		}
	}
}

func supply05(t *T) {
	table := ""
	for _, file := range globbed(t, "../internal/tools/mutate", "table*.go") {
		table += supplyText(t, strings.TrimPrefix(file, "../"))
	}
	names := regexp.MustCompile(`(?m)^\t\{"([a-z0-9/-]+)"`).FindAllStringSubmatch(table, -1)
	for _, word := range []string{"state/", "nonce", "iss", "aud", "csrf/", "pkce", "over|expir|exp", "unique|conflict|twice|one-", "redirect/", "signature"} {
		if !slices.ContainsFunc(names, func(n []string) bool { return regexp.MustCompile(word).MatchString(n[1]) }) {
			t.Errorf("no check of %s is removed", word)
		}
	}
	t.Figure("%d checks are removed", len(names))
	if theScale() == full {
		began := time.Now()
		supplyTool(t, "go", "run", "./internal/tools/mutate")
		t.Figure("each noticed, in %v", time.Since(began).Round(time.Second))
	}
}
