package engine_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// An envoy imitates ext_authz over HTTP as Envoy's documentation describes it, with the
// configuration of docs/gate/envoy.md. It is not Envoy, and Envoy was not run.
type envoy struct {
	service http.Handler
	filter  envoyFilter
}

// An envoyFilter holds the configuration on the page. Unknown fields fail, since the
// test would not imitate them.
type envoyFilter struct {
	Type             string `yaml:"@type"`
	FailureModeAllow bool   `yaml:"failure_mode_allow"`
	StatusOnError    struct {
		Code string `yaml:"code"`
	} `yaml:"status_on_error"`
	HTTP struct {
		Server     map[string]string `yaml:"server_uri"`
		PathPrefix string            `yaml:"path_prefix"`
		Request    struct {
			Allowed envoyList `yaml:"allowed_headers"`
		} `yaml:"authorization_request"`
		Response struct {
			Upstream  envoyList  `yaml:"allowed_upstream_headers"`
			Client    *envoyList `yaml:"allowed_client_headers"` // nil: all
			OnSuccess envoyList  `yaml:"allowed_client_headers_on_success"`
		} `yaml:"authorization_response"`
	} `yaml:"http_service"`
}

// An envoyList holds lower-case names of headers.
type envoyList struct {
	Patterns []struct {
		Exact  string `yaml:"exact"`
		Prefix string `yaml:"prefix"`
		Safe   struct {
			Regex string `yaml:"regex"` // of the whole name
		} `yaml:"safe_regex"`
	} `yaml:"patterns"`
}

func (l *envoyList) has(name string) bool {
	for _, p := range l.Patterns {
		if p.Exact == name || p.Prefix != "" && strings.HasPrefix(name, p.Prefix) || p.Safe.Regex != "" && regexp.MustCompile("^(?:"+p.Safe.Regex+")$").MatchString(name) {
			return true
		}
	}
	return false
}

// newEnvoy reads the page.
func newEnvoy(t *testing.T, service http.Handler) *envoy {
	t.Helper()
	page, err := os.ReadFile("../docs/gate/envoy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "\n```yaml\n")
	block, _, _ = strings.Cut(block, "\n```\n")
	var file struct {
		Filters []struct {
			Name   string      `yaml:"name"`
			Config envoyFilter `yaml:"typed_config"`
		} `yaml:"http_filters"`
	}
	d := yaml.NewDecoder(strings.NewReader(block))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil || len(file.Filters) != 2 || file.Filters[0].Name != "envoy.filters.http.ext_authz" {
		t.Fatalf("%v\n%s", err, block)
	}
	return &envoy{service, file.Filters[0].Config}
}

// An envoyAnswer holds the answer to the client, and the headers that the program
// received, nil if it was not called. Names are in lower case.
type envoyAnswer struct {
	status  int
	header  map[string][]string
	body    string
	program map[string][]string
	asked   *http.Request  // the request to the service
	said    *http.Response // its answer
}

// do makes a request for app.test by a client. lines are its headers.
func (e *envoy) do(method, target string, lines ...string) envoyAnswer {
	client := map[string][]string{"x-forwarded-proto": {"https"}}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		name = strings.ToLower(name)
		client[name] = append(client[name], strings.TrimSpace(value))
	}
	client["x-forwarded-for"] = append(client["x-forwarded-for"], "192.0.2.7")
	for _, hop := range []string{"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding"} {
		delete(client, hop)
	}
	r := httptest.NewRequest(method, arena.Origin+"/", nil)
	r.RequestURI, r.RemoteAddr = e.filter.HTTP.PathPrefix+target, "203.0.113.1:1"
	r.Header = http.Header{"Content-Length": {"0"}}
	for name, values := range client {
		if name == "authorization" || e.filter.HTTP.Request.Allowed.has(name) {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	rec := httptest.NewRecorder()
	e.service.ServeHTTP(rec, r)
	a := e.decide(client, rec)
	a.asked, a.said = r, rec.Result()
	return a
}

// decide acts on the service's answer.
func (e *envoy) decide(client map[string][]string, rec *httptest.ResponseRecorder) envoyAnswer {
	said := map[string][]string{}
	for name, values := range rec.Result().Header {
		said[strings.ToLower(name)] = values
	}
	if rec.Code >= 500 { // an error, whatever it says
		code := map[string]int{"": http.StatusForbidden, "ServiceUnavailable": http.StatusServiceUnavailable}[e.filter.StatusOnError.Code]
		if e.filter.FailureModeAllow {
			return envoyAnswer{status: http.StatusOK, program: client}
		}
		return envoyAnswer{status: code}
	}
	shown := map[string][]string{}
	if rec.Code != http.StatusOK {
		list := e.filter.HTTP.Response.Client
		for name, values := range said {
			if list == nil || list.has(name) || slices.Contains([]string{"content-length", "www-authenticate", "location"}, name) {
				shown[name] = values
			}
		}
		return envoyAnswer{status: rec.Code, header: shown, body: rec.Body.String()}
	}
	passed := maps.Clone(client)
	for name, values := range said {
		if e.filter.HTTP.Response.Upstream.has(name) {
			passed[name] = values
		}
		if e.filter.HTTP.Response.OnSuccess.has(name) {
			shown[name] = values
		}
	}
	for name := range strings.SplitSeq(strings.Join(said["x-envoy-auth-headers-to-remove"], ","), ",") {
		delete(passed, strings.ToLower(strings.TrimSpace(name)))
	}
	return envoyAnswer{status: http.StatusOK, header: shown, program: passed}
}

// cookieLine is the header of a browser's cookies.
func cookieLine(b *arena.Browser) string {
	var pairs []string
	for name, v := range b.Cookies {
		pairs = append(pairs, name+"="+v)
	}
	return "Cookie: " + strings.Join(pairs, "; ")
}

// TestEnvoyAnswers checks which requests pass in the exchange of ext_authz.
func TestEnvoyAnswers(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, checkedWorld)
	e := newEnvoy(t, w)
	visitor, ada, alan := w.Browser(), w.Browser(), w.Browser()
	ada.SignIn(w.OP, "ada")
	alan.SignIn(w.OP, "alan")
	page, call := []string{"Accept: text/html", "Sec-Fetch-Mode: navigate"}, []string{"Accept: */*", "Sec-Fetch-Mode: cors"}
	for name, tt := range map[string]struct {
		b      *arena.Browser
		method string
		target string
		lines  []string
		status int
		says   string // in Location or the body
	}{
		"signed in":                      {ada, "GET", "/dash?a=b", page, 200, ""},
		"allowed, posted":                {ada, "POST", "/admin/x", append(call, "Content-Length: 5", "Content-Type: text/plain"), 200, ""},
		"open":                           {visitor, "GET", "/public/x", call, 200, ""},
		"a person":                       {visitor, "GET", "/dash?a=b", page, 302, arena.Origin + "/api/auth/gate/start?to=%2Fdash%3Fa%3Db"},
		"a script":                       {visitor, "GET", "/dash", call, 401, `"urn:authsvc:problem:unauthenticated"`},
		"a script of jQuery's":           {visitor, "GET", "/dash", []string{"Accept: text/html", "X-Requested-With: XMLHttpRequest"}, 401, "unauthenticated"},
		"a prefetch":                     {visitor, "GET", "/dash", append(page, "Sec-Purpose: prefetch"), 401, "unauthenticated"},
		"an old prefetch":                {visitor, "GET", "/dash", append(page, "Purpose: prefetch"), 401, "unauthenticated"},
		"a frame":                        {visitor, "GET", "/dash", append(page, "Sec-Fetch-Dest: iframe"), 401, `target="_top"`},
		"not allowed":                    {alan, "GET", "/admin/x", page, 403, "alan@example.com"},
		"not allowed, a script":          {alan, "GET", "/admin/x", call, 403, `"urn:authsvc:problem:forbidden"`},
		"another spelling":               {alan, "GET", "/public/%2e%2e/Admin%2Fx", call, 403, "forbidden"},
		"parameters":                     {visitor, "GET", "/public/..;/admin/x", call, 401, "unauthenticated"},
		"an inner prefix":                {visitor, "GET", "/public/../api/auth/gate/ext-authz/public/x", call, 401, "unauthenticated"},
		"another method":                 {visitor, "GET", "/public/x", append(page, "X-HTTP-Method-Override: DELETE"), 302, "?to=%2Fpublic%2Fx"},
		"another method, old":            {visitor, "GET", "/public/x", append(page, "X-Method-Override: DELETE"), 302, "?to=%2Fpublic%2Fx"},
		"a WebSocket":                    {ada, "GET", "/dash", []string{"Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Origin: https://evil.example"}, 403, ""},
		"a WebSocket of the same origin": {ada, "GET", "/dash", []string{"Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Origin: " + arena.Origin}, 200, ""},
		"another client":                 {ada, "GET", "/near/", append(call, "X-Forwarded-For: 203.0.113.9"), 403, ""},
		"another target":                 {visitor, "GET", "/dash", append(call, "X-Forwarded-Uri: /public/", "X-Original-URL: /public/", "X-Envoy-Original-Path: /public/"), 401, ""},
		"too long":                       {ada, "GET", "/?" + strings.Repeat("a", 9<<10), call, 400, "malformed"},
		"no path":                        {ada, "GET", "/%" + strings.Repeat("25", 17) + "41", call, 400, "malformed"},
		"another host of the gate":       {ada, "GET", "//evil.test/dash", call, 200, ""},
	} {
		a := e.do(tt.method, tt.target, append(slices.Clone(tt.lines), cookieLine(tt.b))...)
		if a.status != tt.status || (a.program != nil) != (tt.status == 200) || !strings.Contains(strings.Join(a.header["location"], "")+a.body, tt.says) {
			t.Errorf("%s: %d %v, want %d %q\n%.300s", name, a.status, a.header, tt.status, tt.says, a.body)
		}
		if a.asked.Header.Get("Content-Type") != "" || a.asked.Header.Get("X-Auth-Email") != "" {
			t.Errorf("%s: we are asked %v", name, a.asked.Header)
		}
		if a.status != http.StatusOK {
			for lost := range a.said.Header {
				if a.header[strings.ToLower(lost)] == nil {
					t.Errorf("%s: the browser does not get %s", name, lost)
				}
			}
		}
	}
	e.filter.HTTP.Request.Allowed.Patterns = e.filter.HTTP.Request.Allowed.Patterns[1:] // cookie
	if a := e.do("GET", "/dash", append(page, cookieLine(ada))...); a.status != http.StatusFound {
		t.Errorf("twin: without Cookie in allowed_headers ada is answered %d", a.status)
	}
}

// TestEnvoyIdentity checks that the program learns who is asking, whatever a client
// sends, in any spelling.
func TestEnvoyIdentity(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, checkedWorld)
	e, ada := newEnvoy(t, w), w.Browser()
	ada.SignIn(w.OP, "ada")
	names := []string{"x-auth-user-id", "x-auth-email", "x-auth-name", "x-auth-groups"}
	var claims []string
	for _, name := range names {
		for set := range 1 << strings.Count(name, "-") {
			spelled, dash := []byte(strings.ToUpper(name)), 0
			for i := range spelled {
				if spelled[i] == '-' {
					if set>>dash&1 == 1 {
						spelled[i] = '_'
					}
					dash++
				}
			}
			claims = append(claims, string(spelled)+": eve", string(spelled)+": mallory")
		}
	}
	if len(claims) != 2*20 {
		t.Fatalf("%d claims", len(claims))
	}
	for who, cookies := range map[string]string{"ada@example.com": cookieLine(ada) + "; theme=dark", "": "Cookie: theme=dark"} {
		a := e.do("GET", "/public/x", append(claims, "Connection: X-Auth-Email, X-Auth-User-Id", cookies)...)
		if a.program == nil {
			t.Fatalf("%q: %d", who, a.status)
		}
		for name, values := range a.program {
			plain, all := strings.ReplaceAll(name, "_", "-"), strings.Join(values, "|")
			if strings.HasPrefix(plain, "x-auth-") && (name != plain || who == "" || strings.Contains(all, "eve") || len(values) != 1) {
				t.Errorf("%q: the program gets %s %q", who, name, values)
			}
		}
		if got := strings.Join(a.program["x-auth-email"], "|"); got != who || (who != "" && strings.Join(a.program["x-auth-groups"], "|") != "ops,a%2Cb%25,%C3%A4") {
			t.Errorf("%q: the program gets %v", who, a.program)
		}
		if got := strings.Join(a.program["cookie"], "; "); got != "theme=dark" {
			t.Errorf("%q: the program gets the cookies %q", who, got)
		}
	}
}

// TestEnvoyToken checks that a personal access token is judged and not passed on.
func TestEnvoyToken(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forMachines)
	e := newEnvoy(t, w)
	token, _ := atGate(t, w, arena.Origin)
	a := e.do("GET", "/api/x", "Authorization: Bearer "+token)
	if a.program == nil || a.program["authorization"] != nil || strings.Join(a.program["x-auth-user-id"], "") != "ada-id" {
		t.Errorf("with a token: %d, the program gets %v", a.status, a.program)
	}
	if a := e.do("GET", "/open/", "Authorization: Bearer of-the-program"); strings.Join(a.program["authorization"], "") != "Bearer of-the-program" {
		t.Errorf("with one of the program: %d, %v", a.status, a.program)
	}
	if a := e.do("GET", "/api/x", "Authorization: Bearer "+token+"x"); a.status != http.StatusUnauthorized {
		t.Errorf("with an invalid token: %d", a.status)
	}
}

// TestEnvoyAway checks that, while sessions cannot be read, no request with one passes.
// Envoy treats that as an error, with the status that the page sets.
func TestEnvoyAway(t *testing.T) {
	t.Parallel()
	ledger := arena.NewLedger(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { checkedWorld(c); c.Adapter = ledger })
	e, ada := newEnvoy(t, w), w.Browser()
	ada.SignIn(w.OP, "ada")
	ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	for _, target := range []string{"/dash", "/public/x"} {
		if a := e.do("GET", target, cookieLine(ada)); a.status != http.StatusServiceUnavailable || a.program != nil {
			t.Errorf("%s: %d", target, a.status)
		}
	}
	ledger.BreakAt(nil)
	if a := e.do("GET", "/dash", cookieLine(ada)); a.program == nil {
		t.Errorf("twin: once the store is back: %d", a.status)
	}
}

// TestEnvoyRenews checks that the new cookie of a session reaches the browser with the
// program's answer, and nothing else of the check does.
func TestEnvoyRenews(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		checkedWorld(c)
		c.Session.Strategy, c.Session.UpdateAge = authsvc.StrategyJWT, -1
	})
	e, ada := newEnvoy(t, w), w.Browser()
	ada.SignIn(w.OP, "ada")
	a := e.do("GET", "/dash", cookieLine(ada))
	if len(a.header) != 1 || len(a.header["set-cookie"]) != 1 || !strings.Contains(a.header["set-cookie"][0], "session") {
		t.Errorf("%d %v", a.status, a.header)
	}
}
