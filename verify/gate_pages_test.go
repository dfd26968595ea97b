package verify

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// TestGatePages runs the code blocks of the gate pages that need no other proxy,
// unchanged. gate-11 runs those of the proxies.
func TestGatePages(t *testing.T) {
	t.Parallel()
	if lack := program("curl").lack(); lack != "" {
		if demanded() {
			t.Error(lack)
		}
		t.Skip(lack)
	}
	const readme, hosts = "../docs/gate/README.md", "../docs/gate/hosts.md"
	t.Run("hosts", func(t *testing.T) {
		t.Parallel()
		p := process.Serve(t, filledIn(proxytest.Blocks(t, hosts, "yaml")[0]), "AUTHSVC_STORAGE_URL=memory:", "AUTHSVC_SECRET="+arena.Secret)
		shows(t, p, proxytest.Blocks(t, hosts, "console")[0])
	})
	t.Run("a program", func(t *testing.T) {
		t.Parallel()
		config := strings.Replace(process.NewNeighbours(t).YAML("trusted_proxies: [127.0.0.1/32]"), `"{origin}"`, "https://wiki.example.com", 1)
		p := process.Prepare(t, config, "AUTHSVC_STORAGE_URL=memory:")
		_, line, _ := strings.Cut(proxytest.Blocks(t, readme, "sh")[0], "\nauthsvc ")
		p.Args = strings.Fields(line)
		p.Start()
		p.Ready(time.Minute)
		shows(t, p, proxytest.Blocks(t, readme, "console")[0])
	})
	t.Run("several programs", func(t *testing.T) {
		t.Parallel()
		p := process.Serve(t, filledIn(proxytest.Blocks(t, readme, "yaml")[0]), "AUTHSVC_STORAGE_URL=memory:", "AUTHSVC_SECRET="+arena.Secret)
		said := shows(t, p, proxytest.Blocks(t, readme, "console")[1])
		if !strings.Contains(said, "reauthenticate, requires a sign-in within 1h0m0s, by gate.hosts[0].rules[1]\n") {
			t.Errorf("rules explain says\n%s", said)
		}
	})
}

// filledIn fills in the values that a page leaves to the reader.
func filledIn(yaml string) string { return strings.ReplaceAll(yaml, `"…"`, "of-the-reader") }

// shows runs the command of a block, with every host name resolving to the service
// over TLS. See showsAt.
func shows(t testing.TB, p *process.Process, block string) string {
	t.Helper()
	to, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	t.Cleanup(front.Close)
	return showsAt(t, p, front.Listener.Addr().String(), block)
}

// showsAt runs the command of a block, with every host name resolving to addr. It
// compares the output with the block's, in which … matches anything.
func showsAt(t testing.TB, p *process.Process, addr, block string) string {
	t.Helper()
	home := t.TempDir()
	rc := fmt.Sprintf("connect-to = \"::%s\"\ninsecure\n", addr)
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	command, want, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
	c := exec.CommandContext(t.Context(), "sh", "-c", command)
	c.Dir, c.Env = p.Dir, append([]string{"HOME=" + home, "PATH=" + filepath.Dir(process.Binary(t)) + ":" + os.Getenv("PATH")}, p.Env()...)
	out, err := c.CombinedOutput()
	said := strings.ReplaceAll(string(out), "\r\n", "\n")
	if want == "" {
		want = "…"
	}
	pattern := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".+") + "$"
	if err != nil || !regexp.MustCompile(pattern).MatchString(said) {
		t.Errorf("%s: %v, prints\n%s\nand the page says\n%s", command, err, said, want)
	}
	return said
}
