package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"authsvc"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/npm"
)

// frameworks lists the frameworks with a hook in authsvc-client and an application in
// web/src/hooks.
var frameworks = map[string]string{"react": "react.jsx", "vue": "vue.js", "svelte": "svelte.js", "solid": "solid.js"}

// packed installs authsvc-client, packed as for publication, among the other
// packages.
var packed = sync.OnceValue(func() error { return npm.Pack(filepath.Join("..", "clients", "js"), webDir) })

// needClient makes authsvc-client available to programs in webDir, or skips the test.
func needClient(t *testing.T) {
	t.Helper()
	needNode(t)
	if err := packed(); err != nil {
		t.Fatal(err)
	}
}

// hookBundles holds the bundled applications by framework.
var hookBundles = sync.OnceValues(func() (map[string][]byte, error) {
	scripts := map[string][]byte{}
	for name, entry := range frameworks {
		script, err := npm.Run(webDir, "bundle.mjs", "src/hooks/"+entry)
		if err != nil {
			return nil, err
		}
		scripts[name] = script
	}
	return scripts, nil
})

// backedSite is a site with JavaScript servers behind it at /express/, /hono/ and
// /plain/, which call the service by an internal name. It serves a framework's
// application at /app/NAME and, with the session in the page, at /first?NAME.
func backedSite(t *testing.T) *site {
	t.Helper()
	needClient(t)
	scripts, err := hookBundles()
	if err != nil {
		t.Fatal(err)
	}
	var inner string // the service's address for servers
	s := newSite(t, func(s *site, c *authsvc.Config) {
		inner = strings.Replace(s.origin, "localhost", "127.0.0.1", 1)
		c.InternalHosts = []string{strings.TrimPrefix(inner, "http://")}
		c.Session = authsvc.SessionOptions{Strategy: authsvc.StrategyJWT, UpdateAge: -1} // each tab uses its own name
		takeNames(s, c)
	})
	behind := startServer(t, webDir, inner, "node", "backends.mjs", inner)
	for _, path := range []string{"/express/", "/hono/", "/plain/", "/first"} {
		s.mux.Handle(path, behind)
	}
	s.inner = inner
	for name, script := range scripts {
		s.mux.HandleFunc("GET /"+name+".js", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			w.Write(script)
		})
		s.mux.HandleFunc("GET /app/"+name, func(w http.ResponseWriter, _ *http.Request) {
			writePage(w, `<title>App</title><div id="root"></div><script src="/`+name+`.js"></script>`)
		})
	}
	return s
}

// startServer runs a program in dir, which calls the service at inner and prints its
// port. It returns a proxy to the program that keeps the Host.
func startServer(t *testing.T, dir, inner string, command ...string) *httputil.ReverseProxy {
	t.Helper()
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Dir, program.Env = dir, append(os.Environ(), "AUTHSVC="+inner, "DENO_NO_UPDATE_CHECK=1", "DENO_DIR="+t.TempDir())
	out, err := program.StdoutPipe()
	if err := errors.Join(err, program.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Process.Kill() //nolint:errcheck // it may have ended
		program.Wait()         //nolint:errcheck // killed
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s prints no port: %v", strings.Join(command, " "), err)
	}
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strings.TrimSpace(port)}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
}

// TestHooks tests useSession of each framework: sign-in, update, two tabs, focus, and
// a first render that already has the session.
func TestHooks(t *testing.T) {
	t.Parallel()
	requested(t, "Node and Chromium")
	s := backedSite(t)
	for name := range frameworks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTab(t)
			b.Open(s.origin + "/app/" + name)
			is(b, "unauthenticated", "", "")
			b.Click("#in")
			b.At(s.op.Issuer())
			b.Click(`button[name=person][value="ada"]`)
			b.At(s.origin + "/app/" + name)
			b.Wait(`document.getElementById("status")?.textContent === "authenticated"`)
			if got := chromium.Eval[[]string](b, `["email", "again"].map((id) => document.getElementById(id).textContent)`); got[0] != "ada@example.com" || got[1] != got[0] {
				t.Errorf("two components show %q", got)
			}
			b.Click("#rename")
			is(b, "authenticated", "Ada King", "ada@example.com")

			b.Open(s.origin + "/first?" + name)
			is(b, "authenticated", "Ada King", "ada@example.com")
			if seen := chromium.Eval[[]string](b, `window.seen`); len(seen) != 1 || seen[0] != "authenticated" {
				t.Errorf("the first render went through %q", seen)
			}
			if n := reads(b); n != 0 {
				t.Errorf("a page that has the session reads it %d times", n)
			}

			other := b.Sibling()
			other.Open(s.origin + "/app/" + name)
			is(other, "authenticated", "Ada King", "ada@example.com")
			if n := reads(other); n != 1 {
				t.Errorf("two components read the session %d times", n)
			}
			before := reads(b)
			chromium.Eval[bool](b, `document.dispatchEvent(new Event("visibilitychange"))`)
			b.Wait(fmt.Sprintf(`performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/session")).length > %d`, before))
			chromium.Eval[map[string]string](b, `auth.signOut({redirect: false})`)
			is(b, "unauthenticated", "", "")
			is(other, "unauthenticated", "", "")
			b.Quiet()
			other.Quiet()
		})
	}
}

// reads returns how often the page has read the session.
func reads(b *chromium.Tab) int {
	b.T.Helper()
	return chromium.Eval[int](b, `performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/session")).length`)
}

// runtimesDir holds Deno and Bun for Linux on x64.
const runtimesDir = "runtimes"

// runtimes holds the command of each runtime that runs a server.
var runtimes = map[string][]string{
	"deno": {"node_modules/@deno/linux-x64-glibc/deno", "run", "--no-lock", "--no-remote", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read", "server.mjs"},
	"bun":  {"node_modules/@oven/bun-linux-x64/bin/bun", "run", "server.mjs"},
}

// installedRuntimes installs the runtimes and authsvc-client, once for all tests.
var installedRuntimes = sync.OnceValue(func() error {
	return errors.Join(npm.Install(runtimesDir), npm.Pack(filepath.Join("..", "clients", "js"), runtimesDir))
})

// startRuntimes serves /deno/ and /bun/ if they are available, and returns the
// available ones.
func (s *site) startRuntimes(t *testing.T) (kinds []string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil
	}
	if err := installedRuntimes(); err != nil {
		t.Fatal(err)
	}
	for kind, command := range runtimes {
		s.mux.Handle("/"+kind+"/", startServer(t, runtimesDir, s.inner, command...))
		kinds = append(kinds, kind)
	}
	return kinds
}

// TestBackEndsInJavaScript tests protect() in Express, in Hono and around a function
// of a Request, in Node.js, Deno and Bun. It must send people to the sign-in page and
// back, and fail closed.
func TestBackEndsInJavaScript(t *testing.T) {
	t.Parallel()
	requested(t, "Node and Chromium")
	s := backedSite(t)
	for _, kind := range append(s.startRuntimes(t), "express", "hono", "plain") {
		path := "/" + kind + "/me?tab=1"
		b := newTab(t)
		b.Open(s.origin + path)
		b.At(s.base + "/signin?callbackUrl=")
		b.Click(".p-op button")
		s.choose(b, "ada")
		b.At(s.origin + path)
		b.Shows("ada@example.com")
		cookies := b.Cookies(s.origin)
		for _, c := range []struct {
			method, header, value string
			signedIn              bool
			status                int
		}{
			{"GET", "", "", true, 200}, {"GET", "", "", false, 401}, {"GET", "Accept", "text/html", false, 302},
			{"POST", "Sec-Fetch-Site", "same-origin", true, 200}, {"POST", "Sec-Fetch-Site", "cross-site", true, 403},
			{"POST", "Origin", s.origin, true, 200}, {"POST", "Origin", "http://evil.test", true, 403},
		} {
			res := s.askBackEnd(t, c.method, path, map[string]string{c.header: c.value}, cookies, c.signedIn)
			if res.StatusCode != c.status || !strings.Contains(res.Header.Get("Cache-Control"), "no-store") && c.status != 403 {
				t.Errorf("%s: %+v: %d %v", kind, c, res.StatusCode, res.Header)
			}
			if renewed := strings.Contains(strings.Join(res.Header["Set-Cookie"], ";"), "authsvc.session="); renewed != (c.status == 200) {
				t.Errorf("%s: %+v: renewed cookies %q", kind, c, res.Header["Set-Cookie"])
			}
			if to := res.Header.Get("Location"); c.status == 302 && to != "/api/auth/signin?callbackUrl="+url.QueryEscape(path) {
				t.Errorf("%s: sent to %s", kind, to)
			}
		}
	}
	if n := strings.Count(s.logs.String(), "internal host"); n != 0 {
		t.Errorf("the service refused something at its internal host:\n%s", s.logs)
	}
}

// askBackEnd sends a request to a server behind the site, as a script would.
func (s *site) askBackEnd(t *testing.T, method, path string, header, cookies map[string]string, signedIn bool) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.origin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range header {
		if name != "" {
			r.Header.Set(name, v)
		}
	}
	if signedIn {
		for name, v := range cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: v})
		}
	}
	client := &http.Client{Timeout: chromium.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}
