package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/seal/personaltoken"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// forMachines has a program that accepts personal access tokens at some paths.
func forMachines(c *authsvc.Config) {
	c.PersonalTokens.Enabled = true
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	may := func(conditions ...authsvc.Condition) authsvc.Allow { return authsvc.Allow{AnyOf: conditions} }
	c.Gate = authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{
		{Match: "/open/", Allow: authsvc.Allow{Anyone: true}},
		{Match: "/closed/", Allow: authsvc.Allow{Nobody: true}},
		{Match: "/api/", Allow: may(authsvc.Condition{Tokens: true})},
		{Match: "/api/people/", Allow: authsvc.Allow{}},
		{Match: "/api/app/", Allow: may(authsvc.Condition{Domains: []string{"app.test"}, Tokens: true})},
		{Match: "/api/other/", Allow: may(authsvc.Condition{Domains: []string{"other.test"}, Tokens: true}, authsvc.Condition{Users: []string{"ada-id"}})},
		{Match: "/api/fresh/", Allow: may(authsvc.Condition{MaxAge: time.Hour})},
		{Match: "/api/when/", Allow: may(authsvc.Condition{Tokens: true, When: func(_ context.Context, r authsvc.AccessRequest) (bool, error) {
			return r.Session.UserID == "ada-id" && r.Method == "GET" && r.Session.AuthTime.IsZero(), nil
		}})},
	}}}}
}

// atGate makes a token of ada's for hosts of the gate.
func atGate(t *testing.T, w *arena.World, hosts ...string) (string, authsvc.PersonalToken) {
	t.Helper()
	token, info, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "backup", Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	return token, info
}

// knocks holds the ways for a client program to reach a program behind the gate, with
// the given headers.
var knocks = map[string]func(w *arena.World, method, path string, header ...string) *browser.Answer{
	"guard": func(w *arena.World, method, path string, header ...string) *browser.Answer {
		r := httptest.NewRequest(method, arena.Origin+path, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		return behind(w, http.HandlerFunc(echo)).Do(r)
	},
	"forward-auth": knockBy("forward-auth"), "auth-request": knockBy("auth-request"), "ext-authz": knockBy("ext-authz"),
}

func knockBy(way string) func(w *arena.World, method, path string, header ...string) *browser.Answer {
	return func(w *arena.World, method, path string, header ...string) *browser.Answer {
		return asProxy(w.Browser(), way, method, path, append([]string{"Accept", "", "Sec-Fetch-Mode", "", "Accept", "*/*"}, header...)...)
	}
}

// TestGateTokens checks where a personal access token lets a request pass, by every
// route, and where it does not.
func TestGateTokens(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forMachines)
	token, _ := atGate(t, w, arena.Origin)
	elsewhere, _ := atGate(t, w, "https://elsewhere.test", arena.Origin+":8443", "http://app.test")
	gone, info := atGate(t, w, arena.Origin)
	if err := w.RevokePersonalToken(t.Context(), "ada-id", info.ID); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path   string
		token  string
		header []string
		method string
		status int
		codes  int // of auth-request, if different
		word   string
	}{
		"allowed":                          {path: "/api/x", token: token, status: 200},
		"by POST":                          {path: "/api/x", method: "POST", token: token, status: 200},
		"user of the domain":               {path: "/api/app/", token: token, status: 200},
		"where anyone may":                 {path: "/open/", token: token, status: 200},
		"a rule holds":                     {path: "/api/when/", token: token, status: 200},
		"beside the program's cookies":     {path: "/api/x", token: token, header: []string{"Cookie", "theirs=1"}, status: 200},
		"user of another domain":           {path: "/api/other/", token: token, status: 403, word: "forbidden"},
		"where only people may":            {path: "/api/people/", token: token, status: 403, word: "forbidden"},
		"where no rule applies":            {path: "/dash", token: token, status: 403, word: "forbidden"},
		"where no one may":                 {path: "/closed/", token: token, status: 403, word: "forbidden"},
		"where the sign-in must be recent": {path: "/api/fresh/", token: token, status: 403, word: "forbidden"},
		"a rule does not hold":             {path: "/api/when/", method: "PUT", token: token, status: 403, word: "forbidden"},
		"another reading of the path":      {path: "/api/..%2fdash", token: token, status: 403, word: "forbidden"},
		"a browser that navigates":         {path: "/dash", token: token, header: []string{"Accept", "text/html"}, status: 403, word: "forbidden"},
		"for other hosts":                  {path: "/api/x", token: elsewhere, status: 403, word: "forbidden"},
		"for other hosts, open":            {path: "/open/", token: elsewhere, status: 403, word: "forbidden"},
		"revoked":                          {path: "/api/x", token: gone, status: 401, word: "unauthenticated"},
		"revoked, open":                    {path: "/open/", token: gone, status: 401, word: "unauthenticated"},
		"unknown":                          {path: "/api/x", token: personaltoken.New(), status: 401, word: "unauthenticated"},
		"cut off":                          {path: "/api/x", token: token[:20], status: 401, word: "unauthenticated"},
		"two":                              {path: "/api/x", token: token, header: []string{"Authorization", "Bearer x"}, status: 400, codes: 403},
		"beside another":                   {path: "/api/x", token: token, header: []string{"Authorization", "Basic YTpi"}, status: 400, codes: 403},
		"beside authsvc's cookie":          {path: "/api/x", token: token, header: []string{"Cookie", "__Host-authsvc.session=" + strings.Repeat("a", 43)}, status: 400, codes: 403},
		"the program's token":              {path: "/open/", token: "glpat-1", status: 200},
		"the program's token, closed":      {path: "/api/x", token: "glpat-1", status: 401, word: "unauthenticated"},
	} {
		if tt.method == "" {
			tt.method = "GET"
		}
		for way, knock := range knocks {
			a := knock(w, tt.method, tt.path, append([]string{"Authorization", "Bearer " + tt.token, "X-Forwarded-For", "192.0.2." + name[:1]}, tt.header...)...)
			want := tt.status
			if way == "auth-request" && tt.codes != 0 {
				want = tt.codes
			}
			if a.StatusCode != want || tt.word != "" && !strings.Contains(a.Text, "urn:authsvc:problem:"+tt.word+`"`) || len(a.Header["Set-Cookie"]) > 0 || a.Location() != "" {
				t.Errorf("%s, %s: %d %v %s", way, name, a.StatusCode, a.Header, a.Text)
			}
			if challenge := a.Header.Get("WWW-Authenticate"); strings.HasPrefix(tt.token, "asv1_") && want == 401 && challenge != `Bearer realm="authsvc", error="invalid_token"` {
				t.Errorf("%s, %s: %q", way, name, challenge)
			}
		}
	}
	if logs := w.Logs.String(); strings.Contains(logs, token) || !strings.Contains(logs, "it is not for this host") {
		t.Errorf("the log is\n%s", logs)
	}
}

// TestGateTokenIdentity checks that the program learns whose token it was and does not
// receive the token. It does receive other Authorization headers.
func TestGateTokenIdentity(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forMachines)
	token, _ := atGate(t, w, arena.Origin)
	a := knocks["guard"](w, "GET", "/api/x", "Authorization", "bearer  "+token, "X-Auth-Email", "eve@app.test")
	if a.StatusCode != 200 || strings.Contains(a.Text, token[5:]) || strings.Contains(a.Text, "Authorization") || !strings.Contains(a.Text, `"X-Auth-User-Id":["ada-id"]`) || !strings.Contains(a.Text, `"X-Auth-Email":["ada@app.test"]`) {
		t.Errorf("with a token: %d %s", a.StatusCode, a.Text)
	}
	if a := knocks["guard"](w, "GET", "/open/", "Authorization", "Bearer of-the-program"); !strings.Contains(a.Text, `"Authorization":["Bearer of-the-program"]`) || !strings.Contains(a.Text, `"X-Auth-User-Id":[""]`) {
		t.Errorf("with one of the program: %s", a.Text)
	}
	for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
		a := knocks[way](w, "GET", "/api/x", "Authorization", "Bearer "+token)
		if a.Header.Get("X-Auth-User-Id") != "ada-id" {
			t.Errorf("%s: %v", way, a.Header)
		}
		if removed := a.Header.Get("X-Envoy-Auth-Headers-To-Remove"); strings.Contains(removed, "authorization") != (way == "ext-authz") {
			t.Errorf("%s removes %q", way, removed)
		}
	}
	if a := knocks["ext-authz"](w, "GET", "/open/", "Authorization", "Bearer of-the-program"); strings.Contains(a.Header.Get("X-Envoy-Auth-Headers-To-Remove"), "authorization") {
		t.Errorf("the program's own header is removed: %v", a.Header)
	}
}

// TestGateTokenOff checks that, without personal access tokens, the header is passed to
// the program.
func TestGateTokenOff(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		forMachines(c)
		c.PersonalTokens.Enabled = false
		c.Gate.Hosts[0].Rules = c.Gate.Hosts[0].Rules[:2]
	})
	token := personaltoken.New()
	if a := knocks["guard"](w, "GET", "/open/", "Authorization", "Bearer "+token); a.StatusCode != 200 || !strings.Contains(a.Text, token) {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

// TestGateTokenLimits checks that refused tokens count for the gate and POST token
// together.
func TestGateTokenLimits(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		forMachines(c)
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api"}}
		c.RateLimit = authsvc.RateLimit{PersonalToken: authsvc.Rate{N: 30, Per: time.Hour}}
	})
	token, _ := atGate(t, w, arena.Origin)
	for i := range 30 {
		if i%2 == 0 {
			bear(w, personaltoken.New(), "api", "X-Forwarded-For", "192.0.2.7")
		} else if a := knocks["guard"](w, "GET", "/api/x", "X-Forwarded-For", "192.0.2.7", "Authorization", "Bearer "+personaltoken.New()); a.StatusCode != 401 || a.Header["Retry-After"] != nil {
			t.Fatalf("refusal %d: %d %v", i, a.StatusCode, a.Header)
		}
	}
	for _, way := range []string{"guard", "forward-auth", "ext-authz"} { // 30 in an hour
		if a := knocks[way](w, "GET", "/api/x", "X-Forwarded-For", "192.0.2.7", "Authorization", "Bearer "+token); a.StatusCode != 429 || a.Header.Get("Retry-After") != "120" {
			t.Errorf("%s past the limit: %d %v", way, a.StatusCode, a.Header)
		}
	}
	for client, status := range map[string]int{"198.51.100.9": 200, "192.0.2.7": 403} { // nginx knows no 429
		if a := knocks["auth-request"](w, "GET", "/api/x", "X-Forwarded-For", "", "X-Forwarded-For", client, "Authorization", "Bearer "+token); a.StatusCode != status {
			t.Errorf("%s: %d %s", client, a.StatusCode, a.Text)
		}
	}
}

// TestGateTokenStoreAway checks that a token that cannot be judged lets no request
// pass.
func TestGateTokenStoreAway(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forMachines)
	token, _ := atGate(t, w, arena.Origin)
	w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	for way, knock := range knocks {
		for _, path := range []string{"/api/x", "/open/"} {
			if a := knock(w, "GET", path, "Authorization", "Bearer "+token); a.StatusCode != 503 || a.Header.Get("Retry-After") != "5" {
				t.Errorf("%s of %s: %d %v", way, path, a.StatusCode, a.Header)
			}
		}
	}
	w.Ledger.BreakAt(nil)
	if a := knocks["guard"](w, "GET", "/api/x", "Authorization", "Bearer "+token); a.StatusCode != 200 {
		t.Errorf("once it is back: %d", a.StatusCode)
	}
}

// TestGateTokenEnds checks that a stream ends when its token expires or its user is
// blocked.
func TestGateTokenEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, w *arena.World, info authsvc.PersonalToken){
		"expired": func(_ *testing.T, _ *arena.World, info authsvc.PersonalToken) { time.Sleep(time.Until(info.Expires)) },
		"blocked": func(t *testing.T, w *arena.World, _ authsvc.PersonalToken) {
			blocked := time.Now()
			if err := w.Store.SetPerson(t.Context(), "ada-id", adapter.PersonUpdate{Blocked: &blocked}, nil); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterOffline(t, func(c *authsvc.Config) {
					forMachines(c)
					c.PersonalTokens.MaxAge = 24 * time.Hour // it is checked every 30 s until then
				})
				token, info := atGate(t, w, arena.Origin)
				ended := make(chan time.Time, 1)
				r := httptest.NewRequest("GET", arena.Origin+"/api/events", nil)
				r.Header.Set("Authorization", "Bearer "+token)
				go w.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					ended <- time.Now()
				})).ServeHTTP(httptest.NewRecorder(), r)
				time.Sleep(time.Hour)
				synctest.Wait()
				select {
				case <-ended:
					t.Error("ended early")
				default:
				}
				end(t, w, info)
				at := time.Now()
				if took := (<-ended).Sub(at); took > 31*time.Second {
					t.Errorf("ended after %v", took)
				}
				if a := knocks["guard"](w, "GET", "/api/x", "Authorization", "Bearer "+token); a.StatusCode != 401 {
					t.Errorf("afterwards: %d", a.StatusCode)
				}
			})
		})
	}
}

// TestGateTokenMistakes checks that conditions that no token could meet prevent the
// start.
func TestGateTokenMistakes(t *testing.T) {
	t.Parallel()
	prepare := func(enabled bool, c authsvc.Condition) string {
		config := authsvc.Config{URL: arena.Origin, Secrets: []string{strings.Repeat("s", 32)}, Adapter: arena.NewLedger(nil), Providers: []authsvc.Provider{&authsvc.Email{}}}
		config.PersonalTokens.Enabled = enabled
		config.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Default: authsvc.Allow{AnyOf: []authsvc.Condition{c}}}}
		_, err := engine.NewOperator(config)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for name, tt := range map[string]struct {
		enabled bool
		c       authsvc.Condition
		wrong   bool
	}{
		"alone":       {true, authsvc.Condition{Tokens: true}, false},
		"with a user": {true, authsvc.Condition{Tokens: true, Users: []string{"1"}}, false},
		"off":         {false, authsvc.Condition{Tokens: true}, true},
		"with an age": {true, authsvc.Condition{Tokens: true, MaxAge: time.Hour}, true},
		"with groups": {true, authsvc.Condition{Tokens: true, Groups: []string{"a"}}, true},
	} {
		if text := prepare(tt.enabled, tt.c); strings.Contains(text, "AnyOf[0].Tokens") != tt.wrong {
			t.Errorf("%s: %s", name, text)
		}
	}
}
