package engine_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// checkedWorld is gatedWorld behind the proxies of a network. An arena's browsers are
// in that network.
func checkedWorld(c *authsvc.Config) {
	gatedWorld(c)
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules,
		authsvc.GateRule{Match: "/near/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Networks: c.TrustedProxies}}}})
}

// script holds the headers of a request whose answer no person sees.
var script = []string{"Sec-Fetch-Mode", "cors"}

// checkedBrowsers returns the browsers of a checkedWorld: without a session, of a user
// whom its rules allow, and of a user whom they do not.
func checkedBrowsers(t *testing.T) (visitor, ada, alan *arena.Browser) {
	t.Helper()
	w := arena.Start(t, checkedWorld)
	visitor, ada, alan = w.Browser(), w.Browser(), w.Browser()
	ada.SignIn(w.OP, "ada")
	alan.SignIn(w.OP, "alan")
	return visitor, ada, alan
}

// asProxy asks, with a browser's cookies, about a request for app.test. An empty value
// removes a header; the same name again adds a value.
func asProxy(b *arena.Browser, way, method, target string, header ...string) *browser.Answer {
	r := httptest.NewRequest(method, arena.Origin+"/api/auth/gate/"+way, strings.NewReader("a body"))
	if way == "ext-authz" {
		r.RequestURI = "/api/auth/gate/ext-authz" + target
	} else {
		r.Method, r.RequestURI, r.Host = "GET", "/api/auth/gate/"+way, "127.0.0.1:3000"
		r.Header = http.Header{"X-Forwarded-Method": {method}, "X-Forwarded-Host": {"app.test"}, "X-Forwarded-Uri": {target}}
	}
	if way == "auth-request" {
		r.Host = "app.test" // as nginx is configured
	}
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Accept", "text/html")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			r.Header.Del(header[i])
		} else if name := http.CanonicalHeaderKey(header[i]); strings.HasPrefix(name, "Sec-Fetch") {
			r.Header.Set(name, header[i+1])
		} else {
			r.Header.Add(name, header[i+1])
		}
	}
	return b.Do(r)
}

// TestGateChecks checks the answers of each route to proxies.
func TestGateChecks(t *testing.T) {
	t.Parallel()
	visitor, ada, alan := checkedBrowsers(t)
	for name, tt := range map[string]struct {
		b        *arena.Browser
		method   string
		target   string
		header   []string
		status   int // of forward-auth and ext-authz
		codes    int // of auth-request, if different
		location string
	}{
		"signed in":                      {b: ada, method: "GET", target: "/dash?a=b", status: 200},
		"a POST":                         {b: ada, method: "POST", target: "/dash", status: 200},
		"another method":                 {b: ada, method: "PROPFIND", target: "/dash", status: 200},
		"may":                            {b: ada, method: "DELETE", target: "/admin/x", status: 200},
		"open":                           {b: visitor, method: "GET", target: "/public/a", status: 200},
		"a person":                       {b: visitor, method: "GET", target: "/dash?a=b", status: 302, codes: 401, location: "?to=%2Fdash%3Fa%3Db"},
		"a form":                         {b: visitor, method: "POST", target: "/dash", status: 302, codes: 401, location: "?to=%2F"},
		"a form that wants JSON":         {b: visitor, method: "POST", target: "/dash", header: []string{"X-Auth-Return-Redirect", "1"}, status: 302, codes: 401, location: "?to=%2F"},
		"too old":                        {b: ada, method: "GET", target: "/fresh/", status: 302, codes: 401, location: "?to=%2Ffresh%2F"},
		"a script":                       {b: visitor, method: "GET", target: "/dash", header: script, status: 401},
		"too old, a script":              {b: ada, method: "GET", target: "/fresh/", header: script, status: 401},
		"a frame":                        {b: visitor, method: "GET", target: "/dash", header: []string{"Sec-Fetch-Dest", "iframe"}, status: 401},
		"may not":                        {b: alan, method: "GET", target: "/admin/x", status: 403},
		"may not, a script":              {b: alan, method: "GET", target: "/admin/x", header: script, status: 403},
		"may not, another path":          {b: alan, method: "GET", target: "/public/%2e%2e/Admin%2Fx", status: 403},
		"may not, another method":        {b: visitor, method: "GET", target: "/public/a", header: []string{"X-HTTP-Method-Override", "DELETE"}, status: 302, codes: 401, location: "?to=%2Fpublic%2Fa"},
		"closed":                         {b: ada, method: "GET", target: "/closed/", status: 403},
		"a WebSocket":                    {b: ada, method: "GET", target: "/dash", header: append(script, "Sec-WebSocket-Version", "13", "Origin", "https://evil.example"), status: 403},
		"a WebSocket of the same origin": {b: ada, method: "GET", target: "/dash", header: append(script, "Sec-WebSocket-Version", "13", "Origin", arena.Origin), status: 200},
		"too many readings":              {b: ada, method: "GET", target: "/%" + strings.Repeat("25", 17) + "41", status: 400, codes: 403},
		"too long":                       {b: ada, method: "GET", target: "/?" + strings.Repeat("a", 8<<10), status: 400, codes: 403},
		"a network, outside":             {b: ada, method: "GET", target: "/near/", status: 403},
		"a network, inside":              {b: ada, method: "GET", target: "/near/", header: []string{"X-Forwarded-For", "", "X-Forwarded-For", "203.0.113.9"}, status: 200},
		"a network, address unknown":     {b: ada, method: "GET", target: "/near/", header: []string{"X-Forwarded-For", ""}, status: 403},
	} {
		for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
			a := asProxy(tt.b, way, tt.method, tt.target, tt.header...)
			want := tt.status
			if way == "auth-request" && tt.codes != 0 {
				want = tt.codes
			}
			if a.StatusCode != want || (tt.location == "") != (a.Location() == "") || !strings.HasSuffix(a.Location(), tt.location) {
				t.Errorf("%s of %s: %d %q, want %d %q\n%.300s", way, name, a.StatusCode, a.Location(), want, tt.location, a.Text)
			}
			if a.Location() != "" && !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/gate/start?") {
				t.Errorf("%s of %s leads to %s", way, name, a.Location())
			}
			if cache, vary := a.Header.Get("Cache-Control"), a.Header.Get("Vary"); !strings.Contains(cache, "no-store") || !strings.Contains(vary, "Cookie") {
				t.Errorf("%s of %s, caches: %q, %q", way, name, cache, vary)
			}
		}
	}
}

// TestGateCheckIdentity checks that an "allowed" answer has every header, so that a
// proxy that copies them overwrites the client's.
func TestGateCheckIdentity(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, checkedWorld)
	ada := w.Browser()
	ada.SignIn(w.OP, "ada")
	for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
		a := asProxy(ada, way, "GET", "/dash", "X-Auth-Email", "eve@example.com", "X-Auth-User-Id", "eve")
		for name, want := range map[string]string{"X-Auth-Email": "ada@example.com", "X-Auth-Name": "Ada%20Lovelace", "X-Auth-Groups": "ops,a%2Cb%25,%C3%A4"} {
			if got := a.Header[name]; len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s: %q", way, name, got)
			}
		}
		if id := a.Header.Get("X-Auth-User-Id"); id == "" || id == "eve" {
			t.Errorf("%s: id %q", way, id)
		}
		if got := a.Header.Get("X-Envoy-Auth-Headers-To-Remove"); (way == "ext-authz") != (got == "cookie,x-auth-user_id,x-auth_user-id,x-auth_user_id,x_auth-user-id,x_auth-user_id,x_auth_user-id,x_auth_user_id,x-auth_email,x_auth-email,x_auth_email,x-auth_name,x_auth-name,x_auth_name,x-auth_groups,x_auth-groups,x_auth_groups,x-original-url,x-rewrite-url,x-original-host,x-host,proxy") {
			t.Errorf("%s: to remove: %q", way, got)
		}
		a = asProxy(w.Browser(), way, "GET", "/public/a", "X-Auth-Email", "eve@example.com")
		for _, name := range []string{"X-Auth-User-Id", "X-Auth-Email", "X-Auth-Name", "X-Auth-Groups"} {
			if got := a.Header[name]; len(got) != 1 || got[0] != "" {
				t.Errorf("%s, no session: %s: %q", way, name, got)
			}
		}
		if got := a.Header.Get("X-Envoy-Auth-Headers-To-Remove"); way == "ext-authz" && !strings.HasPrefix(got, "cookie,x-auth-user-id,x-auth-user_id,x-auth_user-id,x-auth_user_id,x_auth-user-id,x_auth-user_id,x_auth_user-id,x_auth_user_id,x-auth-email,") {
			t.Errorf("no session, to remove: %q", got)
		}
		if a := asProxy(w.Browser(), way, "GET", "/dash", "Sec-Fetch-Mode", "cors"); a.Header.Get("X-Auth-Name") != "" {
			t.Errorf("%s: a refusal has %v", way, a.Header)
		}
	}
}

// TestGateCheckForwarded checks that each of the three headers must occur once, and
// that nothing else says what was requested.
func TestGateCheckForwarded(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, checkedWorld)
	ada := w.Browser()
	ada.SignIn(w.OP, "ada")
	const method, host, target = "X-Forwarded-Method", "X-Forwarded-Host", "X-Forwarded-Uri"
	for name, tt := range map[string]struct {
		header []string
		status int
	}{
		"as they are":            {nil, 200},
		"others":                 {[]string{"X-Original-Url", "/closed/", "X-Rewrite-Url", "/closed/", "X-Forwarded-Prefix", "/closed", "Forwarded", "host=evil.test", "X-Forwarded-Proto", "http"}, 200},
		"a comma in the path":    {[]string{target, "", target, "/a,b?c,d"}, 200},
		"upper case":             {[]string{host, "", host, "APP.test:443"}, 200},
		"no method":              {[]string{method, ""}, 400},
		"no host":                {[]string{host, ""}, 400},
		"no target":              {[]string{target, ""}, 400},
		"two methods":            {[]string{method, "GET"}, 400},
		"two hosts":              {[]string{host, "app.test"}, 400},
		"two targets":            {[]string{target, "/dash"}, 400},
		"joined methods":         {[]string{method, "", method, "GET, DELETE"}, 400},
		"joined hosts":           {[]string{host, "", host, "app.test, app.test"}, 400},
		"joined targets":         {[]string{target, "", target, "/public/a, /closed/"}, 400},
		"joined without a space": {[]string{target, "", target, "/public/?x,/closed/"}, 400},
		"an address":             {[]string{target, "", target, "https://app.test/dash"}, 400},
		"another host":           {[]string{host, "", host, "evil.test"}, 403},
		"another port":           {[]string{host, "", host, "app.test:8443"}, 403},
		"a closed path":          {[]string{target, "", target, "/closed/"}, 403},
	} {
		for _, way := range []string{"forward-auth", "auth-request"} {
			want := tt.status
			if want == 400 && way == "auth-request" {
				want = 403
			}
			if a := asProxy(ada, way, "GET", "/dash", tt.header...); a.StatusCode != want || a.Location() != "" {
				t.Errorf("%s, %s: %d, want %d\n%s", way, name, a.StatusCode, want, a.Text)
			}
		}
	}
	if text := w.Logs.String(); strings.Count(text, "it must set them") != 1 || strings.Count(text, "is not in gate.hosts") != 2 { // app.test:8443 and evil.test
		t.Errorf("the log:\n%s", text)
	}
}

// TestGateCheckPeers checks that only the proxies get a decision.
func TestGateCheckPeers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		peer    string
		proxies []netip.Prefix
		status  int
	}{
		"trusted":                 {"203.0.113.1:1", nil, 200},
		"mapped":                  {"[::ffff:203.0.113.1]:1", nil, 200},
		"not trusted":             {"198.51.100.1:1", nil, 403},
		"no address":              {"@", nil, 403},
		"named":                   {"203.0.113.1:1", []netip.Prefix{netip.MustParsePrefix("203.0.113.1/32")}, 200},
		"trusted, but not to ask": {"203.0.113.2:1", []netip.Prefix{netip.MustParsePrefix("203.0.113.1/32")}, 403},
	} {
		w := arena.Start(t, func(c *authsvc.Config) { checkedWorld(c); c.Gate.Proxies = tt.proxies })
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		b.IP = tt.peer
		for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
			for _, target := range []string{"/dash", "/public/a"} {
				if a := asProxy(b, way, "GET", target, "X-Forwarded-For", "203.0.113.1"); a.StatusCode != tt.status || a.Location() != "" || (a.Header.Get("X-Auth-User-Id") != "") && tt.status != 200 {
					t.Errorf("%s: %s: %d %v", name, way, a.StatusCode, a.Header)
				}
			}
		}
		if got := strings.Count(w.Logs.String(), "the client is not in gate.proxies"); got != (tt.status-200)/203 {
			t.Errorf("%s: %d log lines\n%s", name, got, w.Logs)
		}
	}
	c := authsvc.Config{URL: arena.Origin, Gate: authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: arena.Origin}}}}
	checkedWorld(&c)
	c.Gate.Proxies = []netip.Prefix{netip.MustParsePrefix("203.0.113.1/32"), netip.MustParsePrefix("203.0.0.0/16")}
	_, err := engine.New(c)
	if err == nil || !strings.Contains(err.Error(), "Gate.Proxies[1]") || strings.Contains(err.Error(), "Gate.Proxies[0]") {
		t.Errorf("a proxy that is not trusted: %v", err)
	}
}

// TestGateCheckStoreAway checks that an "allowed" answer needs the store.
func TestGateCheckStoreAway(t *testing.T) {
	t.Parallel()
	ledger := arena.NewLedger(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { checkedWorld(c); c.Adapter = ledger })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
		for _, target := range []string{"/dash", "/public/a"} {
			if a := asProxy(b, way, "GET", target); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" {
				t.Errorf("%s %s: %d", way, target, a.StatusCode)
			}
		}
	}
	ledger.BreakAt(nil)
	if a := asProxy(b, "forward-auth", "GET", "/dash"); a.StatusCode != http.StatusOK {
		t.Errorf("once the store is back: %d", a.StatusCode)
	}
}

// TestGateCheckRoutes checks that other paths are not treated as checks.
func TestGateCheckRoutes(t *testing.T) {
	t.Parallel()
	w, plain := arena.Start(t, checkedWorld), arena.Start(t, nil)
	for _, path := range []string{"gate/forward-auth/", "gate/forward-auth/x", "gate/auth-request/", "gate/", "gate", "gate/ext-authzx"} {
		if a := w.Browser().Get("/api/auth/" + path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
	for _, path := range []string{"gate/forward-auth", "gate/auth-request", "gate/ext-authz", "gate/ext-authz/x"} {
		if a := plain.Browser().Get("/api/auth/" + path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s without a gate: %d", path, a.StatusCode)
		}
	}
	if a := asProxy(w.Browser(), "ext-authz", "GET", "?x", "Sec-Fetch-Mode", "cors"); a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.Text, "to=%2F%3Fx") {
		t.Errorf("ext-authz of /?x: %d %s", a.StatusCode, a.Text)
	}
}

// TestGateNotSetUp checks that people get a page that names the proxy's mistake, that
// scripts get a Problem, and that the log has one line a minute for each mistake.
func TestGateNotSetUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		peer   string
		target string
		header []string
		status int
		codes  int // of auth-request, if different
		says   string
		logs   string
	}{
		"proxy":          {"198.51.100.1:1", "/dash", nil, 403, 0, "is not allowed to ask us who is signed in", "the client is not in gate.proxies"},
		"headers":        {"", "/dash", []string{"X-Forwarded-Host", ""}, 400, 403, "does not tell us which page you asked for", "it must set them"},
		"doubled":        {"", "/dash", []string{"X-Forwarded-Uri", "/dash"}, 400, 403, "does not tell us which page you asked for", "it must set them"},
		"host":           {"", "/dash", []string{"X-Forwarded-Host", "", "X-Forwarded-Host", "10.0.0.7:8080"}, 403, 0, "10.0.0.7:8080", "host=10.0.0.7:8080"},
		"routes":         {"", "/api/auth/gate/start?to=%2Fdash", nil, 403, 0, "do not lead to us", "a proxy asks about authsvc's own routes"},
		"routes, a page": {"", "/api/auth/signin", nil, 403, 0, "do not lead to us", "path=/api/auth/"},
	} {
		w := arena.Start(t, checkedWorld)
		b := w.Browser()
		if tt.peer != "" {
			b.IP = tt.peer
		}
		for _, way := range []string{"forward-auth", "auth-request", "denied"} {
			want := tt.status
			if way == "auth-request" && tt.codes != 0 {
				want = tt.codes
			}
			a := asProxy(b, way, "GET", tt.target, tt.header...)
			if a.StatusCode != want || !strings.Contains(a.Text, tt.says) || a.Location() != "" || strings.Contains(a.Text, `href=""`) {
				t.Errorf("%s, %s: %d %q\n%.900s", way, name, a.StatusCode, a.Location(), a.Text)
			}
			a = asProxy(b, way, "GET", tt.target, append(tt.header, "Sec-Fetch-Mode", "cors")...)
			if a.StatusCode != want || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json") {
				t.Errorf("%s, %s, a script: %d\n%.300s", way, name, a.StatusCode, a.Text)
			}
		}
		if got := strings.Count(w.Logs.String(), tt.logs); got != 1 {
			t.Errorf("%s: %d lines\n%s", name, got, w.Logs)
		}
	}
	w := arena.Start(t, func(c *authsvc.Config) {
		checkedWorld(c)
		c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules, authsvc.GateRule{Match: "/api/", Allow: authsvc.Allow{Anyone: true}})
	})
	if a := asProxy(w.Browser(), "forward-auth", "GET", "/api/auth/signin"); a.StatusCode != 200 {
		t.Errorf("authsvc's own routes, opened by a rule: %d", a.StatusCode)
	}
}

// TestGateDenied checks that the answer to browsers never allows a request, and leads
// to the page that ends redirect loops.
func TestGateDenied(t *testing.T) {
	t.Parallel()
	visitor, ada, alan := checkedBrowsers(t)
	for name, tt := range map[string]struct {
		b        *arena.Browser
		target   string
		header   []string
		status   int
		location string
	}{
		"no session":           {visitor, "/dash", nil, 302, "?to=%2Fdash"},
		"no session, a script": {visitor, "/dash", script, 401, ""},
		"may not":              {alan, "/admin/x", nil, 403, ""},
		"may":                  {ada, "/admin/x", nil, 302, "?to=%2Fadmin%2Fx"},
		"may, a script":        {ada, "/admin/x", script, 503, ""},
		"anyone may":           {visitor, "/public/a", nil, 302, "?to=%2Fpublic%2Fa"},
		"anyone may, a frame":  {visitor, "/public/a", []string{"Sec-Fetch-Dest", "iframe"}, 503, ""},
	} {
		a := asProxy(tt.b, "denied", "GET", tt.target, tt.header...)
		if a.StatusCode != tt.status || (tt.location == "") != (a.Location() == "") || !strings.HasSuffix(a.Location(), tt.location) || a.Header.Get("X-Auth-Email") != "" {
			t.Errorf("%s: %d %q\n%.300s", name, a.StatusCode, a.Location(), a.Text)
		}
	}
}
