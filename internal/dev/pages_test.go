package dev_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
)

// visitNew runs dev in its own folder until the test ends, and visits it.
func visitNew(t *testing.T) (v *visitor, port int) {
	t.Helper()
	port = freePorts(t)
	_, stop := run(t, t.TempDir(), port)
	t.Cleanup(stop)
	return visit(t, port), port
}

// TestOtherNames: other names of this machine redirect to the name that dev uses.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"localhost", "127.0.0.1"} {
		port := freePorts(t)
		out := &logbuffer.Buffer{}
		start(t, out, dev.Options{Dir: t.TempDir(), Host: listen, Port: port, Out: out, Log: slog.New(slog.DiscardHandler)})
		own := fmt.Sprintf("http://%s:%d", listen, port)
		for host, want := range map[string]int{"localhost": 307, "127.0.0.1": 307, "[::1]": 307, "app.localhost": 307, "evil.example": 421, "192.168.1.2": 421} {
			if host == listen {
				want = 200
			}
			res, _ := ask(t, staying(t), "GET", fmt.Sprintf("http://127.0.0.1:%d/inbox?a=b", port), fmt.Sprintf("%s:%d", host, port))
			if res.StatusCode != want || want == 307 && res.Header.Get("Location") != own+"/inbox?a=b" {
				t.Errorf("%s at %s: %s to %q", host, listen, res.Status, res.Header.Get("Location"))
			}
		}
		for method, path := range map[string]string{"POST": "/inbox/clear", "GET": "//evil.example/"} {
			if res, _ := ask(t, staying(t), method, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), fmt.Sprintf("app.localhost:%d", port)); res.StatusCode != 421 {
				t.Errorf("%s %s at another name: %s to %q", method, path, res.Status, res.Header.Get("Location"))
			}
		}
		if res, _ := ask(t, staying(t), "GET", fmt.Sprintf("http://127.0.0.1:%d/", port), "app.localhost:1"); res.StatusCode != 421 {
			t.Errorf("another port: %s", res.Status)
		}
	}
}

// TestNews: a sign-in prints one line, and nothing else is printed or logged.
func TestNews(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	out, log := &logbuffer.Buffer{}, &logbuffer.Buffer{}
	start(t, out, dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, Out: out, Log: slog.New(slog.NewTextHandler(log, nil))})
	banner := out.String()
	v := visit(t, port)
	v.choose(v.post("/api/auth/signin/dev", "callbackUrl", "/"), "Ada Lovelace")
	v.post("/api/auth/signout")
	v.post("/api/auth/signin/email", "email", "new@app.example", "callbackUrl", "/")
	v.openMail()
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  `).ReplaceAllString(strings.TrimPrefix(out.String(), banner), "")
	want := "ada@example.com signed in with Dev ID\nada@example.com signed out\n" +
		fmt.Sprintf("a link was mailed: http://localhost:%d/inbox\n", port) + "new@app.example signed in with a mailed link\n"
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if log.String() != "" {
		t.Errorf("logged %s", log)
	}
}

// TestPictures: people of the identity provider have pictures, and the home page may
// load them.
func TestPictures(t *testing.T) {
	t.Parallel()
	v, port := visitNew(t)
	home := v.choose(v.post("/api/auth/signin/dev", "callbackUrl", "/"), "Ada Lovelace")
	src := regexp.MustCompile(`<img class="picture" src="([^"]+)"`).FindStringSubmatch(home.Text)
	issuer := fmt.Sprintf("http://127.0.0.1:%d", port+1)
	if src == nil || !strings.HasPrefix(src[1], issuer+"/avatar/") {
		t.Fatalf("no picture: %v", src)
	}
	if res, _ := ask(t, http.DefaultClient, "GET", src[1], ""); res.StatusCode != 200 || res.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("picture: %s", res.Status)
	}
	if policy := home.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' data: https: "+issuer+";") {
		t.Errorf("policy %s", policy)
	}
}

// TestMissing: a path that dev does not have says where to sign in, to browsers on a page
// and to programs in a line. Paths of the service belong to the service.
func TestMissing(t *testing.T) {
	t.Parallel()
	v, _ := visitNew(t)
	for _, c := range []struct {
		method, path, accept, want string
		ours                       bool
	}{
		{"GET", "/nope", "text/html,*/*", `<a class="button primary" href="` + v.Base + `/api/auth/signin?callbackUrl=%2F">Sign in</a>`, true},
		{"GET", "/inbox/a/%3Cb%3E", "text/html", "<code>/inbox/a/&lt;b&gt;</code>", true},
		{"GET", "/nope", "*/*", "sign in at " + v.Base + "/api/auth/signin", true},
		{"POST", "/nope", "application/json", "sign in at " + v.Base + "/api/auth/signin", true},
		{"GET", "/api/auth/nope", "text/html", "", false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, v.Base+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", c.accept)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		res.Body.Close()
		text := string(raw)
		page, line := strings.Contains(text, "There is no page here"), strings.Contains(text, "nothing at this path")
		asPage := strings.Contains(c.accept, "text/html")
		if err != nil || res.StatusCode != http.StatusNotFound || page != (c.ours && asPage) || line != (c.ours && !asPage) || !strings.Contains(text, c.want) {
			t.Errorf("%s %s for %s: %s, %v\n%s", c.method, c.path, c.accept, res.Status, err, text)
		}
	}
	if home := v.get("/"); home.StatusCode != http.StatusOK || strings.Contains(home.Text, "There is no page here") {
		t.Errorf("the home page: %d", home.StatusCode)
	}
}

// TestMailFrame: the inbox shows a mail in a frame that runs no script and whose links
// open in the whole window. It also reports new mail.
func TestMailFrame(t *testing.T) {
	t.Parallel()
	v, _ := visitNew(t)
	before := v.get("/inbox-state").Text
	if empty := v.get("/inbox").Text; !strings.Contains(empty, `data-follow="/inbox-state" data-state="`+before+`"`) || !strings.Contains(empty, `<noscript><meta http-equiv="refresh" content="10"></noscript>`) {
		t.Errorf("the empty inbox does not follow: %s", empty)
	}
	v.post("/api/auth/signin/email", "email", "new@app.example", "callbackUrl", "/")
	var page string
	for deadline := time.Now().Add(patience); !strings.Contains(page, "<iframe") && time.Now().Before(deadline); {
		page = v.get("/inbox").Text
	}
	if v.get("/inbox-state").Text == before {
		t.Error("the state is the same with a mail")
	}
	frame := regexp.MustCompile(`<iframe class="mail" sandbox="([^"]*)" src="([^"]+)"`).FindStringSubmatch(page)
	if frame == nil || frame[1] != "allow-top-navigation-by-user-activation" {
		t.Fatalf("frame %q in %s", frame, page)
	}
	mail := v.get(frame[2])
	policy := mail.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "sandbox allow-top-navigation-by-user-activation; default-src 'none'; ") || strings.Contains(policy, "script") {
		t.Errorf("policy %s", policy)
	}
	if !strings.HasPrefix(mail.Text, `<!doctype html><base target="_top">`) || !strings.Contains(mail.Text, "/api/auth/callback/email?") {
		t.Errorf("mail %s", mail.Text)
	}
	alone := v.get(strings.TrimSuffix(frame[2], "/html")).Text
	if strings.Contains(alone, "data-follow") || strings.Contains(alone, `http-equiv="refresh"`) {
		t.Error("a mail that was chosen gives way to newer ones")
	}
	if a, err := v.Get("/inbox/nothing/html"); err != nil || a.StatusCode != 404 {
		t.Errorf("no mail: %v", err)
	}
}

// snippet returns a snippet of the home page as the user copies it.
func snippet(t *testing.T, page, label string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)aria-label="` + regexp.QuoteMeta(label) + `" data-copy><code>(.*?)</code>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no snippet %s", label)
	}
	return html.UnescapeString(m[1])
}

// TestSnippets: the snippets that the home page offers to copy work unchanged.
func TestSnippets(t *testing.T) {
	t.Parallel()
	v, _ := visitNew(t)
	home := v.get("/").Text
	if curl, err := exec.LookPath("curl"); err == nil && curl != "" {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", snippet(t, home, "curl"))
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"dev":`) || !strings.Contains(string(out), `"csrfToken":`) || !strings.HasSuffix(strings.TrimSpace(string(out)), "{}") {
			t.Errorf("curl: %v %s", err, out)
		}
	}
	program := snippet(t, home, "Go")
	checkGoSnippet(t, program)
	if strings.Contains(program, "err.Error()") || !strings.Contains(program, "http.StatusServiceUnavailable") {
		t.Errorf("if the session cannot be read, the program must answer 503 without details:\n%s", program)
	}
	own := regexp.MustCompile(`Cookies: authsvc\.CookieOptions\{Prefix: "([a-z]+)"\}`).FindStringSubmatch(program)
	if own == nil {
		t.Fatalf("the program must have cookie names of its own, because dev is on the same host:\n%s", program)
	}
	v.get("/api/auth/csrf")
	cookies := v.Client.Jar.Cookies(&url.URL{Scheme: "http", Host: "localhost", Path: "/"})
	if len(cookies) == 0 || slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return strings.HasPrefix(c.Name, own[1]+".") }) {
		t.Errorf("dev has the cookies %v, and the program those of the prefix %q", cookies, own[1])
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"go mod edit -require=authsvc@v0.0.0 -replace=authsvc=../authsvc", "\ngo mod tidy\n"} {
		if !strings.Contains(snippet(t, home, "Go module"), line) || !strings.Contains(string(readme), line) {
			t.Errorf("the home page and the README do not both have %q", line)
		}
	}
	module := v.get("/api/auth/client.js").Text
	for _, name := range regexp.MustCompile(`import \{ ([^}]+) \} from "/api/auth/client.js"`).FindStringSubmatch(snippet(t, home, "Page"))[1:] {
		for one := range strings.SplitSeq(name, ", ") {
			if !regexp.MustCompile(`export (async )?(function|const) ` + one + `\b`).MatchString(module) {
				t.Errorf("client.js has no %s", one)
			}
		}
	}
}

// checkGoSnippet builds the program.
func checkGoSnippet(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("testdata/snippet/main.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {here: file}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "program"), "./testdata/snippet").CombinedOutput()
	if err != nil {
		t.Errorf("the program in Go: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v %s", err, out)
	}
}

// TestCause: a refusal whose cause has no fixed text prints one line with the cause,
// not a reference to the log.
func TestCause(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	out, log := &logbuffer.Buffer{}, &logbuffer.Buffer{}
	start(t, out, dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, Out: out, Log: slog.New(slog.NewTextHandler(log, nil))})
	banner := out.String()
	v := visit(t, port)
	asked := v.post("/api/auth/signin/dev", "callbackUrl", "/").Request.URL
	page := v.get("/api/auth/callback/dev?" + url.Values{"code": {"no-such-code"}, "state": asked.Query()["state"], "iss": {fmt.Sprintf("http://127.0.0.1:%d", port+1)}}.Encode())
	got := strings.TrimPrefix(out.String(), banner)
	if !regexp.MustCompile(`^\d\d:\d\d:\d\d  a sign-in was refused: .*invalid_grant.* \(request ` + requestID(t, page) + `\)\n$`).MatchString(got) {
		t.Errorf("printed %q; logged %s", got, log)
	}
}

// requestID returns the id of the request that an error page shows.
func requestID(t *testing.T, page *browser.Answer) string {
	t.Helper()
	m := regexp.MustCompile(`Request (?:<[^>]+>)*([0-9a-f]{12})\b`).FindStringSubmatch(page.Text)
	if m == nil {
		t.Fatalf("%s shows no request: %s", page.Request.URL, page.Text)
	}
	return m[1]
}

// TestNotLinked: for a person whose address belongs to another user, dev prints how that
// user signs in. That advice works.
func TestNotLinked(t *testing.T) {
	t.Parallel()
	for ways, linked := range map[string]bool{"a mailed link": false, "Dev ID": true} {
		t.Run(ways, func(t *testing.T) {
			t.Parallel()
			port := freePorts(t)
			out, stop := run(t, t.TempDir(), port)
			t.Cleanup(stop)
			v := visit(t, port)
			v.post("/api/auth/signin/email", "email", "ada@example.com", "callbackUrl", "/")
			v.openMail()
			id := v.userID()
			if linked {
				v.choose(v.post("/api/auth/signin/dev", "link", "true", "callbackUrl", "/"), "Grace Hopper")
			}
			w := visit(t, port)
			page := w.choose(w.post("/api/auth/signin/dev", "callbackUrl", "/"), "Ada Lovelace")
			want := "  a sign-in was refused: the address belongs to a user without this identity; ada@example.com signs in with " + ways +
				": sign in that way, then add Dev ID at Your account, or choose another person (request " + requestID(t, page) + ")\n"
			if !strings.HasSuffix(out.String(), want) {
				t.Errorf("no %q at the end of\n%s", want, out)
			}
			v.choose(v.post("/api/auth/signin/dev", "link", "true", "callbackUrl", "/"), "Ada Lovelace")
			if w.choose(w.post("/api/auth/signin/dev", "callbackUrl", "/"), "Ada Lovelace"); w.userID() != id {
				t.Errorf("signed in as %s, want %s", w.userID(), id)
			}
		})
	}
}

// TestOtherURL: if the page is elsewhere, dev prints its URL, and the identity provider
// takes a different port.
func TestOtherURL(t *testing.T) {
	t.Parallel()
	port, err := freeport.Pick(3)
	if err != nil {
		t.Fatal(err)
	}
	out := &logbuffer.Buffer{}
	page := fmt.Sprintf("http://localhost:%d", port+1)
	start(t, out, dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, URL: page, Out: out, Log: slog.New(slog.DiscardHandler)})
	for _, want := range []string{"\n  Open            " + page + " (yours; ", fmt.Sprintf("\n  authsvc         http://localhost:%d\n", port), fmt.Sprintf("\n  People          http://127.0.0.1:%d ", port+2)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// A proxy that changes the Host is reported in the response, and once in the
	// output.
	for host, want := range map[string]int{fmt.Sprintf("127.0.0.1:%d", port): 421, "app.example": 421, strings.TrimPrefix(page, "http://"): 200} {
		for range 2 {
			res, body := ask(t, staying(t), "GET", fmt.Sprintf("http://127.0.0.1:%d/api/auth/session", port), host)
			if res.StatusCode != want || want == 421 && !strings.Contains(body, "pass on the Host header") {
				t.Errorf("Host %s: %s %s", host, res.Status, body)
			}
		}
	}
	if n := strings.Count(out.String(), "the server in between must pass it on"); n != 1 {
		t.Errorf("said %d times in\n%s", n, out)
	}
}

// TestFrontEnd: behind a server of --url, dev refuses what serve refuses: at its own
// address it answers only the application's server, unless X-Forwarded-Host names the
// server of --url.
func TestFrontEnd(t *testing.T) {
	t.Parallel()
	port, err := freeport.Pick(3)
	if err != nil {
		t.Fatal(err)
	}
	own, front := fmt.Sprintf("localhost:%d", port), fmt.Sprintf("localhost:%d", port+1)
	out := &logbuffer.Buffer{}
	start(t, out, dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, URL: "http://" + front, Out: out, Log: slog.New(slog.NewTextHandler(out, nil))})
	const said = "serve needs forwarded_host: true, and trusted_proxies or proxy_keys"
	for _, c := range []struct {
		method, path, host, forwarded string
		status                        int
	}{
		{"GET", "/api/auth/signin", own, "", 421},
		{"GET", "/api/auth/csrf", own, "", 421},
		{"POST", "/api/auth/session", own, "", 421},
		{"GET", "/api/auth/signin", own, "evil.example", 421},
		{"GET", "/api/auth/signin", own, own, 421},
		{"GET", "/api/auth/signin", fmt.Sprintf("evil.example:%d", port), front, 421},
		{"GET", "/inbox", fmt.Sprintf("evil.example:%d", port), front, 421},
		{"GET", "/api/auth/session", own, "", 200},
		{"GET", "/inbox", own, "", 200},
		{"GET", "/api/auth/signin", own, front, 200},
		{"GET", "/api/auth/csrf", fmt.Sprintf("127.0.0.1:%d", port), front, 200},
	} {
		if heard := strings.Contains(out.String(), said); heard != (c.path == "/api/auth/csrf" && c.forwarded == front) {
			t.Errorf("before %+v: says what serve needs: %t\n%s", c, heard, out)
		}
		r, err := http.NewRequestWithContext(t.Context(), c.method, fmt.Sprintf("http://127.0.0.1:%d%s", port, c.path), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = c.host; c.forwarded != "" {
			r.Header.Set("X-Forwarded-Host", c.forwarded)
			r.Header.Set("X-Forwarded-For", "127.0.0.1")
		}
		res, err := staying(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%+v: %s", c, res.Status)
		}
	}
	if n := strings.Count(out.String(), "list the host and port that it uses there in internal_hosts"); n != 1 {
		t.Errorf("says %d times that the application's server asks\n%s", n, out)
	}
	if strings.Contains(out.String(), "level=WARN") {
		t.Errorf("it warns:\n%s", out)
	}
}

// TestFrontEndWithoutURL: a server that passes requests on is told about --url, once.
func TestFrontEndWithoutURL(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	out := &logbuffer.Buffer{}
	start(t, out, dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, Out: out, Log: slog.New(slog.DiscardHandler)})
	own := fmt.Sprintf("localhost:%d", port)
	for _, c := range []struct {
		forwarded string
		told      int
	}{{own, 0}, {"app.example", 0}, {"", 0}, {"localhost:1", 1}, {"localhost:1", 1}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/api/auth/session", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = own
		r.Header.Set("X-Forwarded-Host", c.forwarded)
		res, err := staying(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if n := strings.Count(out.String(), "start authsvc dev --url http://localhost:1\n"); res.StatusCode != http.StatusOK || n != c.told {
			t.Errorf("X-Forwarded-Host %q: %s, told %d times\n%s", c.forwarded, res.Status, n, out)
		}
	}
}

// TestFolder: a new folder is excluded from Git. An existing folder is left as it is.
func TestFolder(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	made := filepath.Join(there, "a", "dev")
	for dir, want := range map[string]string{there: "", made: "*\n"} {
		if err := dev.MakeDir(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, ".gitignore")); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
	if err := dev.MakeDir(filepath.Join(made, ".gitignore", "x")); err == nil {
		t.Error("a folder below a file was made")
	}
}
