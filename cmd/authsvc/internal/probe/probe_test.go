package probe

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// TestEcho: the answer contains the request without secrets.
func TestEcho(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPut, "/a%2Fb?c=<d>", strings.NewReader("body"))
	r.Header = http.Header{"Cookie": {"a=secret-1; b=secret-2", "secret-3"}, "Authorization": {"Bearer secret-4"}, "X_auth_email": {"eve"}}
	w := httptest.NewRecorder()
	Echo().ServeHTTP(w, r)
	for _, want := range []string{`"method": "PUT"`, `"target": "/a%2Fb?c=\u003cd\u003e"`, `"host": "example.com"`, `"a=…; b=…"`, `"Bearer …"`, `"X_auth_email"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
	if strings.Contains(w.Body.String(), "secret") || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

// TestCookies: only the cookies of the host are returned.
func TestCookies(t *testing.T) {
	t.Parallel()
	table := "# Netscape HTTP Cookie File\n\n#HttpOnly_app.example.com\tFALSE\t/\tTRUE\t0\t__Host-s\tone\n.example.com\tTRUE\t/\tTRUE\t0\ttwo\t2\nexample.com\tFALSE\t/\tTRUE\t0\tthree\t3\nother.example\tTRUE\t/\tTRUE\t0\tfour\t4\n"
	for name, tt := range map[string]struct{ file, host, want string }{
		"a file of curl":     {table, "app.example.com", "__Host-s=one; two=2"},
		"the domain":         {table, "example.com", "two=2; three=3"},
		"another":            {table, "other.example", "four=4"},
		"none":               {table, "notexample.com", ""},
		"a line":             {"a=b; c=d\n", "app.example.com", "a=b; c=d"},
		"a line of a header": {"Cookie: a=b\r\n", "app.example.com", "a=b"},
	} {
		if got, err := Cookies(tt.file, tt.host); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "# a\n", "a\n", "a=b\nc=d\n", table + "a=b\n", "a=\x01b", "a=ä"} {
		if got, err := Cookies(bad, "app.example.com"); !errors.Is(err, errCookies) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

// TestWrite: a request is sent as written, and cookies are sent only to the origin.
func TestWrite(t *testing.T) {
	t.Parallel()
	r := request{target: "/a", lines: []string{"X_Auth_Email: eve", "connection: X", "X-A : b"}, cookie: true}
	want := "GET /a HTTP/1.1\r\nHost: app.example.com\r\nUser-Agent: authsvc-probe\r\nAccept: application/json\r\nSec-Fetch-Mode: cors\r\nX_Auth_Email: eve\r\nconnection: X\r\nX-A : b\r\nCookie: a=b\r\n\r\n"
	if got := r.write("app.example.com", "a=b"); got != want {
		t.Errorf("%q", got)
	}
	for _, elsewhere := range []request{{target: "/", cookie: true, host: "other"}, {target: "/", cookie: true, at: "other:80"}, {target: "/"}} {
		if got := elsewhere.write("app.example.com", "a=b"); strings.Contains(got, "a=b") {
			t.Errorf("%q", got)
		}
	}
}

// judgedHost returns the host whose answers are judged.
func judgedHost(withEcho bool) *target {
	passes := func(_, _, target string, _ http.Header) bool { return strings.HasPrefix(target, "/public/") }
	p := &prober{Options: Options{Echo: withEcho, Identity: []string{"X-Auth-Email"}, Passes: passes}, mark: "probe-1"}
	return &target{Host: &Host{Origin: "https://app.example.com", Base: "/api/auth"}, p: p}
}

// closed returns an attempt on a path that no one may see.
func closed(a attempt) attempt {
	a.steps = []request{{target: "/admin/x"}}
	return a
}

// TestJudge: how answers are judged.
func TestJudge(t *testing.T) {
	t.Parallel()
	plain, rule, odd := attempt{plain: true}, attempt{plain: true, rule: true}, attempt{}
	elsewhere, program := attempt{elsewhere: true}, attempt{elsewhere: true, program: true}
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	start := header("Location", "https://app.example.com/api/auth/gate/start?to=%2F")
	challenge := header("WWW-Authenticate", `Cookie realm="authsvc"`)
	lost, nobody := answer{err: errors.Join(errNoAnswer, errors.New("cut"))}, answer{err: errors.New("refused")}
	for name, tt := range map[string]struct {
		a        attempt
		got      answer
		want     string
		withEcho string // "": as without
	}{
		"to gate/start":                         {plain, answer{status: 302, header: start}, OK, ""},
		"200 with Location":                     {plain, answer{status: 200, header: start, body: "x"}, Hole, Unclear},
		"to another sign-in page":               {plain, answer{status: 302, header: header("Location", "/login")}, Hole, Unclear},
		"to another site's gate/start":          {plain, answer{status: 302, header: header("Location", "https://app.example.com.evil.test/api/auth/gate/start?to=")}, Hole, Unclear},
		"401 from the gate":                     {plain, answer{status: 401, header: challenge}, OK, ""},
		"200 with a challenge":                  {plain, answer{status: 200, header: challenge, body: "x"}, Hole, Unclear},
		"401 from the program":                  {plain, answer{status: 401, header: header("WWW-Authenticate", "Basic")}, Hole, OK},
		"a Problem":                             {plain, answer{status: 403, header: header("Content-Type", "application/problem+json"), body: `{"type":"urn:authsvc:problem:forbidden"}`}, OK, ""},
		"another program's Problem":             {rule, answer{status: 404, header: header("Content-Type", "application/problem+json"), body: `{}`}, Hole, OK},
		"a page from the gate":                  {plain, answer{status: 401, header: header("Content-Type", "text/html", "Cache-Control", "private, no-store"), body: "/api/auth/"}, OK, ""},
		"404 at a rule":                         {rule, answer{status: 404}, Hole, OK},
		"404 at a guess":                        {plain, answer{status: 404}, Unclear, OK},
		"403 from elsewhere":                    {plain, answer{status: 403}, Unclear, OK},
		"400 from the proxy":                    {odd, answer{status: 400}, OK, ""},
		"502":                                   {plain, answer{status: 502}, Unclear, OK},
		"the echo":                              {odd, answer{status: 200, echo: &echo{}}, Hole, ""},
		"rewritten to an open path":             {closed(attempt{}), answer{status: 200, echo: &echo{Method: "GET", Target: "/public/x"}}, OK, ""},
		"rewritten to a closed one":             {closed(attempt{}), answer{status: 200, echo: &echo{Method: "GET", Target: "/admin/y"}}, Hole, ""},
		"as it was sent":                        {closed(attempt{}), answer{status: 200, echo: &echo{Method: "GET", Target: "/admin/x"}}, Hole, ""},
		"rewritten, elsewhere":                  {closed(attempt{elsewhere: true}), answer{status: 200, echo: &echo{Method: "GET", Target: "/public/x"}}, Hole, ""},
		"the echo elsewhere":                    {elsewhere, answer{status: 200, echo: &echo{}}, Hole, ""},
		"a WebSocket":                           {odd, answer{status: 101}, Hole, ""},
		"to https":                              {elsewhere, answer{status: 301, header: header("Location", "https://app.example.com/x")}, OK, ""},
		"to https, at the origin":               {plain, answer{status: 301, header: header("Location", "https://app.example.com/x")}, Hole, Unclear},
		"a page elsewhere":                      {elsewhere, answer{status: 200, body: "hello"}, Unclear, OK},
		"nothing elsewhere":                     {elsewhere, answer{status: 200}, OK, ""},
		"404 elsewhere":                         {elsewhere, answer{status: 404, body: "x"}, OK, ""},
		"the program's port":                    {program, answer{status: 404, body: "x"}, Hole, OK},
		"not reached":                           {plain, nobody, Failed, ""},
		"no answer":                             {plain, lost, Unclear, ""},
		"no answer to an odd request":           {odd, lost, OK, ""},
		"no HTTP/2":                             {odd, answer{err: errNoHTTP2}, Skipped, ""},
		"connection refused elsewhere":          {elsewhere, nobody, OK, ""},
		"connection refused for an odd request": {odd, nobody, OK, ""},
		"the program elsewhere, not reached":    {program, nobody, OK, ""},
	} {
		for _, withEcho := range []bool{false, true} {
			want := tt.want
			if withEcho && tt.withEcho != "" {
				want = tt.withEcho
			}
			if result, why := judgedHost(withEcho).refusedBy(&tt.a, &tt.got); result != want || why == "" {
				t.Errorf("%s, echo %v: %s (%s), want %s", name, withEcho, result, why, want)
			}
		}
	}
}

// TestStarted: how answers of gate/start to a person are judged.
func TestStarted(t *testing.T) {
	t.Parallel()
	login := "https://login.example.com/api/auth"
	leads := func(to string, cookies ...string) answer {
		return answer{status: 302, header: http.Header{"Location": {to}, "Set-Cookie": cookies}}
	}
	attemptCookie := "__Host-authsvc.gate-tx.0123456789abcdef=eyJ; Path=/; HttpOnly"
	for name, tt := range map[string]struct {
		got  answer
		want string
		says string
	}{
		"redirected to the login host": {leads(login+"/gate/authorize?host=x", attemptCookie), OK, "with a cookie"},
		"without the attempt cookie":   {leads(login + "/gate/authorize?host=x"), Broken, "without the cookie"},
		"with only the proxy's cookie": {leads(login+"/gate/authorize?host=x", "SERVERID=a1"), Broken, "without the cookie"},
		"with the cookie cleared":      {leads(login+"/gate/authorize?host=x", "__Host-authsvc.gate-tx.0123456789abcdef=; Max-Age=0"), Broken, "without the cookie"},
		"a cookie for both hosts":      {leads(login + "/signin?callbackUrl=x"), OK, "redirects to the login host"},
		"to itself":                    {leads("https://app.example.com/api/auth/gate/start?to=%2F"), Broken, "is itself checked"},
		"to another login host":        {leads("https://login.example.com.evil.test/api/auth/gate/authorize?"), Broken, "does not redirect to the login host"},
		"the program":                  {answer{status: 200, echo: &echo{}}, Broken, "leads to the program"},
		"not found":                    {answer{status: 404}, Broken, "answered 404"},
		"no answer":                    {answer{err: errNoAnswer}, Unclear, "no answer"},
		"a refusing page":              {answer{status: 403, header: http.Header{"Content-Type": {"text/html"}}}, Broken, "answered 403"},
	} {
		h := judgedHost(false)
		h.Login = login
		if result, why := h.started(&attempt{}, &tt.got); result != tt.want || !strings.Contains(why, tt.says) {
			t.Errorf("%s: %s (%s), want %s", name, result, why, tt.want)
		}
	}
}

// TestFields: HTTP/2 requests are sent as written, including fields that HTTP/2 does
// not allow.
func TestFields(t *testing.T) {
	t.Parallel()
	h := judgedHost(false)
	h.authority, h.secure, h.Cookie = "app.example.com", true, "a=b"
	read := func(r request) (list []string) {
		fields, err := hpack.NewDecoder(4096, nil).DecodeFull(r.fields(h))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			list = append(list, f.Name+"="+f.Value)
		}
		return list
	}
	want := ":method=GET|:scheme=https|:authority=app.example.com|:path=/a|user-agent=authsvc-probe|accept=application/json|sec-fetch-mode=cors|x_auth_email=eve|connection=X|host=other|cookie=a=b"
	if got := strings.Join(read(request{target: "/a", lines: []string{"X_Auth_Email: eve", "Connection: X", "Host: other"}, cookie: true}), "|"); got != want {
		t.Errorf("%s", got)
	}
	if got := strings.Join(read(request{target: "/a", host: "other", cookie: true}), "|"); !strings.Contains(got, ":authority=other|") || strings.Contains(got, "a=b") {
		t.Errorf("elsewhere: %s", got)
	}
}

// TestNothingArrived: identity headers of the client are detected in any spelling.
func TestNothingArrived(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		got  answer
		want string
	}{
		"nothing":            {answer{echo: &echo{Header: http.Header{"X-Other": {"probe-1"}}}}, OK},
		"ours":               {answer{echo: &echo{Header: http.Header{"X-Auth-Email": {"ada@example.com"}}}}, OK},
		"the client's":       {answer{echo: &echo{Header: http.Header{"X-Auth-Email": {"a, probe-1"}}}}, Hole},
		"under another name": {answer{echo: &echo{Header: http.Header{"X_auth_email": {"PROBE-1"}}}}, Hole},
		"twice":              {answer{echo: &echo{Header: http.Header{"X-Auth-Email": {"ada@example.com", ""}}}}, Hole},
		"refused":            {answer{status: 400}, OK},
		"without an echo":    {answer{status: 200}, Unclear},
		"no answer":          {answer{err: errNoAnswer}, OK},
	} {
		if result, why := judgedHost(true).nothingArrived(&attempt{}, &tt.got); result != tt.want || why == "" {
			t.Errorf("%s: %s (%s)", name, result, why)
		}
	}
}

// TestKinds: names are unique, and each kind that can find a hole has a fix.
func TestKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.name] || k.attempts == nil || len(k.fix) == 0 && k.name != "open-path" && k.name != "session" {
			t.Errorf("%+v", k)
		}
		seen[k.name] = true
	}
}

// TestSend2: an http origin gets HTTP/2 without negotiation, if it supports that.
func TestSend2(t *testing.T) {
	t.Parallel()
	for spoken, want := range map[bool]error{true: nil, false: errNoHTTP2} {
		s := httptest.NewUnstartedServer(Echo())
		s.Config.Protocols = &http.Protocols{}
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(spoken)
		s.Start()
		p := &prober{}
		h := p.target(&Host{Origin: s.URL})
		got := p.send(t.Context(), h, &request{target: "/a%2fb?c", lines: []string{"X_A: b"}, http2: true})
		if !errors.Is(got.err, want) || spoken && (got.status != http.StatusOK || got.echo == nil || got.echo.Target != "/a%2fb?c" || got.echo.Header.Get("X_a") != "b") {
			t.Errorf("spoken %v: %d %+v, %v", spoken, got.status, got.echo, got.err)
		}
		s.Close()
	}
}
