package engine_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// gotHeader is a program that answers with the header that it received.
func gotHeader(w http.ResponseWriter, r *http.Request) {
	_ = json.NewEncoder(w).Encode(r.Header)
}

// send requests a page with a browser. It sends the given header names as they are,
// without making them canonical.
func send(t *testing.T, b *arena.Browser, method, target string, header map[string]string) (got http.Header, a *browser.Answer) {
	t.Helper()
	r := httptest.NewRequest(method, arena.Origin+target, nil)
	for name, v := range header {
		r.Header[name] = []string{v}
	}
	a = b.Do(r)
	if a.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(a.Text), &got); err != nil {
			t.Fatalf("%s: %v", a.Text, err)
		}
	}
	return got, a
}

// forwardedHeaders lists headers of a client and whether they arrive at a handler and
// at an upstream.
var forwardedHeaders = map[string]struct{ handler, upstream bool }{
	"X-Api-Key":           {true, true},
	"X-Auth":              {true, true},
	"X_Api_Key":           {false, false},
	"X.Api.Key":           {false, false},
	"X~Auth~User~Id":      {false, false},
	"X.Auth.User.Id":      {false, false},
	"X_auth-User.Id":      {false, false},
	"X-Original-Url":      {false, false},
	"X-Rewrite-Url":       {false, false},
	"X-Original-Host":     {false, false},
	"X-Host":              {false, false},
	"Proxy":               {false, false},
	"X.Forwarded.For":     {false, false},
	"X_real_ip":           {false, false},
	"Http2-Settings":      {false, false},
	"X-Forwarded-Scheme":  {true, false},
	"Forwarded":           {true, false},
	"X-Forwarded-For-Not": {true, false},
}

// TestForwardedHeaders checks that programs receive headers whose names all programs
// read alike and, of the others, those that the host names.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	behindIt := httptest.NewServer(http.HandlerFunc(gotHeader))
	t.Cleanup(behindIt.Close)
	for _, upstream := range []string{"", behindIt.URL} {
		w := arena.Start(t, func(c *authsvc.Config) {
			gatedWorld(c)
			c.Gate.Hosts[0].Upstream = upstream
		})
		b := behind(w, http.HandlerFunc(gotHeader))
		for name, arrives := range forwardedHeaders {
			want := arrives.handler
			if upstream != "" {
				want = arrives.upstream
			}
			got, a := send(t, b, "GET", "/public/a", map[string]string{name: "sent", "Accept": "*/*"})
			if a.StatusCode != http.StatusOK || slices.Contains(got[textproto.CanonicalMIMEHeaderKey(name)], "sent") != want && slices.Contains(got[name], "sent") != want {
				t.Errorf("%s (%q): %d %v", name, upstream, a.StatusCode, got)
			}
		}
		if n := strings.Count(w.Logs.String(), "was not passed on to a program"); n != 1 {
			t.Errorf("%d lines in the log\n%s", n, w.Logs)
		}
	}
}

func TestPassHeaders(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		gatedWorld(c)
		c.Gate.Hosts[0].PassHeaders = []string{"X_Api_Key", "x-original-url"}
	})
	b := behind(w, http.HandlerFunc(gotHeader))
	got, _ := send(t, b, "GET", "/public/a", map[string]string{"X_Api_Key": "k", "X-Original-Url": "/o", "X.Api.Key": "k", "X-Rewrite-Url": "/r", "X_Auth_Email": "eve@evil.test"})
	for name, want := range map[string]string{"X-Original-Url": "/o", "X_Api_Key": "k"} {
		if !slices.Equal(got[name], []string{want}) {
			t.Errorf("%s does not arrive: %v", name, got)
		}
	}
	for _, name := range []string{"X.Api.Key", "X-Rewrite-Url", "X_Auth_Email"} {
		if got[name] != nil {
			t.Errorf("%s arrives: %v", name, got)
		}
	}
}

// TestForwardedUpgrade checks that only an upgrade to WebSocket or to a listed protocol
// arrives.
func TestForwardedUpgrade(t *testing.T) {
	t.Parallel()
	socket := map[string]string{"Upgrade": "websocket", "Connection": "keep-alive, Upgrade", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Version": "13"}
	but := func(change ...string) map[string]string {
		h := map[string]string{}
		for name, v := range socket {
			h[name] = v
		}
		for i := 0; i < len(change); i += 2 {
			h[change[i]] = change[i+1]
		}
		return h
	}
	w := arena.Start(t, func(c *authsvc.Config) {
		gatedWorld(c)
		c.Gate.Hosts[0].Upgrades = []string{"custom/1"}
		c.Gate.Hosts[0].Rules[0].Match = "/public/"
	})
	b := behind(w, http.HandlerFunc(gotHeader))
	for name, c := range map[string]struct {
		method  string
		header  map[string]string
		arrives bool
	}{
		"a WebSocket":           {"GET", socket, true},
		"capitals":              {"GET", but("Upgrade", "WebSocket"), true},
		"listed":                {"POST", but("Upgrade", "Custom/1"), true},
		"h2c":                   {"GET", map[string]string{"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "Http2-Settings": "AAMAAABkAAQAAP__"}, false},
		"both":                  {"GET", but("Upgrade", "websocket, h2c"), false},
		"by POST":               {"POST", socket, false},
		"another version":       {"GET", but("Sec-Websocket-Version", "8"), false},
		"an invalid key":        {"GET", but("Sec-Websocket-Key", "eve"), false},
		"TLS":                   {"GET", but("Upgrade", "TLS/1.0"), false},
		"not listed":            {"GET", but("Upgrade", "custom/2"), false},
		"no word of Connection": {"GET", but("Connection", "keep-alive"), true}, // it is not an upgrade
	} {
		got, a := send(t, b, c.method, "/public/a", c.header)
		if a.StatusCode != http.StatusOK || (got.Get("Upgrade") != "") != c.arrives || got.Get("Http2-Settings") != "" {
			t.Errorf("%s: %d %v", name, a.StatusCode, got)
		}
		if option := strings.Contains(strings.ToLower(got.Get("Connection")), "upgrade"); option && !c.arrives || strings.Contains(got.Get("Connection"), "HTTP2") {
			t.Errorf("%s: Connection: %s", name, got.Get("Connection"))
		}
	}
}

// TestAmbiguousChecks checks that a request which a proxy passes on unchanged must not
// be ambiguous, and must have one host.
func TestAmbiguousChecks(t *testing.T) {
	t.Parallel()
	_, ada, _ := checkedBrowsers(t)
	ask := func(way, host string, header map[string]string) *browser.Answer {
		r := httptest.NewRequest("GET", arena.Origin+"/api/auth/gate/"+way, nil)
		r.Host = host
		if way == "ext-authz" {
			r.RequestURI = "/api/auth/gate/ext-authz/dash"
		} else {
			r.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Host": {"app.test"}, "X-Forwarded-Uri": {"/dash"}}
		}
		r.Header["X-Forwarded-For"], r.Header["Sec-Fetch-Mode"] = []string{"192.0.2.7"}, []string{"cors"}
		for name, v := range header {
			r.Header[name] = []string{v}
		}
		return ada.Do(r)
	}
	for name, c := range map[string]struct {
		host   string
		header map[string]string
		passes bool
	}{
		"as it should be":                   {"app.test", nil, true},
		"a plain header":                    {"app.test", map[string]string{"X-Api-Key": "k"}, true},
		"another name that is odd":          {"app.test", map[string]string{"X.Api.Key": "k"}, true},
		"a spelling of the identity header": {"app.test", map[string]string{"X.Auth.Email": "eve@evil.test"}, false},
		"a spelling of the address header":  {"app.test", map[string]string{"X_Forwarded_For": "10.0.0.1"}, false},
		"another target, spelled":           {"app.test", map[string]string{"X_Original_Url": "/admin/"}, false},
		"another protocol":                  {"app.test", map[string]string{"Upgrade": "h2c"}, false},
		"another host than nginx's":         {"evil.test", nil, false},
	} {
		for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
			if c.host != "app.test" && way != "auth-request" {
				continue // there, only one header names the host
			}
			a := ask(way, c.host, c.header)
			envoy := way == "ext-authz" && name != "another protocol" // it is told which headers to remove
			if passes := a.StatusCode == http.StatusOK; passes != (c.passes || envoy) {
				t.Errorf("%s of %s: %d", way, name, a.StatusCode)
			}
			if removed := a.Header.Get("X-Envoy-Auth-Headers-To-Remove"); way == "ext-authz" {
				for header := range c.header {
					if odd := strings.ContainsAny(header, "._"); odd && !slices.Contains(strings.Split(removed, ","), strings.ToLower(header)) {
						t.Errorf("%s: Envoy is not told to take out %s: %s", name, header, removed)
					}
				}
			}
		}
	}
}

// TestCheckedCookies checks that an "allowed" answer says which cookies the program may
// have.
func TestCheckedCookies(t *testing.T) {
	t.Parallel()
	visitor, ada, _ := checkedBrowsers(t)
	for _, b := range []*arena.Browser{visitor, ada} {
		for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
			a := asProxy(b, way, "GET", "/public/a", "Cookie", "theme=dark; a=b")
			if got := a.Header.Values("Cookie"); len(got) != 1 || got[0] != "theme=dark; a=b" {
				t.Errorf("%s: %d %q", way, a.StatusCode, got)
			}
		}
		a := asProxy(b, "ext-authz", "GET", "/public/a")
		if !slices.Contains(strings.Split(a.Header.Get("X-Envoy-Auth-Headers-To-Remove"), ","), "cookie") {
			t.Errorf("no cookie is left, and Envoy passes ours on: %v", a.Header)
		}
	}
}

// TestGateSender checks that a program gets the address of the client, also behind a
// trusted proxy, and that clients cannot claim another one.
func TestGateSender(t *testing.T) {
	t.Parallel()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Join(r.Header["X-Forwarded-For"], "|")+" "+strings.Join(r.Header["X-Real-Ip"], "|"))
	}))
	t.Cleanup(program.Close)
	const peer, client = "203.0.113.7", "198.51.100.9"
	for name, tt := range map[string]struct {
		trusted, said, want string
	}{
		"no proxy":                   {"192.0.2.0/24", "", peer},
		"claimed":                    {"192.0.2.0/24", client, peer},
		"by a proxy":                 {peer + "/32", client, client},
		"claimed, before a proxy":    {peer + "/32", "192.0.2.1, " + client, client},
		"a proxy that says nothing":  {peer + "/32", "", peer},
		"a proxy that says nonsense": {peer + "/32", "unknown", peer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) {
				gatedWorld(c)
				c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(tt.trusted)}
				c.Gate.Hosts[0].Upstream = program.URL
			})
			b := behind(w, nil)
			b.SignIn(w.OP, "ada")
			r := httptest.NewRequest("GET", arena.Origin+"/dash/", nil)
			if tt.said != "" {
				r.Header.Set("X-Forwarded-For", tt.said)
			}
			if a := b.Do(r); a.StatusCode != http.StatusOK || a.Text != tt.want+" "+tt.want {
				t.Errorf("%d %q, want %s", a.StatusCode, a.Text, tt.want)
			}
		})
	}
}
