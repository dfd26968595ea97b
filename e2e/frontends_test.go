package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/process"
)

// frontEndKey is the key of a front end.
const frontEndKey = "e2e-front-end-key-9sWq+Zx71LmRb0Tg5Vb2Nm8Q"

// A frontEnd is `serve`, which browsers reach only through a Next.js server.
type frontEnd struct {
	*process.Process
	n      *process.Neighbours
	origin string // of Next.js
}

// startFrontEnd serves Next.js at a name of this machine, and the service behind it at
// port, 0 for any. The service has the keys of a block of docs/front-ends/next.md.
func startFrontEnd(t *testing.T, name string, port int, keys string) *frontEnd {
	t.Helper()
	needNode(t)
	front, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	f := &frontEnd{n: process.NewNeighbours(t), origin: fmt.Sprintf("http://%s:%d", name, front)}
	config := strings.ReplaceAll(f.n.YAML(ownKeys(keys)), "{origin}", f.origin)
	f.Process = process.Prepare(t, config, "AUTHSVC_STORAGE_URL=memory:", "AUTHSVC_PROXY_KEY="+frontEndKey)
	if port != 0 {
		f.Addr = fmt.Sprintf("127.0.0.1:%d", port)
		f.URL = "http://" + f.Addr
	}
	f.Configure(config + fmt.Sprintf("internal_hosts: [%q]\n", f.Addr)) // for the application's own calls
	f.Start()
	f.Ready(chromium.Patience)
	runNext(t, front, "AUTHSVC_INTERNAL_URL="+f.URL, "AUTHSVC_PROXY_KEY="+frontEndKey)
	return f
}

// ownKeys returns the keys of a page's block that a test does not choose itself.
func ownKeys(block string) (keys string) {
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "url:") && !strings.HasPrefix(line, "listen:") {
			keys += line
		}
	}
	return keys
}

// ask sends a request to Next.js, as a proxy in front of it does.
func (f *frontEnd) ask(t *testing.T, method, path, body string, header ...string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := (&http.Client{Timeout: chromium.Patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

// TestFrontEnds signs in, by next-auth/react and by the service's own pages, with the
// browser at a Next.js server that passes requests on: by rewrites(), whose network the
// service trusts, and by the route handler of authsvc-client/server, which has a key.
func TestFrontEnds(t *testing.T) {
	t.Parallel()
	requested(t, "Node and Chromium")
	t.Run("rewrites", func(t *testing.T) {
		t.Parallel()
		port, err := rewritesPort()
		if err != nil {
			t.Fatal(err)
		}
		walkFrontEnd(t, startFrontEnd(t, "localhost", port, pageBlocks(t, "next.md", "yaml")[1]))
	})
	t.Run("handler", func(t *testing.T) {
		t.Parallel()
		walkFrontEnd(t, startFrontEnd(t, "127.0.0.1", 0, pageBlocks(t, "next.md", "yaml")[0]))
	})
	t.Run("dev", func(t *testing.T) {
		t.Parallel()
		front, err := freeport.Pick(1)
		if err != nil {
			t.Fatal(err)
		}
		origin := fmt.Sprintf("http://127.0.0.1:%d", front)
		at, issuer := runDev(t, origin)
		runNext(t, front, "AUTHSVC_INTERNAL_URL="+at, "AUTHSVC_PROXY_KEY="+frontEndKey)
		b := newTab(t)
		b.Open(origin + "/account")
		b.At(origin + "/api/auth/signin?callbackUrl=")
		b.Click(".p-dev button")
		b.At(issuer)
		b.Click("button[value='ada']")
		b.At(origin + "/account")
		is(b, "authenticated", "Ada Lovelace", "ada@example.com")
		b.Quiet()
	})
}

func walkFrontEnd(t *testing.T, f *frontEnd) {
	base := f.origin + "/api/auth"
	ada := func(b *chromium.Tab) {
		b.At(f.n.OP.Issuer())
		b.Click(`button[name=person][value="ada"]`)
	}
	b := newTab(t)
	b.Open(f.origin + "/account?tab=1")
	b.At(base + "/signin?callbackUrl=")
	b.Click(".p-op button")
	ada(b)
	b.At(f.origin + "/account?tab=1")
	is(b, "authenticated", "Ada Lovelace", "ada@example.com")
	b.Wait(`document.getElementById("server").textContent === "ada@example.com"`)
	b.Wait(`typeof auth !== "undefined"`) // set once the page's scripts have run
	if got := chromium.Eval[map[string]any](b, `auth.getSession()`)["expires"]; got == nil {
		t.Error("getSession returns no session")
	}
	b.Open(base + "/account") // a page for people, JSON for scripts
	b.Wait(`document.readyState === "complete" && document.querySelector("h1") !== null`)

	b.Open(f.origin + "/account")
	is(b, "authenticated", "Ada Lovelace", "ada@example.com")
	chromium.Eval[map[string]string](b, `auth.signOut({redirect: false})`)
	is(b, "unauthenticated", "", "")
	chromium.Eval[bool](b, `void auth.signIn("op", {callbackUrl: "/classic?a=%2Fb"}) ?? true`)
	ada(b)
	b.At(f.origin + "/classic?a=%2Fb")
	is(b, "authenticated", "Ada Lovelace", "ada@example.com")
	chromium.Eval[bool](b, `void auth.signOut({callbackUrl: "/account"}) ?? true`)
	b.At(base + "/signin?callbackUrl=")

	b.Fill("input[name=email]", "grace@example.com")
	b.Click("#submitButton")
	b.At(base + "/verify-request")
	ctx, cancel := context.WithTimeout(t.Context(), chromium.Patience)
	defer cancel()
	m, err := f.n.Box.Wait(ctx, func(m mailbox.Message) bool { return strings.HasPrefix(m.Link(), base+"/callback/email?") })
	if err != nil {
		t.Fatalf("no mail with a link to %s: %v", base, err)
	}
	b.Open(m.Link()) // in the browser that asked for it: no page in between
	b.At(f.origin + "/account")
	b.Wait(`document.getElementById("server").textContent === "grace@example.com"`)
	b.Quiet()

	// The address that a proxy in front of Next.js has written counts.
	if status, text := f.ask(t, "POST", "/api/auth/signout", "csrfToken=wrong", "Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", "198.51.100.4"); status >= 500 {
		t.Errorf("POST signout: %d %.200s", status, text)
	}
	if !strings.Contains(f.Logs.String(), "client=198.51.100.4") {
		t.Errorf("the service does not know the client's address")
	}
	// Another name of the same server is not served, whatever the client claims.
	_, own, _ := strings.Cut(f.origin, "://")
	for _, host := range []string{"evil.test", "sub." + own} {
		if status, text := f.ask(t, "GET", "/api/auth/signin", "", "Host", host, "X-Forwarded-Host", own, "Authsvc-Proxy-Key", "forged"); status != http.StatusMisdirectedRequest {
			t.Errorf("Host %s: %d %.200s", host, status, text)
		}
	}
	if status, text := f.ask(t, "GET", "/api/auth/signin", "", "X-Forwarded-Host", "evil.test"); status != http.StatusOK || strings.Contains(text, "evil.test") || strings.Contains(text, f.Addr) {
		t.Errorf("twin: %d %.200s", status, text)
	}
	// Without Next.js between, a client is refused.
	res, err := http.Get(f.URL + "/api/auth/signin")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("the service answers a client that names another host: %d", res.StatusCode)
	}
}

// TestFrontEndPagesRouter: the handler in the pages router passes on a form that Next.js
// has parsed.
func TestFrontEndPagesRouter(t *testing.T) {
	t.Parallel()
	requested(t, "Node")
	needNode(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "a=1; Path=/")
		w.Header().Add("Set-Cookie", "b=2; Path=/")
		w.Header().Set("Location", "/next")
		w.WriteHeader(http.StatusFound)
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // compared
		fmt.Fprintf(w, "%s %s %s|%s|%s|%s|%s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-For"), r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Authsvc-Proxy-Key"), body)
	}))
	t.Cleanup(service.Close)
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	runNext(t, port, "AUTHSVC_INTERNAL_URL="+service.URL+"/api/login", "AUTHSVC_PROXY_KEY="+frontEndKey)
	at := fmt.Sprintf("127.0.0.1:%d", port)
	form := url.Values{"csrfToken": {"a|b"}, "email": {"ada@example.com"}}.Encode()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+at+"/api/login/signin/email?x=%2F", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Mode": {"navigate"}}
	client := &http.Client{Timeout: chromium.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	wants := "POST /api/login/signin/email?x=%2F " + at + "|"
	if res.StatusCode != http.StatusFound || res.Header.Get("Location") != "/next" || len(res.Header["Set-Cookie"]) != 2 ||
		!strings.HasPrefix(string(got), wants) || !strings.HasSuffix(string(got), "127.0.0.1|navigate|"+frontEndKey+"|"+form) {
		t.Errorf("%d %v\n%s", res.StatusCode, res.Header, got)
	}
}
