package verify

import (
	"bufio"
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// A gatedProgram is a program without user accounts. It answers with the request that
// it received, and echoes data once a client has upgraded.
type gatedProgram struct {
	*httptest.Server
	mu  sync.Mutex
	all []string // methods and targets
}

// A gotRequest is a request as it arrived at a program.
type gotRequest struct {
	Method, Target, Host, Body string
	Header                     http.Header
}

func newGatedProgram(t testing.TB) *gatedProgram {
	p := &gatedProgram{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *gatedProgram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		echoUpgraded(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	got := gotRequest{r.Method, r.RequestURI, r.Host, string(body), r.Header}
	p.mu.Lock()
	p.all = append(p.all, got.Method+" "+got.Target)
	p.mu.Unlock()
	w.Header().Set("X-Program", "asked")
	if r.URL.Path == "/cookie" {
		w.Header().Set("Set-Cookie", theirCookie)
	}
	json.NewEncoder(w).Encode(got) //nolint:errcheck // the client may be gone
}

// requests returns the methods and targets so far.
func (p *gatedProgram) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// echoUpgraded upgrades a connection and echoes its data.
func echoUpgraded(w http.ResponseWriter, r *http.Request) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455 section 4.2.2; HAProxy checks it
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(accept[:]))
	io.Copy(c, rw) //nolint:errcheck // until the client is gone
}

// A gatedSite is a program behind the gate, with the binary and a proxy in front of
// it.
type gatedSite struct {
	*process.Process
	*process.Neighbours
	program string // name of the proxy; "upstream" if there is none
	page    string
	origin  string
	app     *gatedProgram
	proxy   *proxytest.Proxy
}

// gatePage returns the path of the page on a proxy.
func gatePage(program string) string { return "../docs/gate/" + program + ".md" }

// gateFiles returns the files that the page on a proxy shows: its configuration, and
// authsvc.yaml.
func gateFiles(t *T, program string) (config, yaml string) {
	t.Helper()
	if program == proxytest.Traefik {
		files := proxytest.Blocks(t, gatePage(program), "yaml")
		return files[0] + "\n---\n" + files[1], proxytest.Blocks(t, gatePage("caddy"), "yaml")[0] // as the page says
	}
	return proxytest.Blocks(t, gatePage(program), program)[0], proxytest.Blocks(t, gatePage(program), "yaml")[0]
}

// gateProxies returns Debian's proxies, or only Traefik, which make traefik builds.
func gateProxies() []string {
	if proxytest.Missing(proxytest.Traefik) == "" {
		return []string{proxytest.Traefik}
	}
	return proxytest.Programs
}

// A gateTune changes the documented files: it adds lines to the proxy's
// configuration, and replaces pairs of texts there, in authsvc.yaml and in
// authsvc.lua. app is an address that replaces the program's. late returns pairs that
// depend on authsvc's address.
type gateTune struct {
	proxy, yaml, lua []string
	app              string
	late             func(addr string) []string
}

// behindGate runs f with each available proxy, configured as its page says, and with
// authsvc alone in front of the program.
func behindGate(t *T, tune gateTune, f func(t *T, s *gatedSite)) {
	t.Helper()
	eachGateProxy(t, func(t *T, program string) { f(t, startGated(t, program, tune)) })
	if proxytest.Missing(proxytest.Traefik) == "" {
		return
	}
	t.Run("upstream", func(t *T) { f(t, startUpstream(t, tune)) })
}

func eachGateProxy(t *T, f func(t *T, program string)) {
	t.Helper()
	eachProgram(t, gateProxies(), f)
}

// startGated starts the program, the binary and one of the proxies.
func startGated(t *T, program string, tune gateTune) *gatedSite {
	t.Helper()
	s := &gatedSite{Neighbours: process.NewNeighbours(t, site+"/api/auth/callback/op", loginSite+"/api/auth/callback/op"), program: program, page: gatePage(program), origin: site, app: newGatedProgram(t)}
	config, lines := gateFiles(t, program)
	lines = strings.Replace(lines, "url: "+site+"\n", "", 1)
	yaml := strings.Replace(s.YAML(lines+t.compatLine()), `"{origin}"`, site, 1)
	s.Process = process.Serve(t, replaced(t, yaml, tune.yaml), "AUTHSVC_STORAGE_URL=memory:")
	config = replaced(t, config, tune.proxy)
	if tune.late != nil {
		config = replaced(t, config, tune.late(s.Addr))
	}
	s.proxy = proxytest.Start(t, program, proxytest.Options{Site: config, Backend: s.Addr,
		Replace: []string{"127.0.0.1:8080", cmp.Or(tune.app, s.app.Listener.Addr().String()), "/etc/haproxy/authsvc.lua", gateLua(t, tune.lua)}})
	return s
}

// gateLua returns the file with HAProxy's action.
func gateLua(t *T, pairs []string) string {
	t.Helper()
	path, err := filepath.Abs("../deploy/haproxy/authsvc.lua")
	if err != nil {
		t.Fatal(err)
	}
	if len(pairs) == 0 {
		return path
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "authsvc.lua")
	if err := os.WriteFile(path, []byte(replaced(t, string(raw), pairs)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startUpstream starts the program and the binary, with the rules of the pages.
func startUpstream(t *T, tune gateTune) *gatedSite {
	t.Helper()
	s := &gatedSite{Neighbours: process.NewNeighbours(t), program: "upstream", app: newGatedProgram(t)}
	lines := strings.Replace(proxytest.Blocks(t, gatePage("nginx"), "yaml")[0], "url: "+site+"\n", "", 1)
	lines = strings.Replace(lines, "trusted_proxies: [127.0.0.1/32]\n", "", 1)
	lines = strings.Replace(lines, "origin: "+site, `origin: "{origin}"`+"\n      upstream: "+s.app.URL, 1)
	s.Process = process.Serve(t, replaced(t, s.YAML(lines+t.compatLine()), tune.yaml), "AUTHSVC_STORAGE_URL=memory:")
	s.origin = s.URL
	return s
}

// compatLine returns the configuration line for the check's mode.
func (t *T) compatLine() string {
	if t.Mode == "" {
		return ""
	}
	return "compat: " + t.Mode + "\n"
}

// replaced replaces every pair in text. Each must occur.
func replaced(t *T, text string, pairs []string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("nothing to replace: %q", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// person returns a browser without a session.
func (s *gatedSite) person() *browser.Browser {
	if s.proxy == nil {
		return browser.New(s.origin, nil)
	}
	return browser.New(s.origin, s.proxy.Transport("127.0.0.1"))
}

// signedIn returns a browser with a signed-in user.
func (s *gatedSite) signedIn(t *T, sub string) *browser.Browser {
	t.Helper()
	b := s.person()
	if err := b.SignIn(s.OP, sub); err != nil {
		t.Fatal(err)
	}
	return b
}

// fetch sends a request with additional headers: name, value.
func (s *gatedSite) fetch(t *T, b *browser.Browser, method, target, body string, header ...string) *browser.Answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.origin+target, reader)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	a, err := b.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return a
}

// visit calls fetch as a person's navigation to a page.
func (s *gatedSite) visit(t *T, b *browser.Browser, target string) *browser.Answer {
	t.Helper()
	return s.fetch(t, b, "GET", target, "", "Accept", "text/html", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
}

// got returns the request that the program received, if any.
func got(t *T, a *browser.Answer) (g gotRequest, asked bool) {
	t.Helper()
	if a.Header.Get("X-Program") == "" {
		return g, false
	}
	if err := json.Unmarshal([]byte(a.Text), &g); err != nil {
		t.Fatalf("%d %.300q: %v", a.StatusCode, a.Text, err)
	}
	return g, true
}

// dial connects to the front.
func (s *gatedSite) dial(t *T) net.Conn {
	t.Helper()
	var c net.Conn
	var err error
	if s.proxy == nil {
		c, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr)
	} else {
		c, err = s.proxy.Dial(t.Context(), "127.0.0.1")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// host returns the value of Host.
func (s *gatedSite) host() string { return strings.SplitN(s.origin, "://", 2)[1] }

// cookies returns a browser's cookies for the site.
func (s *gatedSite) cookies(b *browser.Browser) string {
	u, _ := url.Parse(s.origin + "/")
	var list []string
	for _, c := range b.Client.Jar.Cookies(u) {
		list = append(list, c.Name+"="+c.Value)
	}
	return strings.Join(list, "; ")
}

// raw sends a literal request with a browser's cookies; nil sends none. It adds a
// Host line unless lines has one.
func (s *gatedSite) raw(t *T, b *browser.Browser, first string, lines ...string) *browser.Answer {
	t.Helper()
	c := s.dial(t)
	defer c.Close()
	text := first + " HTTP/1.1\r\n"
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(strings.ToLower(l), "host:") }) {
		text += "Host: " + s.host() + "\r\n"
	}
	for _, line := range lines {
		text += line + "\r\n"
	}
	if b != nil {
		text += "Cookie: " + s.cookies(b) + "\r\n"
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	io.WriteString(c, text+"\r\n") //nolint:errcheck // the answer shows it
	method, _, _ := strings.Cut(first, " ")
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return &browser.Answer{Response: &http.Response{Header: http.Header{}}}
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return &browser.Answer{Response: res, Text: string(body)}
}

// gate11 tests each proxy, configured as its page says, as people and scripts use it.
func gate11(t *T) {
	behindGate(t, gateTune{}, func(t *T, s *gatedSite) {
		gateSignIn(t, s)
		gateAnswers(t, s)
		gateBodies(t, s)
		gateUpgrade(t, s)
		gateTabs(t, s)
		gateLong(t, s)
		gateEscapes(t, s)
		gateStopped(t, s)
	})
	if t.Mode == modeNone {
		gateCookiesThrough(t)
		gateStoreAway(t)
		gateSplitSession(t)
	}
}

// gateSignIn checks that a person is sent to the sign-in page and back to the
// requested page.
func gateSignIn(t *T, s *gatedSite) {
	b := s.person()
	const target = "/dash?a=b&c=%2F"
	a := s.visit(t, b, target)
	start := s.origin + "/api/auth/gate/start?to=" + url.QueryEscape(target)
	if a.StatusCode != http.StatusFound || a.Location() != start {
		t.Fatalf("signed out: %d %s, want %s\n%.500s", a.StatusCode, a.Location(), start, a.Text)
	}
	if s.page != "" {
		showsAt(t, s.Process, s.proxy.Addr, proxytest.Blocks(t, s.page, "console")[0])
	}
	signIn, err := url.Parse(s.visit(t, b, strings.TrimPrefix(start, s.origin)).Location())
	if err != nil || signIn.Path != "/api/auth/signin" || signIn.Query().Get("callbackUrl") != s.origin+target {
		t.Fatalf("start leads to %v, %v", signIn, err)
	}
	a, err = b.Post("/api/auth/signin/op", "callbackUrl", signIn.Query().Get("callbackUrl"))
	if err != nil {
		t.Fatal(err)
	}
	approved, err := s.OP.Approve(a.Location(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if a, err = b.Get(approved.URL()); err != nil || a.Location() != s.origin+target {
		t.Fatalf("the callback leads to %v, %v", a, err)
	}
	a = s.visit(t, b, target)
	g, asked := got(t, a)
	if !asked || g.Method != "GET" || g.Target != target || g.Host != s.host() {
		t.Fatalf("signed in: %d, the program got %+v", a.StatusCode, g)
	}
	for name, want := range map[string]string{"X-Auth-Email": "ada@example.com", "X-Auth-Name": "Ada%20Lovelace", "X-Forwarded-For": "127.0.0.1"} {
		if v := g.Header[name]; len(v) != 1 || v[0] != want {
			t.Errorf("the program got %s %q", name, v)
		}
	}
	if id := g.Header["X-Auth-User-Id"]; len(id) != 1 || len(id[0]) < 8 {
		t.Errorf("the program got the id %q", id)
	}
}

// gateAnswers checks that refused requests get an explanation and do not reach the
// program.
func gateAnswers(t *T, s *gatedSite) {
	nobody, alan, ada := s.person(), s.signedIn(t, "alan"), s.signedIn(t, "ada")
	script := []string{"Accept", "application/json", "Sec-Fetch-Mode", "cors"}
	frame := []string{"Accept", "text/html", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}
	person := []string{"Accept", "text/html"}
	for name, tt := range map[string]struct {
		b      *browser.Browser
		method string
		target string
		header []string
		status int
		says   string
		passes bool
	}{
		"a script":                    {nobody, "GET", "/dash", script, 401, `"urn:authsvc:problem:unauthenticated"`, false},
		"a script that posts":         {nobody, "POST", "/dash", script, 401, "/api/auth/gate/start?to=%2F", false},
		"a prefetch":                  {nobody, "GET", "/dash", append(script, "Sec-Purpose", "prefetch"), 401, "unauthenticated", false},
		"a frame":                     {nobody, "GET", "/dash", frame, 401, `target="_top"`, false},
		"a form":                      {nobody, "POST", "/dash", person, 401, "", false},
		"not allowed":                 {alan, "GET", "/admin/x", person, 403, "alan@example.com", false},
		"not allowed, a script":       {alan, "GET", "/admin/x", script, 403, `"urn:authsvc:problem:forbidden"`, false},
		"not allowed, other spelling": {alan, "GET", "/public/%2e%2e/Admin/x", script, 403, "", false},
		"no path":                     {ada, "GET", "/%" + strings.Repeat("25", 17) + "41", script, 400, `"urn:authsvc:problem:malformed"`, false},
		"open":                        {nobody, "GET", "/public/x?y", nil, 200, "", true},
		"open, posted":                {nobody, "POST", "/public/", nil, 200, "", true},
		"allowed":                     {ada, "GET", "/admin/x", nil, 200, "", true},
		"signed in":                   {alan, "DELETE", "/dash", nil, 200, "", true},
	} {
		if tt.method == "POST" && slices.Equal(tt.header, person) && s.proxy == nil {
			continue // a script, with upstream, which sees the method
		}
		a := s.fetch(t, tt.b, tt.method, tt.target, "", tt.header...)
		if name == "a form" && (a.StatusCode == http.StatusFound || a.StatusCode == http.StatusUnauthorized) {
			a.StatusCode = tt.status
		}
		g, asked := got(t, a)
		if a.StatusCode != tt.status || asked != tt.passes || !strings.Contains(a.Text, tt.says) {
			t.Errorf("%s: %d\n%.600s", name, a.StatusCode, a.Text)
		}
		if asked && (g.Method != tt.method || g.Target != tt.target) {
			t.Errorf("%s: the program got %s %s", name, g.Method, g.Target)
		}
		if !asked && !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: Cache-Control %q", name, a.Header.Get("Cache-Control"))
		}
		if challenge := a.Header.Get("WWW-Authenticate"); a.StatusCode == 401 && name != "a form" && name != "a frame" && challenge != `Cookie realm="authsvc"` {
			t.Errorf("%s: WWW-Authenticate %q", name, challenge)
		}
	}
}

// gateBodies checks that bodies arrive and are not part of the check request.
func gateBodies(t *T, s *gatedSite) {
	ada := s.signedIn(t, "ada")
	for _, size := range []int{1, 100, 300 << 10} {
		body := strings.Repeat("b", size)
		g, asked := got(t, s.fetch(t, ada, "POST", "/form?x", body, "Content-Type", "text/plain"))
		if !asked || g.Body != body || g.Method != "POST" || g.Target != "/form?x" {
			t.Errorf("a body of %d bytes: %t %s %s, %d bytes", size, asked, g.Method, g.Target, len(g.Body))
		}
	}
	// A larger body may remain unread: the answer comes first.
	if _, asked := got(t, s.fetch(t, s.person(), "POST", "/form", strings.Repeat("b", 1<<10))); asked {
		t.Error("no one may post")
	}
}

// gateUpgrade opens WebSockets.
func gateUpgrade(t *T, s *gatedSite) {
	ada := s.signedIn(t, "ada")
	for name, tt := range map[string]struct {
		b      *browser.Browser
		origin string
		status int
	}{"signed in": {ada, s.origin, 101}, "of another site": {ada, "https://evil.test", 403}, "nobody": {nil, s.origin, 401}} {
		c := s.dial(t)
		text := "GET /socket HTTP/1.1\r\nHost: " + s.host() + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: " + tt.origin + "\r\n"
		if tt.b != nil {
			text += "Cookie: " + s.cookies(tt.b) + "\r\n"
		}
		io.WriteString(c, text+"\r\n") //nolint:errcheck // the answer shows it
		r := bufio.NewReader(c)
		res, err := http.ReadResponse(r, nil)
		if err != nil || res.StatusCode != tt.status {
			t.Errorf("a WebSocket, %s: %v %v", name, res, err)
			continue
		}
		if tt.status != 101 {
			continue
		}
		io.WriteString(c, "hello") //nolint:errcheck
		back := make([]byte, 5)
		if _, err := io.ReadFull(r, back); err != nil || string(back) != "hello" {
			t.Errorf("through the WebSocket: %q %v", back, err)
		}
	}
}

// gateTabs checks that two tabs that were both sent to the sign-in page come back,
// and that a sign-out affects the next request of each.
func gateTabs(t *T, s *gatedSite) {
	b := s.person()
	var callbacks []string
	for _, target := range []string{"/one", "/two"} {
		s.visit(t, b, target)
		a, err := b.Post("/api/auth/signin/op", "callbackUrl", s.origin+target)
		if err != nil {
			t.Fatal(err)
		}
		approved, err := s.OP.Approve(a.Location(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		callbacks = append(callbacks, approved.URL())
	}
	for i, target := range []string{"/one", "/two"} {
		a, err := b.Get(callbacks[i])
		if err != nil || a.Location() != s.origin+target {
			t.Errorf("tab %s: %v %v", target, a, err)
			continue
		}
		if _, asked := got(t, s.visit(t, b, target)); !asked {
			t.Errorf("tab %s does not see the program", target)
		}
	}
	kept, err := b.Clone()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SignOut(); err != nil {
		t.Fatal(err)
	}
	for name, after := range map[string]*browser.Browser{"the tabs": b, "a copy of the cookies": kept} {
		if a := s.visit(t, after, "/one"); a.StatusCode != http.StatusFound {
			t.Errorf("after the sign-out, %s: %d", name, a.StatusCode)
		}
	}
}
