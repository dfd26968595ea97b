package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/stats"
)

// gatedWorld is a service with a program behind the gate at its own host. The program
// answers with what it received.
func gatedWorld(c *authsvc.Config) {
	c.Session.Claims = map[string]string{"groups": "groups"}
	c.Callbacks.Claims = func(_ context.Context, a authsvc.SignInAttempt, _ authsvc.Claims) (authsvc.Claims, error) {
		if a.User.Email == "ada@example.com" {
			return authsvc.Claims{"groups": []any{"ops", "a,b%", "ä"}}, nil
		}
		return nil, nil
	}
	c.Gate = authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{
		{Match: "GET /public/", Allow: authsvc.Allow{Anyone: true}},
		{Match: "/admin/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Groups: []string{"ops"}}}}},
		{Match: "/fresh/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{MaxAge: time.Nanosecond}}}},
		{Match: "/closed/", Allow: authsvc.Allow{Nobody: true}},
		{Match: "/asks/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{When: func(_ context.Context, a authsvc.AccessRequest) (bool, error) {
			switch a.Path {
			case "/asks/panic":
				panic("a condition")
			case "/asks/error":
				return true, errors.New("a condition")
			}
			return a.Session.Email != "" && a.Method == "GET" && a.Host == "app.test", nil
		}}}}},
	}}}}
}

// behind returns a browser in front of the service and the gate, as a program mounts
// them.
func behind(w *arena.World, next http.Handler) *arena.Browser {
	b := w.Browser()
	mux := http.NewServeMux()
	mux.Handle("/api/auth/", w)
	gate := w.Guard(next)
	b.H = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/auth/") {
			mux.ServeHTTP(rw, r)
			return
		}
		gate.ServeHTTP(rw, r)
	})
	return b
}

// echo answers with the identity that it received.
func echo(w http.ResponseWriter, r *http.Request) {
	seen := map[string][]string{}
	for name, values := range r.Header {
		if strings.Contains(strings.ToLower(name), "auth") || name == "Connection" {
			seen[name] = values
		}
	}
	_ = json.NewEncoder(w).Encode(seen)
}

// navigate asks as a browser does that opens a page; header holds names and values.
func navigate(b *arena.Browser, method, path string, header ...string) *browser.Answer {
	r := httptest.NewRequest(method, b.Abs(path), nil)
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	r.Header.Set("Accept", "text/html")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	return b.Do(r)
}

// TestGuard checks that people are sent to sign in and return to the requested page,
// and that the program learns who they are.
func TestGuard(t *testing.T) {
	t.Parallel()
	strategies(t, func(c *authsvc.Config) { gatedWorld(c) }, func(t *testing.T, w *arena.World) {
		b := behind(w, http.HandlerFunc(echo))
		a := navigate(b, "GET", "/dash?a=b&c")
		if want := arena.Origin + "/api/auth/gate/start?to=%2Fdash%3Fa%3Db%26c"; a.StatusCode != http.StatusFound || a.Location() != want {
			t.Fatalf("a person: %d %s, want %s", a.StatusCode, a.Location(), want)
		}
		if cache, vary := a.Header.Get("Cache-Control"), a.Header.Get("Vary"); !strings.Contains(cache, "no-store") || !strings.Contains(vary, "Cookie") {
			t.Errorf("caches: %q, %q", cache, vary)
		}
		a = navigate(b, "GET", strings.TrimPrefix(a.Location(), arena.Origin))
		if want := arena.Origin + "/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fdash%3Fa%3Db%26c"; a.Location() != want {
			t.Fatalf("gate/start: %d %s, want %s", a.StatusCode, a.Location(), want)
		}
		if a := b.SignIn(w.OP, "ada", "callbackUrl", arena.Origin+"/dash?a=b&c"); a.Location() != arena.Origin+"/dash?a=b&c" {
			t.Fatalf("after the sign-in: %s", a.Location())
		}
		a = navigate(b, "GET", "/dash?a=b&c", "X-Auth-Email", "eve@example.com", "X_Auth_Email", "eve@example.com", "X-AUTH-groups", "root", "Connection", "x-auth-email, X_Auth_Groups, close")
		var seen map[string][]string
		if err := json.Unmarshal([]byte(a.Text), &seen); err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("the program: %d %s", a.StatusCode, a.Text)
		}
		for name, want := range map[string]string{"X-Auth-Email": "ada@example.com", "X-Auth-Name": "Ada%20Lovelace", "X-Auth-Groups": "ops,a%2Cb%25,%C3%A4", "Connection": "close"} {
			if got := seen[name]; len(got) != 1 || got[0] != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if len(seen["X-Auth-User-Id"]) != 1 || seen["X-Auth-User-Id"][0] == "" || len(seen) != 5 {
			t.Errorf("headers: %q", seen)
		}
		if a := navigate(b, "GET", "/admin/x"); a.StatusCode != http.StatusOK {
			t.Errorf("ops in /admin/: %d %s", a.StatusCode, a.Text)
		}
	})
}

// TestGuardRefuses checks every answer that the gate itself gives.
func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { gatedWorld(c) })
	called := 0
	nobody := behind(w, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { called++; echo(rw, r) }))
	alan := behind(w, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { called++; echo(rw, r) }))
	if a := alan.SignIn(w.OP, "alan"); a.Location() == "" || alan.Session()["user"] == nil {
		t.Fatalf("sign-in: %v", a.Text)
	}
	none := []string{"Sec-Fetch-Mode", "", "Sec-Fetch-Dest", ""}
	for name, tt := range map[string]struct {
		b      *arena.Browser
		method string
		target string
		header []string
		status int
		part   string // of the answer, or of Location
	}{
		"public":                        {nobody, "GET", "/public/a", nil, 200, ""},
		"public by POST":                {nobody, "POST", "/public/a", nil, 302, "gate/start?to=%2F"},
		"a script":                      {nobody, "GET", "/dash", []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 401, `"signin":"https://app.test/api/auth/gate/start?to=%2Fdash"`},
		"a script without Fetch":        {nobody, "GET", "/dash", append(none, "Accept", "application/json"), 401, "urn:authsvc:problem:unauthenticated"},
		"an old browser":                {nobody, "GET", "/dash", append(none, "Accept", "text/html,*/*"), 302, "gate/start?to=%2Fdash"},
		"XMLHttpRequest":                {nobody, "GET", "/dash", append(none, "Accept", "text/html", "X-Requested-With", "XMLHttpRequest"), 401, ""},
		"a prefetch":                    {nobody, "GET", "/dash", []string{"Sec-Purpose", "prefetch"}, 401, ""},
		"a WebSocket":                   {nobody, "GET", "/dash", []string{"Upgrade", "websocket"}, 401, ""},
		"a WebSocket from another site": {alan, "GET", "/dash", []string{"Upgrade", "websocket", "Origin", "https://evil.example"}, 403, ""},
		"a frame":                       {nobody, "GET", "/dash", []string{"Sec-Fetch-Dest", "iframe"}, 401, `target="_top"`},
		"a form":                        {nobody, "POST", "/dash", nil, 302, "gate/start?to=%2F"},
		"too many readings":             {nobody, "GET", "/%" + strings.Repeat("25", 17) + "41", nil, 400, "urn:authsvc:problem:malformed"},
		"not allowed":                   {alan, "GET", "/admin/x", nil, 403, "alan@example.com"},
		"not allowed, a script":         {alan, "GET", "/admin/x", []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 403, "urn:authsvc:problem:forbidden"},
		"not allowed, another reading":  {alan, "GET", "/public/%2e%2e/Admin%2Fx", nil, 403, ""},
		"closed":                        {alan, "GET", "/closed/", nil, 403, ""},
		"closed, no session":            {nobody, "GET", "/closed/", nil, 403, ""},
		"too old":                       {alan, "GET", "/fresh/", nil, 302, "gate/start"},
		"too old, a script":             {alan, "GET", "/fresh/", []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 401, "urn:authsvc:problem:reauthentication_required"},
		"a condition holds":             {alan, "GET", "/asks/x", nil, 200, ""},
		"a condition does not":          {alan, "POST", "/asks/x", nil, 403, ""},
		"a condition fails":             {alan, "GET", "/asks/error", nil, 403, ""},
		"a condition panics":            {alan, "GET", "/asks/panic", nil, 403, ""},
		"another host":                  {alan, "GET", "https://evil.test/dash", nil, 421, ""},
	} {
		called = 0
		r := httptest.NewRequest(tt.method, tt.b.Abs(tt.target), nil)
		r.RequestURI = strings.TrimPrefix(r.RequestURI, "https://evil.test")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "document")
		r.Header.Set("Accept", "text/html")
		for i := 0; i+1 < len(tt.header); i += 2 {
			if r.Header.Del(tt.header[i]); tt.header[i+1] != "" {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
		}
		a := tt.b.Do(r)
		if a.StatusCode != tt.status || !strings.Contains(a.Text+a.Location(), tt.part) || (called == 1) != (tt.status == 200) {
			t.Errorf("%s: %d %s (the program was asked %d times)\n%s", name, a.StatusCode, a.Location(), called, a.Text)
		}
	}
}

// TestGuardStoreAway checks that, if the session cannot be read, the request is
// refused, even where anyone may pass.
func TestGuardStoreAway(t *testing.T) {
	t.Parallel()
	ledger := arena.NewLedger(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { gatedWorld(c); c.Adapter = ledger })
	b := behind(w, http.HandlerFunc(echo))
	b.SignIn(w.OP, "ada")
	ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	for path, status := range map[string]int{"/dash": 503, "/public/a": 503, "/api/auth/gate/start?to=/dash": 503} {
		if a := navigate(b, "GET", path); a.StatusCode != status || a.Header.Get("Retry-After") != "5" {
			t.Errorf("%s: %d %v", path, a.StatusCode, a.Header)
		}
	}
	ledger.BreakAt(nil)
	if a := navigate(b, "GET", "/dash"); a.StatusCode != http.StatusOK {
		t.Errorf("once the store is back: %d", a.StatusCode)
	}
}

// TestGateStart checks that no one is redirected to another site, and that there are no
// redirect loops.
func TestGateStart(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { gatedWorld(c) })
	b := behind(w, http.HandlerFunc(echo))
	for to, want := range map[string]string{"/a?b=c": "/a?b=c", "": "/", "//evil.example": "/", "/\\evil.example": "/", "https://evil.example": "/", "evil.example": "/", "/a\r\nb": "", "/" + strings.Repeat("a", 3000): "/", "/%2f/evil.example": "/%2f/evil.example"} {
		r := httptest.NewRequest("GET", arena.Origin+"/api/auth/gate/start", nil)
		q := r.URL.Query()
		q.Set("to", to)
		r.URL.RawQuery = q.Encode()
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		a := b.Do(r)
		if back := arena.MustURL(t, a.Location()).Query().Get("callbackUrl"); want != "" && back != arena.Origin+want {
			t.Errorf("%.40q leads to %q, want %q", to, back, want)
		} else if !strings.HasPrefix(back, arena.Origin+"/") {
			t.Errorf("%.40q leads to %q", to, back)
		}
	}
	b.SignIn(w.OP, "ada")
	a := navigate(b, "GET", "/api/auth/gate/start?to=/dash")
	if a.Location() != arena.Origin+"/dash" {
		t.Fatalf("signed in: %d %s", a.StatusCode, a.Location())
	}
	for _, c := range a.Cookies() { // pressing Back a minute later is not a loop
		if strings.HasSuffix(c.Name, ".gate-seen") && c.MaxAge != 10 {
			t.Errorf("the marker stays for %d s: %s", c.MaxAge, c.Raw)
		}
	}
	if a := navigate(b, "GET", "/api/auth/gate/start?to=/dash"); a.StatusCode != http.StatusBadGateway || !strings.Contains(a.Text, "does not reach this site") {
		t.Errorf("sent back by a check without cookies: %d %s", a.StatusCode, a.Text)
	}
	if !strings.Contains(w.Logs.String(), "gate.misconfigured") {
		t.Errorf("the log does not say so:\n%s", w.Logs)
	}
	if a := navigate(b, "GET", "/api/auth/gate/start?to=/fresh/"); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/confirm?callbackUrl=") {
		t.Errorf("too old: %d %s", a.StatusCode, a.Location())
	}
	if a := b.Get("/api/auth/gate/start?to=/dash"); a.StatusCode == http.StatusFound && strings.Contains(a.Location(), "/signin") {
		t.Errorf("a script is sent to sign in: %s", a.Location())
	}
	if a := navigate(b, "GET", "https://evil.test/api/auth/gate/start?to=/dash"); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", a.StatusCode)
	}
	plain := arena.Start(t, nil).Browser()
	if a := navigate(plain, "GET", "/api/auth/gate/start"); a.StatusCode != http.StatusNotFound {
		t.Errorf("without a gate: %d", a.StatusCode)
	}
}

// TestGuardEndsStreams checks that a stream ends with its session, and not before.
func TestGuardEndsStreams(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterOffline(t, func(c *authsvc.Config) { gatedWorld(c); c.Session.Strategy = strategy })
				streaming := func(b *arena.Browser, path string) <-chan time.Duration {
					ended := make(chan time.Duration, 1)
					begun := time.Now()
					h := w.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						<-r.Context().Done()
						ended <- time.Since(begun)
						close(ended)
					}))
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour) // if the gate does not end it
					t.Cleanup(cancel)
					r := httptest.NewRequestWithContext(ctx, "GET", arena.Origin+path, nil)
					for name, v := range b.Cookies {
						r.AddCookie(&http.Cookie{Name: name, Value: v})
					}
					go h.ServeHTTP(httptest.NewRecorder(), r)
					return ended
				}
				ada, bob := w.Browser(), w.Browser()
				ada.Login("ada")
				bob.Login("bob")
				first, second, open := streaming(ada, "/events"), streaming(bob, "/events"), streaming(ada, "/public/events")
				time.Sleep(10 * time.Minute)
				ada.Post("/api/auth/signout")
				at := <-first
				if at < 10*time.Minute || at > 10*time.Minute+31*time.Second {
					t.Errorf("the stream ended after %v", at)
				}
				if at := <-open; at < 10*time.Minute || at > 10*time.Minute+31*time.Second {
					t.Errorf("a public stream under her session ended after %v", at)
				}
				time.Sleep(time.Hour)
				select {
				case at := <-second:
					t.Errorf("another user's stream ended after %v", at)
				default:
				}
				w.EndStreams()
				<-second
				synctest.Wait()
				got := w.Stats().Gate[arena.Origin]
				if got.OpenStreams != 0 || got.StreamsClosed[stats.StreamRefused] != 2 || got.StreamsClosed[stats.StreamStopped] != 1 || len(got.StreamsClosed) != 2 {
					t.Errorf("counted: %+v", got)
				}
			})
		})
	}
}

// TestGuardPrefix checks that with Cookies.Prefix, the program still receives no cookie of
// ours and sets none. Cookies of another service pass.
func TestGuardPrefix(t *testing.T) {
	t.Parallel()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "__Host-authsvc.session=other; Path=/; Secure")
		w.Header().Add("Set-Cookie", "__Host-blog.known=stolen; Path=/; Secure")
		w.Header().Add("Set-Cookie", "__Host-blog.gate=stolen; Path=/; Secure")
		io.WriteString(w, r.Header.Get("Cookie"))
	}))
	t.Cleanup(program.Close)
	for _, compat := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		w := arena.Start(t, func(c *authsvc.Config) {
			gatedWorld(c)
			c.Compat, c.Cookies.Prefix, c.Gate.Hosts[0].Upstream = compat, "blog", program.URL
		})
		b := behind(w, nil)
		b.Begin("op") // an attempt that is left behind
		b.SignIn(w.OP, "ada")
		for _, name := range []string{"email", "known", "last", "pending", "typed", "gate", "gate-seen", "tx.1", "gate-tx.1"} {
			if b.Cookies["__Host-blog."+name] == "" {
				b.Cookies["__Host-blog."+name] = "ours"
			}
		}
		b.Cookies["__Host-authsvc.session"], b.Cookies["__Host-blog.theirs"] = "another", "2"
		a := b.Get("/dash")
		if got := strings.Split(a.Text, "; "); len(got) != 2 || !slices.Contains(got, "__Host-authsvc.session=another") || !slices.Contains(got, "__Host-blog.theirs=2") {
			t.Errorf("%q: %d, the program receives %s", compat, a.StatusCode, a.Text)
		}
		if got := a.Header["Set-Cookie"]; len(got) != 1 || !strings.HasPrefix(got[0], "__Host-authsvc.session=other") {
			t.Errorf("%q: the browser receives %q", compat, got)
		}
	}
}

// TestGuardUpstream checks that the program receives the request unchanged except for
// our cookies, and that its answer arrives except for cookies with our names.
func TestGuardUpstream(t *testing.T) {
	t.Parallel()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.Contains(strings.ToLower(name), "forwarded") || name == "Cookie" || name == "X-Auth-Email" {
				w.Header()["Got-"+name] = r.Header[name]
			}
		}
		w.Header().Add("Set-Cookie", "theirs=1")
		w.Header().Add("Set-Cookie", "__Host-authsvc.session=stolen; Path=/; Secure")
		w.Header().Set("Got-Host", r.Host)
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+" "+r.RequestURI+" "+string(body))
	}))
	t.Cleanup(program.Close)
	w := arena.Start(t, func(c *authsvc.Config) {
		gatedWorld(c)
		c.Gate.Hosts[0].Upstream = program.URL
		c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules, authsvc.GateRule{Match: "/down/"})
	})
	b := behind(w, nil)
	b.SignIn(w.OP, "ada")
	b.Cookies["theirs"] = "2"
	r := httptest.NewRequest("POST", arena.Origin+"/dash/%61%2fb;c//d?x=%zz&y;z", strings.NewReader("body"))
	r.Header.Set("X-Forwarded-For", "1.2.3.4")
	r.Header.Set("X-Forwarded-Host", "evil.example")
	r.Header["X_Forwarded_Proto"] = []string{"http"} // servers spell it X_forwarded_proto
	r.Header.Set("X-Forwarded-Prefix", "/admin")
	r.Header.Set("Forwarded", "for=1.2.3.4")
	a := b.Do(r)
	if a.StatusCode != http.StatusOK || a.Text != "POST /dash/%61%2fb;c//d?x=%zz&y;z body" {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	for name, want := range map[string]string{"Got-Host": "app.test", "Got-Cookie": "theirs=2", "Got-X-Auth-Email": "ada@example.com", "Got-X-Forwarded-Host": "app.test",
		"Got-X-Forwarded-Proto": "https", "Got-X-Forwarded-For": "203.0.113.7", "Got-Forwarded": "", "Got-X_forwarded_proto": "", "Got-X-Forwarded-Prefix": "", "Set-Cookie": "theirs=1", "Cache-Control": "private"} {
		if got := strings.Join(a.Header[name], "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(w.Logs.String(), "with a name that authsvc uses") {
		t.Error("the log says nothing of the dropped cookie")
	}
	program.Close()
	if a := navigate(b, "GET", "/dash"); a.StatusCode != http.StatusBadGateway || !strings.Contains(a.Text, "is not answering") || strings.Contains(a.Text, "127.0.0.1") {
		t.Errorf("the program is down: %d %s", a.StatusCode, a.Text)
	}
	if a := b.Get("/dash"); a.StatusCode != http.StatusBadGateway || !strings.Contains(a.Text, `"status":502`) {
		t.Errorf("the program is down, for a script: %d %s", a.StatusCode, a.Text)
	}
}

// TestGateMistakes checks that all mistakes in Config.Gate are reported at their
// places.
func TestGateMistakes(t *testing.T) {
	t.Parallel()
	fields := func(g authsvc.Gate, domain string) string {
		_, err := engine.New(authsvc.Config{URL: "https://auth.example.com", Secrets: []string{arena.Secret}, Adapter: memory.New(), Cookies: authsvc.CookieOptions{Domain: domain},
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}, Gate: g})
		var list []string
		for _, e := range authsvc.ConfigErrors(err) {
			list = append(list, strings.TrimPrefix(e.Field, "Gate."))
			if e.Problem == "" || e.Fix == "" {
				t.Errorf("%+v", e)
			}
		}
		return strings.Join(list, " ")
	}
	for name, tt := range map[string]struct {
		gate         authsvc.Gate
		domain, want string
	}{
		"right":          {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://auth.example.com"}, {Origin: "https://auth.example.com:8443", Upstream: "unix:/run/app.sock"}}}, "", ""},
		"below":          {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://*.example.com"}, {Origin: "https://example.com"}, {Origin: "https://a.b.example.com"}}}, "example.com", ""},
		"no cookies":     {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://app.example.com"}, {Origin: "http://auth.example.com"}, {Origin: "https://*.example.com"}, {Origin: "http://app.example.org"}}}, "", "Hosts[1].Origin Hosts[3].Origin"},
		"another domain": {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://app.example.org"}, {Origin: "https://notexample.com"}}}, "example.com", ""},
		"times":          {authsvc.Gate{Recheck: time.Second, UpstreamTimeout: -1}, "", "Recheck UpstreamTimeout"},
		"headers":        {authsvc.Gate{Headers: authsvc.GateHeaders{UserID: []string{}, Email: []string{"X-A", "x-a"}, Name: []string{"Cookie", "a b", "X_B", "", "X-a-b-c-d-e-f-g", "X-a-b-c-d-e-f"}}}, "", "Headers.Email[1] Headers.Name[0] Headers.Name[1] Headers.Name[2] Headers.Name[3] Headers.Name[4]"},
		"upstream":       {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://auth.example.com", Upstream: "localhost:80"}, {Origin: "https://auth.example.com:1", Upstream: "unix:app"}, {Origin: "https://auth.example.com:2", Upstream: "https://auth.example.com"}}}, "", "Hosts[0].Upstream Hosts[1].Upstream Hosts[2].Upstream"},
		"forwards":       {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://auth.example.com", PassHeaders: []string{"X_Api_Key", "X-Original-URL", "X.Auth_User.Id", "x_forwarded_for", "a b", ""}, Upgrades: []string{"custom/1", "h2c", "TLS/1.2", "a,b", ""}}}}, "", "Hosts[0].PassHeaders[2] Hosts[0].PassHeaders[3] Hosts[0].PassHeaders[4] Hosts[0].PassHeaders[5] Hosts[0].Upgrades[1] Hosts[0].Upgrades[2] Hosts[0].Upgrades[3] Hosts[0].Upgrades[4]"},
		"sockets":        {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://auth.example.com", WebSocketOrigins: []string{"https://a.example", "b.example"}}}}, "", "Hosts[0].WebSocketOrigins[1]"},
		"conditions":     {authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://auth.example.com", Default: authsvc.Allow{Anyone: true, Nobody: true}, Rules: []authsvc.GateRule{{Match: "/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{}, {Emails: []string{"x"}}, {Providers: []string{"no"}}, {Groups: []string{"ops"}}, {MaxAge: -1}}}}, {Match: "x"}}}}}, "", "Hosts[0].Default Hosts[0].Rules[0].Allow.AnyOf[0] Hosts[0].Rules[0].Allow.AnyOf[1].Emails[0] Hosts[0].Rules[0].Allow.AnyOf[2].Providers[0] Hosts[0].Rules[0].Allow.AnyOf[3] Hosts[0].Rules[0].Allow.AnyOf[4].MaxAge Hosts[0].Rules[1].Match"},
	} {
		if got := fields(tt.gate, tt.domain); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

// TestGateOtherHosts checks that a program's host serves only the gate. People sign in
// at the login host and come back.
func TestGateOtherHosts(t *testing.T) {
	t.Parallel()
	s, err := engine.New(authsvc.Config{URL: "https://auth.example.com", Secrets: []string{arena.Secret}, Adapter: memory.New(), Cookies: authsvc.CookieOptions{Domain: "example.com"},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}},
		Gate:      authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://*.example.com", Default: authsvc.Allow{}, Rules: []authsvc.GateRule{{Match: "/closed/", Allow: authsvc.Allow{Nobody: true}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	ask := func(h http.Handler, method, address string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, address, nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	style := strings.TrimPrefix(s.StyleURL(), "https://auth.example.com")
	for address, status := range map[string]int{"https://wiki.example.com/api/auth/session": 421, "https://wiki.example.com/api/auth/csrf": 421, "https://wiki.example.com/api/auth/signin": 421, "https://wiki.example.com/api/auth/gate/authorize": 403, "https://wiki.example.com/api/auth/gate/enter": 404, "https://wiki.example.com/api/auth/account": 421, "https://wiki.example.com/api/auth": 421, "https://wiki.example.com/api/auth/callback/credentials": 421,
		"https://wiki.example.com/api/auth/gate/start": 302, "https://wiki.example.com" + style: 200, "https://auth.example.com/api/auth/session": 200, "https://auth.example.com/api/auth/signin": 200} {
		if a := ask(s, "GET", address); a.Code != status {
			t.Errorf("%s: %d, want %d", address, a.Code, status)
		}
	}
	for _, path := range []string{"session", "csrf", "callback/credentials", "_log", "account/signout"} {
		if a := ask(s, "POST", "https://wiki.example.com/api/auth/"+path); a.Code != http.StatusMisdirectedRequest {
			t.Errorf("a POST at the host of a program, %s: %d", path, a.Code)
		}
	}
	start := ask(s, "GET", "https://wiki.example.com/api/auth/gate/start?to=/a")
	if want := "https://auth.example.com/api/auth/signin?callbackUrl=https%3A%2F%2Fwiki.example.com%2Fa"; start.Header().Get("Location") != want {
		t.Errorf("%s, want %s", start.Header().Get("Location"), want)
	}
	for back, want := range map[string]bool{"https://wiki.example.com/a": true, "https://a.b.example.com/a": false, "http://wiki.example.com/a": false, "https://evil.test/a": false} {
		if page := ask(s, "GET", "https://auth.example.com/api/auth/signin?callbackUrl="+back).Body.String(); strings.Contains(page, `value="`+back+`"`) != want {
			t.Errorf("a sign-in that leads to %s: want %v", back, want)
		}
	}
	refused := ask(s.Guard(nil), "GET", "https://wiki.example.com/closed/")
	if page := refused.Body.String(); refused.Code != http.StatusForbidden || !strings.Contains(page, `href="`+style+`"`) || strings.Contains(page, "auth.example.com/api/auth/style") {
		t.Errorf("the page at the host of a program does not find its style sheet: %d\n%s", refused.Code, page)
	}
}

// TestGuardTellsNoUnprovedAddress checks that programs receive no unverified address.
func TestGuardTellsNoUnprovedAddress(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		gatedWorld(c)
		o := *c.Providers[0].(*authsvc.OAuth)
		o.Fields.EmailVerified = "nothing"
		c.Providers[0] = &o
	})
	b := behind(w, http.HandlerFunc(echo))
	b.SignIn(w.OP, "ada")
	if a := navigate(b, "GET", "/dash"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"X-Auth-Email":[""]`) || !strings.Contains(a.Text, "Ada") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

// TestGateLoopback checks that hosts over http on this machine also have their own
// cookies.
func TestGateLoopback(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{"http://app.localhost:3001": "", "http://*.apps.localhost:3002": "", "http://127.0.0.2:3000": "", "http://app.example.com": "beyond loopback", "https://app.localhost": "another scheme"} {
		_, err := engine.New(authsvc.Config{URL: "http://localhost:3000", Secrets: []string{arena.Secret}, Adapter: memory.New(),
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}, Gate: authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: origin}}}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
