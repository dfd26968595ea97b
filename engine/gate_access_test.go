package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

// forAccessTokens has a program that accepts tokens of POST token, but only at some
// paths, and assertions.
func forAccessTokens(c *authsvc.Config) {
	forMachines(c)
	c.Tokens.Audiences = []authsvc.Audience{{ID: arena.Origin, Claims: []string{"email", "name"}}, {ID: "https://api.test"}, {ID: arena.Origin + ":8443"}}
	c.Gate.Headers.Assertion = []string{"X-Auth-Assertion"}
	c.Gate.Hosts = append(c.Gate.Hosts, authsvc.GateHost{Origin: arena.Origin + ":8443", Default: authsvc.Allow{Anyone: true}})
}

// accessToken exchanges a personal access token of ada's for a token for an audience.
func accessToken(t *testing.T, w *arena.World, audience string) string {
	t.Helper()
	return issuedFor(t, w, audience).raw
}

func issuedFor(t *testing.T, w *arena.World, audience string) issued {
	t.Helper()
	personal, _, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{audience}})
	if err != nil {
		t.Fatal(err)
	}
	return openToken(t, w, bear(w, personal, audience))
}

// reworked returns a token with other claims and the same signature.
func reworked(t *testing.T, token string, change func(claims map[string]any)) string {
	t.Helper()
	parts := strings.Split(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	claims := map[string]any{}
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		t.Fatal(err)
	}
	change(claims)
	raw, _ = json.Marshal(claims)
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(raw) + "." + parts[2]
}

// TestGateAccessTokens checks where a token of POST token lets a request pass, by every
// route, and where it does not.
func TestGateAccessTokens(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forAccessTokens)
	token, elsewhere, neighbour := accessToken(t, w, arena.Origin), accessToken(t, w, "https://api.test"), accessToken(t, w, arena.Origin+":8443")
	ada := w.Browser()
	ada.Login("ada")
	assertion := asProxy(ada, "forward-auth", "GET", "/open/").Header.Get("X-Auth-Assertion")
	if claims := openAssertion(t, w, assertion).claims; claims["aud"] != arena.Origin || claims["token_use"] != "assertion" {
		t.Fatalf("the assertion is %v", claims)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + strings.Split(token, ".")[1] + "."
	const invalid, nobody = `Bearer realm="authsvc", error="invalid_token"`, `Cookie realm="authsvc", Bearer realm="authsvc"`
	for name, tt := range map[string]struct {
		path      string
		token     string
		header    []string
		status    int
		codes     int // of auth-request, if different
		challenge string
	}{
		"allowed":                      {path: "/api/x", token: token, status: 200},
		"user of the domain":           {path: "/api/app/", token: token, status: 200},
		"a rule holds":                 {path: "/api/when/", token: token, status: 200},
		"where anyone may":             {path: "/open/", token: token, status: 200},
		"user of another domain":       {path: "/api/other/", token: token, status: 403},
		"where only people may":        {path: "/api/people/", token: token, status: 403},
		"where no rule applies":        {path: "/dash", token: token, status: 403},
		"another reading of the path":  {path: "/api/..%2fdash", token: token, status: 403},
		"the sign-in must be recent":   {path: "/api/fresh/", token: token, status: 403},
		"for another program":          {path: "/api/x", token: elsewhere, status: 401, challenge: nobody},
		"for another program, open":    {path: "/open/", token: elsewhere, status: 200},
		"for a neighbour":              {path: "/api/x", token: neighbour, status: 401, challenge: nobody},
		"of another issuer":            {path: "/api/x", token: reworked(t, token, func(c map[string]any) { c["iss"] = "https://evil.test" }), status: 401, challenge: nobody},
		"for another user":             {path: "/api/x", token: reworked(t, token, func(c map[string]any) { c["sub"] = "bob-id" }), status: 401, challenge: invalid},
		"for two programs":             {path: "/api/x", token: reworked(t, token, func(c map[string]any) { c["aud"] = []string{arena.Origin} }), status: 401, challenge: nobody},
		"without a signature":          {path: "/api/x", token: none, status: 401, challenge: invalid},
		"without a signature, open":    {path: "/open/", token: none, status: 401, challenge: invalid},
		"an assertion":                 {path: "/api/x", token: assertion, status: 401, challenge: invalid},
		"twice":                        {path: "/api/x", token: token, header: []string{"Authorization", "Bearer " + token}, status: 400, codes: 403},
		"beside a password":            {path: "/api/x", token: token, header: []string{"Authorization", "Basic YTpi"}, status: 400, codes: 403},
		"beside authsvc's cookie":      {path: "/api/x", token: token, header: []string{"Cookie", "__Host-authsvc.session=" + strings.Repeat("a", 43)}, status: 400, codes: 403},
		"beside the program's cookies": {path: "/api/x", token: token, header: []string{"Cookie", "theirs=1"}, status: 200},
		"too long":                     {path: "/api/x", token: token + strings.Repeat("a", 4096), status: 401, challenge: nobody},
		"no token":                     {path: "/api/x", token: "", status: 401, challenge: nobody},
	} {
		for way, knock := range knocks {
			a := knock(w, "GET", tt.path, append([]string{"Authorization", "Bearer " + tt.token, "X-Forwarded-For", "198.51.100." + name[:1]}, tt.header...)...)
			want := tt.status
			if way == "auth-request" && tt.codes != 0 {
				want = tt.codes
			}
			if a.StatusCode != want || a.Header.Get("WWW-Authenticate") != tt.challenge || len(a.Header["Set-Cookie"]) > 0 || a.Location() != "" {
				t.Errorf("%s, %s: %d %v %s", way, name, a.StatusCode, a.Header, a.Text)
			}
		}
	}
	if strings.Contains(w.Logs.String(), token) {
		t.Error("the log has a token")
	}
}

// TestGateAccessTokenIdentity checks what the program receives with a token of POST
// token: who asks, and not the token. Tokens for others arrive.
func TestGateAccessTokenIdentity(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forAccessTokens)
	token, elsewhere := accessToken(t, w, arena.Origin), accessToken(t, w, "https://api.test")
	a := knocks["guard"](w, "GET", "/api/x", "Authorization", "bearer "+token, "X-Auth-Email", "eve@app.test")
	if a.StatusCode != 200 || strings.Contains(a.Text, `"Authorization"`) || !strings.Contains(a.Text, `"X-Auth-User-Id":["ada-id"]`) || !strings.Contains(a.Text, `"X-Auth-Email":["ada@app.test"]`) {
		t.Errorf("with a token: %d %s", a.StatusCode, a.Text)
	}
	if a := knocks["guard"](w, "GET", "/open/", "Authorization", "Bearer "+elsewhere); !strings.Contains(a.Text, elsewhere) || !strings.Contains(a.Text, `"X-Auth-User-Id":[""]`) {
		t.Errorf("with one for another program: %s", a.Text)
	}
	for _, way := range []string{"forward-auth", "auth-request", "ext-authz"} {
		for sent, want := range map[string][]string{"Bearer " + token: {""}, "Bearer " + elsewhere: {"Bearer " + elsewhere}, "Basic YTpi": {"Basic YTpi"}, "": {""}} {
			a := knocks[way](w, "GET", "/open/", "Authorization", sent)
			if got := a.Header["Authorization"]; a.StatusCode != 200 || len(got) != 1 || got[0] != want[0] {
				t.Errorf("%s: of %.20q the program receives %q, want %q", way, sent, got, want)
			}
		}
	}
}

// TestGateAccessTokenUser checks that a token of POST token ends with its time, its key
// and its user, and that no token passes while the store is down.
func TestGateAccessTokenUser(t *testing.T) {
	t.Parallel()
	block := func(u adapter.PersonUpdate) func(t *testing.T, w *arena.World) {
		return func(t *testing.T, w *arena.World) {
			if err := w.Store.SetPerson(t.Context(), "ada-id", u, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when the bubble begins
	for name, tt := range map[string]struct {
		end    func(t *testing.T, w *arena.World)
		status int
		reason string
	}{
		"":              {func(*testing.T, *arena.World) { time.Sleep(4 * time.Minute) }, 200, ""},
		"expired":       {func(*testing.T, *arena.World) { time.Sleep(5 * time.Minute) }, 401, "has expired"},
		"blocked":       {block(adapter.PersonUpdate{Blocked: &at}), 401, "is blocked"},
		"to be deleted": {block(adapter.PersonUpdate{DeleteAfter: &at}), 401, "scheduled for deletion"},
		"deleted":       {func(t *testing.T, w *arena.World) { _ = w.DeleteUser(t.Context(), "ada-id") }, 401, "no longer exists"},
		"the store is down": {func(_ *testing.T, w *arena.World) {
			w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
		}, 503, ""},
		"its key was retired":  {retireAll, 401, "not signed by this service"},
		"signed out elsewhere": {func(t *testing.T, w *arena.World) { _ = w.EndSessions(t.Context(), "ada-id") }, 200, ""}, // valid until it expires
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var events []authsvc.AuditEvent
				w := arena.EnterOffline(t, func(c *authsvc.Config) {
					forAccessTokens(c)
					c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { mu.Lock(); events = append(events, e); mu.Unlock() }
				})
				token := issuedFor(t, w, arena.Origin)
				jti, _ := token.claims["jti"].(string)
				tt.end(t, w)
				a := knocks["guard"](w, "GET", "/api/x", "Authorization", "Bearer "+token.raw)
				if a.StatusCode != tt.status || (a.Header.Get("Retry-After") != "") != (tt.status == 503) {
					t.Errorf("%d %v %s", a.StatusCode, a.Header, a.Text)
				}
				w.Ledger.BreakAt(nil)
				mu.Lock()
				defer mu.Unlock()
				if tt.reason == "" {
					return
				}
				last := events[len(events)-1]
				named := last.Actor == "token:"+jti && last.UserID == "ada-id"
				if last.Name != "gate.refused" || !strings.Contains(last.Reason, tt.reason) || strings.HasPrefix(last.Reason, "its user") != named {
					t.Errorf("recorded %+v", last)
				}
			})
		})
	}
}

// retireAll retires the signing keys.
func retireAll(t *testing.T, w *arena.World) {
	t.Helper()
	keys, err := w.Keys.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if err := w.Keys.RetireKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGateAccessTokenStateless checks that, without a store, the token says who asks.
func TestGateAccessTokenStateless(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, func(c *authsvc.Config) {
		forAccessTokens(c)
		c.Adapter, c.Providers, c.PersonalTokens.Enabled = nil, c.Providers[:1], false
		c.Gate.Hosts[0].Rules = c.Gate.Hosts[0].Rules[:3]
	})
	b := w.Browser()
	b.SignIn(w.OP, "alan") // has no verified address
	token := openToken(t, w, b.Post("/api/auth/token", "audience", arena.Origin)).raw
	a := knocks["guard"](w, "GET", "/api/x", "Authorization", "Bearer "+token)
	if a.StatusCode != 200 || !strings.Contains(a.Text, `"X-Auth-User-Id":["`) || !strings.Contains(a.Text, `"X-Auth-Email":[""]`) {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	forged := reworked(t, token, func(c map[string]any) { c["email_verified"] = true })
	if a := knocks["guard"](w, "GET", "/api/x", "Authorization", "Bearer "+forged); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("forged: %d %s", a.StatusCode, a.Text)
	}
}

// TestGateAccessTokenLimit checks that refused tokens count for the client.
func TestGateAccessTokenLimit(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		forAccessTokens(c)
		c.RateLimit = authsvc.RateLimit{PersonalToken: authsvc.Rate{N: 3, Per: time.Hour}}
	})
	token := accessToken(t, w, arena.Origin)
	forged := reworked(t, token, func(c map[string]any) { c["sub"] = "bob-id" })
	for i, want := range []int{401, 401, 401, 429, 429} {
		if a := knocks["guard"](w, "GET", "/api/x", "X-Forwarded-For", "192.0.2.9", "Authorization", "Bearer "+forged); a.StatusCode != want {
			t.Errorf("%d: %d", i, a.StatusCode)
		}
	}
	if a := knocks["guard"](w, "GET", "/api/x", "X-Forwarded-For", "192.0.2.9", "Authorization", "Bearer "+token); a.StatusCode != 429 {
		t.Errorf("a valid token past the limit: %d", a.StatusCode)
	}
	if a := knocks["guard"](w, "GET", "/api/x", "X-Forwarded-For", "198.51.100.9", "Authorization", "Bearer "+token); a.StatusCode != 200 {
		t.Errorf("another client: %d", a.StatusCode)
	}
}
