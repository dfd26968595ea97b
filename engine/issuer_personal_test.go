package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
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

// forPersonal has personal access tokens and two audiences.
func forPersonal(c *authsvc.Config) {
	c.PersonalTokens.Enabled = true
	c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{"email"}}, {ID: "other"}}
}

// personal makes a token of ada's for the audience api.
func personal(t *testing.T, w *arena.World) (string, authsvc.PersonalToken) {
	t.Helper()
	token, info, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "nightly", Audiences: []string{"api"}})
	if err != nil {
		t.Fatal(err)
	}
	return token, info
}

// bear asks for a token with a personal access token, as a program does.
func bear(w *arena.World, token, audience string, header ...string) *browser.Answer {
	return w.Browser().Form("/api/auth/token", url.Values{"audience": {audience}}, append([]string{"User-Agent", "test agent", "Authorization", "Bearer " + token}, header...)...)
}

// TestPersonalToken checks the token that a personal access token is exchanged for, in
// every mode and strategy.
func TestPersonalToken(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			t.Run(string(strategy)+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				w := arena.EnterOffline(t, func(c *authsvc.Config) {
					forPersonal(c)
					c.Compat, c.Session.Strategy = mode, strategy
				})
				token, info := personal(t, w)
				answer := bear(w, token, "api")
				got := openToken(t, w, answer)
				for name, want := range map[string]any{"iss": "https://app.test/api/auth", "sub": "ada-id", "aud": "api", "email": "ada@app.test", "email_verified": true,
					"auth_time": nil, "amr": nil, "acr": nil, "sid": nil, "idp": nil} {
					if got.claims[name] != want {
						t.Errorf("%s is %v, want %v", name, got.claims[name], want)
					}
				}
				if len(answer.Header["Set-Cookie"]) > 0 {
					t.Errorf("cookies %v", answer.Header["Set-Cookie"])
				}
				if age := info.Expires.Sub(info.Created); age != 2160*time.Hour || info.Name != "nightly" || len(info.ID) != 22 || !info.Used.IsZero() {
					t.Errorf("%+v", info)
				}
				if err := w.Close(t.Context()); err != nil { // waits for the work after the answer
					t.Fatal(err)
				}
				list, err := w.PersonalTokens(t.Context(), "ada-id")
				if today := time.Now().UTC().Truncate(24 * time.Hour); err != nil || len(list) != 1 || list[0].ID != info.ID || list[0].Used.Before(today.AddDate(0, 0, -1)) {
					t.Errorf("%+v, %v", list, err)
				}
				p, err := w.Store.GetPerson(t.Context(), "ada-id")
				if kept := fmt.Sprintf("%+v %s", p, p.Credentials[0].Data); err != nil || strings.Contains(kept, token) || strings.Contains(kept, token[5:20]) || strings.Contains(kept, "api") || strings.Contains(kept, info.ID) {
					t.Errorf("the store has %s, %v", kept, err)
				}
				if logs := w.Logs.String(); strings.Contains(logs, token) {
					t.Errorf("the log has the token\n%s", logs)
				}
			})
		}
	}
}

// TestPersonalTokenRefused checks that a request without a valid token gets none, and
// that the answers do not differ. Each case first succeeds with a valid one.
func TestPersonalTokenRefused(t *testing.T) {
	t.Parallel()
	blocked := time.Now()
	for name, c := range map[string]struct {
		tune   func(*authsvc.Config)
		ask    func(t *testing.T, w *arena.World, token, id string) *browser.Answer
		status int
		word   string
	}{
		"unknown": {nil, func(_ *testing.T, w *arena.World, _, _ string) *browser.Answer {
			return bear(w, personaltoken.New(), "api")
		}, 401, "unauthenticated"},
		"revoked": {nil, func(t *testing.T, w *arena.World, token, id string) *browser.Answer {
			if err := w.RevokePersonalToken(t.Context(), "ada-id", id); err != nil {
				t.Error(err)
			}
			return bear(w, token, "api")
		}, 401, "unauthenticated"},
		"all revoked": {nil, func(t *testing.T, w *arena.World, token, _ string) *browser.Answer {
			if n, err := w.RevokePersonalTokens(t.Context(), "ada-id"); n != 1 || err != nil {
				t.Error(n, err)
			}
			return bear(w, token, "api")
		}, 401, "unauthenticated"},
		"blocked": {nil, func(t *testing.T, w *arena.World, token, _ string) *browser.Answer {
			if err := w.Store.SetPerson(t.Context(), "ada-id", adapter.PersonUpdate{Blocked: &blocked}, nil); err != nil {
				t.Error(err)
			}
			return bear(w, token, "api")
		}, 401, "unauthenticated"},
		"to be deleted": {nil, func(t *testing.T, w *arena.World, token, _ string) *browser.Answer {
			if _, err := w.ScheduleDeletion(t.Context(), "ada-id"); err != nil {
				t.Error(err)
			}
			if _, _, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "late", Audiences: []string{"api"}}); !errors.Is(err, authsvc.ErrAccessDenied) {
				t.Errorf("one that is made then: %v", err)
			}
			refused := bear(w, token, "api")
			if err := w.CancelDeletion(t.Context(), "ada-id"); err != nil || bear(w, token, "api").StatusCode != http.StatusOK {
				t.Errorf("twin, kept: %v", err)
			}
			return refused
		}, 401, "unauthenticated"},
		"user gone": {nil, func(t *testing.T, w *arena.World, token, _ string) *browser.Answer {
			if err := w.DeleteUser(t.Context(), "ada-id"); err != nil {
				t.Error(err)
			}
			return bear(w, token, "api")
		}, 401, "unauthenticated"},
		"another audience": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer { return bear(w, token, "other") }, 403, "forbidden"},
		"no such audience": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer { return bear(w, token, "API") }, 400, "unknown_audience"},
		"empty":            {nil, func(_ *testing.T, w *arena.World, _, _ string) *browser.Answer { return bear(w, "", "api") }, 401, "unauthenticated"},
		"upper case": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			return bear(w, strings.ToUpper(token), "api")
		}, 401, "unauthenticated"},
		"its digest": {nil, func(t *testing.T, w *arena.World, _, _ string) *browser.Answer {
			p, err := w.Store.GetPerson(t.Context(), "ada-id")
			if err != nil {
				t.Fatal(err)
			}
			return bear(w, p.Credentials[0].ID, "api")
		}, 401, "unauthenticated"},
		"cookies, too": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			return bear(w, token, "api", "Cookie", "a=b")
		}, 400, "malformed"},
		"a session, too": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			b := w.Browser()
			b.Login("bob")
			b.Header.Set("Authorization", "Bearer "+token)
			return b.Post("/api/auth/token", "audience", "api")
		}, 400, "malformed"},
		"two of them": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			return bear(w, token, "api", "Authorization", "Bearer "+token)
		}, 400, "malformed"},
		"beside Basic": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			return bear(w, token, "api", "Authorization", "Basic YTpi")
		}, 400, "malformed"},
		"another scheme": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			return w.Browser().Form("/api/auth/token", url.Values{"audience": {"api"}}, "Authorization", "Token "+token)
		}, 400, "csrf"},
		"of another site": {nil, func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
			return bear(w, token, "api", "Sec-Fetch-Site", "cross-site")
		}, 403, "cross_site"},
		"conditions on claims": {func(c *authsvc.Config) {
			c.Tokens.Audiences[0].Allow = []authsvc.Condition{{Users: []string{"u-none"}}}
		}, nil, 403, "forbidden"},
		"a rule on the sign-in": {func(c *authsvc.Config) {
			c.Tokens.Audiences[0].When = func(_ context.Context, r authsvc.AccessRequest) (bool, error) {
				return r.Time.Sub(r.Session.AuthTime) < time.Hour, nil
			}
		}, nil, 403, "forbidden"},
		"the store fails":        {nil, broken("GetCredential"), 503, "unavailable"},
		"reading the user fails": {nil, broken("GetUser"), 503, "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterOffline(t, func(config *authsvc.Config) {
				forPersonal(config)
				if c.tune != nil {
					c.tune(config)
				}
			})
			token, info := personal(t, w)
			if c.ask == nil {
				c.ask = func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer { return bear(w, token, "api") }
			} else if a := bear(w, token, "api"); a.StatusCode != 200 {
				t.Fatalf("twin: %d %s", a.StatusCode, a.Text)
			}
			a := c.ask(t, w, token, info.ID)
			challenge := ""
			if c.status == 401 {
				challenge = `Bearer realm="authsvc", error="invalid_token"`
			}
			if a.StatusCode != c.status || !strings.Contains(a.Text, "urn:authsvc:problem:"+c.word+`"`) || strings.Contains(a.Text, "access_token") || a.Header.Get("WWW-Authenticate") != challenge {
				t.Errorf("%d %v %s", a.StatusCode, a.Header, a.Text)
			}
		})
	}
}

// broken asks while a method of the store fails.
func broken(method string) func(*testing.T, *arena.World, string, string) *browser.Answer {
	return func(_ *testing.T, w *arena.World, token, _ string) *browser.Answer {
		w.Ledger.BreakAt(func(_ int, called string) arena.Failure {
			if called == method {
				return arena.FailBefore
			}
			return arena.Works
		})
		return bear(w, token, "api")
	}
}

// TestPersonalTokenMistyped checks that a malformed token never reaches the store.
func TestPersonalTokenMistyped(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forPersonal)
	token, _ := personal(t, w)
	var asked atomic.Int64
	w.Ledger.BreakAt(func(int, string) arena.Failure { asked.Add(1); return arena.Works })
	for i := len(token) - 1; i > 0; i -= 4 {
		c := "a"
		if token[i] == 'a' {
			c = "b"
		}
		if a := bear(w, token[:i]+c+token[i+1:], "api"); a.StatusCode != 401 {
			t.Errorf("%d: %d", i, a.StatusCode)
		}
	}
	for _, text := range []string{"eyJhbGciOiJub25lIn0.e30.", token + " " + token, token + "\t", strings.Repeat("a", 8<<10)} {
		if a := bear(w, text, "api"); a.StatusCode != 401 {
			t.Errorf("%q: %d", text, a.StatusCode)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
	if a := bear(w, token, "api"); a.StatusCode != 200 || asked.Load() == 0 {
		t.Errorf("twin: %d", a.StatusCode)
	}
}

// TestPersonalTokenLimits checks the limits: 30 refusals a minute for one client, and
// rate_limit.token uses of one token.
func TestPersonalTokenLimits(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		forPersonal(c)
		c.RateLimit = authsvc.RateLimit{Token: authsvc.Rate{N: 3, Per: time.Hour}}
	})
	token, _ := personal(t, w)
	other, _ := personal(t, w)
	for i, want := range []int{200, 200, 200, 429} {
		if a := bear(w, token, "api"); a.StatusCode != want {
			t.Errorf("use %d: %d", i, a.StatusCode)
		}
	}
	if a := bear(w, other, "api"); a.StatusCode != 200 {
		t.Errorf("another token: %d", a.StatusCode)
	}
	for i := range 32 {
		wrong := personaltoken.New()
		if i%2 == 1 {
			wrong = "x"
		}
		want := 401
		if i >= 30 {
			want = 429
		}
		a := bear(w, wrong, "api")
		if a.StatusCode != want || (a.Header.Get("Retry-After") != "") != (want == 429) {
			t.Fatalf("refusal %d: %d %v", i, a.StatusCode, a.Header)
		}
	}
	if a := bear(w, other, "api"); a.StatusCode != 429 {
		t.Errorf("from there: %d", a.StatusCode)
	}
	elsewhere := w.Browser()
	elsewhere.IP = "198.51.100.9:4711"
	if a := elsewhere.Form("/api/auth/token", url.Values{"audience": {"api"}}, "Authorization", "bearer  "+other); a.StatusCode != 200 {
		t.Errorf("from elsewhere: %d %s", a.StatusCode, a.Text)
	}
}

// TestPersonalTokenEnds checks that a token expires by itself and by a shorter maximum,
// and that tokens exchanged for it do not outlive it. Signing out everywhere does not
// end it.
func TestPersonalTokenEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, func(c *authsvc.Config) {
			forPersonal(c)
			c.PersonalTokens.MaxAge = 48 * time.Hour
		})
		token, info, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "short", Audiences: []string{"api"}, Life: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		long, longer := personal(t, w)
		if life := longer.Expires.Sub(longer.Created); life != 48*time.Hour {
			t.Errorf("default %v", life)
		}
		if err := w.EndSessions(t.Context(), "ada-id"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(info.Expires) - time.Minute)
		if got := openToken(t, w, bear(w, token, "api")); got.claims["exp"] != float64(info.Expires.Unix()) {
			t.Errorf("%v ends after %v", got.claims["exp"], info.Expires.Unix())
		}
		next := w.Config
		next.PersonalTokens.MaxAge = time.Hour
		s, err := w.Reconfigure(next)
		if err != nil {
			t.Fatal(err)
		}
		before := w.Service
		w.Service = s
		if a := bear(w, token, "api"); a.StatusCode != 401 {
			t.Errorf("past the new maximum: %d", a.StatusCode)
		}
		w.Service = before
		time.Sleep(time.Minute)
		if a := bear(w, token, "api"); a.StatusCode != 401 {
			t.Errorf("expired: %d", a.StatusCode)
		}
		if a := bear(w, long, "api"); a.StatusCode != 200 {
			t.Errorf("the longer one: %d", a.StatusCode)
		}
		synctest.Wait()
		list, err := w.PersonalTokens(t.Context(), "ada-id")
		if err != nil || len(list) != 1 && len(list) != 2 || list[len(list)-1].ID != longer.ID {
			t.Errorf("%+v, %v", list, err)
		}
		for _, s := range []*engine.Service{s, before} {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestPersonalTokenSecrets checks that the uses of a token are sealed, that using it
// reseals them, and that it is lost with its secret.
func TestPersonalTokenSecrets(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forPersonal)
	used, _ := personal(t, w)
	unused, _ := personal(t, w)
	with := func(secrets ...string) *arena.World {
		c := w.Config
		c.Secrets = secrets
		s, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return &arena.World{Service: s, T: t, Config: c, Store: w.Store, Logs: w.Logs}
	}
	turned := with(secondSecret, arena.Secret)
	if a := bear(turned, used, "api"); a.StatusCode != 200 {
		t.Errorf("by the older secret: %d %s", a.StatusCode, a.Text)
	}
	if err := errors.Join(turned.Close(t.Context()), w.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	after := with(secondSecret)
	defer after.Close(t.Context())
	for token, want := range map[string]int{used: 200, unused: 401} {
		if a := bear(after, token, "api"); a.StatusCode != want {
			t.Errorf("without it: %d, want %d", a.StatusCode, want)
		}
	}
	list, err := after.PersonalTokens(t.Context(), "ada-id")
	if err != nil || len(list) != 2 || list[0].Sealed == list[1].Sealed {
		t.Errorf("%+v, %v", list, err)
	}
	// A row that was given to another user, or to another token, does not open.
	p, err := w.Store.GetPerson(t.Context(), "ada-id")
	if err != nil {
		t.Fatal(err)
	}
	stolen := p.Credentials[0]
	if err := w.Store.DeleteCredential(t.Context(), stolen.Kind, stolen.ID, stolen.UserID, nil); err != nil {
		t.Fatal(err)
	}
	stolen.UserID = "bob-id"
	if err := w.Store.PutCredential(t.Context(), stolen, 0, 100); err != nil {
		t.Fatal(err)
	}
	if bobs, err := after.PersonalTokens(t.Context(), "bob-id"); err != nil || len(bobs) != 1 || !bobs[0].Sealed || bobs[0].Audiences != nil {
		t.Errorf("%+v, %v", bobs, err)
	}
}

// TestCreatePersonalToken checks which requests are allowed, and how many.
func TestCreatePersonalToken(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forPersonal)
	for name, c := range map[string]struct {
		user string
		r    authsvc.PersonalTokenRequest
		want string // in the error; "": none
	}{
		"all":              {"ada-id", authsvc.PersonalTokenRequest{Name: "é", Audiences: []string{"api", "other", "api"}, Hosts: []string{"grafana.example.com", "https://Grafana.example.com", "http://127.0.0.1:3000"}, Life: 366 * 24 * time.Hour}, ""},
		"a host alone":     {"ada-id", authsvc.PersonalTokenRequest{Name: strings.Repeat("é", 64), Hosts: []string{"https://a.example.com:8443"}, Life: time.Minute}, ""},
		"unknown user":     {"u-none", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}}, "not found"},
		"no audience":      {"ada-id", authsvc.PersonalTokenRequest{Name: "n"}, "needs at least one audience or host"},
		"no name":          {"ada-id", authsvc.PersonalTokenRequest{Audiences: []string{"api"}}, "the name of"},
		"a long name":      {"ada-id", authsvc.PersonalTokenRequest{Name: strings.Repeat("é", 65), Audiences: []string{"api"}}, "the name of"},
		"a control in it":  {"ada-id", authsvc.PersonalTokenRequest{Name: "a\nb", Audiences: []string{"api"}}, "the name of"},
		"too long":         {"ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}, Life: 8785 * time.Hour}, "at most 8784 hours"},
		"too short":        {"ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}, Life: time.Second}, "at least a minute"},
		"unknown audience": {"ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"API"}}, `"API" is not a configured audience`},
		"a path":           {"ada-id", authsvc.PersonalTokenRequest{Name: "n", Hosts: []string{"https://a.example.com/x"}}, "is not an origin"},
		"a pattern":        {"ada-id", authsvc.PersonalTokenRequest{Name: "n", Hosts: []string{"https://*.example.com"}}, "is not an origin"},
		"many hosts":       {"ada-id", authsvc.PersonalTokenRequest{Name: "n", Hosts: strings.Fields(strings.Repeat("a.example.com ", 51))}, "at most 50"},
		"two mistakes":     {"ada-id", authsvc.PersonalTokenRequest{Name: "", Hosts: []string{"ftp://x"}}, "is not an origin"},
	} {
		token, info, err := w.CreatePersonalToken(t.Context(), c.user, c.r)
		switch {
		case c.want == "" && (err != nil || !personaltoken.WellFormed(token)):
			t.Errorf("%s: %q, %v", name, token, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || token != ""):
			t.Errorf("%s: %q, %v", name, token, err)
		case name == "all" && fmt.Sprint(info.Audiences, info.Hosts) != "[api other] [http://127.0.0.1:3000 https://grafana.example.com]":
			t.Errorf("%+v", info)
		case name == "two mistakes" && !strings.Contains(err.Error(), "the name of"):
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.RevokePersonalToken(t.Context(), "bob-id", "nothing"); !errors.Is(err, adapter.ErrNotFound) {
		t.Error(err)
	}
	_, mine := personal(t, w)
	if err := w.RevokePersonalToken(t.Context(), "bob-id", mine.ID); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("another user's: %v", err)
	}
	at := time.Now()
	if err := w.Store.SetPerson(t.Context(), "bob-id", adapter.PersonUpdate{Blocked: &at}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.CreatePersonalToken(t.Context(), "bob-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}}); !errors.Is(err, authsvc.ErrAccessDenied) {
		t.Errorf("of a blocked user: %v", err)
	}
}

// TestPersonalTokensMost checks that two concurrent creators leave exactly a hundred
// tokens, even while sessions end, which overtakes them.
func TestPersonalTokensMost(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forPersonal)
	var made, tooMany atomic.Int64
	arena.Together(4, func(i int) {
		for range 30 {
			_, _, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}})
			switch {
			case err == nil:
				made.Add(1)
			case errors.Is(err, adapter.ErrTooMany):
				tooMany.Add(1)
			default:
				t.Error(err)
			}
			if i == 0 {
				if err := w.Store.SetPerson(t.Context(), "ada-id", adapter.PersonUpdate{}, &adapter.Revocation{Key: "user:ada-id", UserID: "ada-id", Expires: time.Now().Add(time.Hour)}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	list, err := w.PersonalTokens(t.Context(), "ada-id")
	if err != nil || len(list) != 100 || made.Load() != 100 || tooMany.Load() != 20 {
		t.Errorf("%d of %d, %d refused, %v", len(list), made.Load(), tooMany.Load(), err)
	}
	if n, err := w.RevokePersonalTokens(t.Context(), "ada-id"); n != 100 || err != nil {
		t.Error(n, err)
	}
}

// TestPersonalTokenOvertaken checks that a block between reading the user and writing
// the token is noticed.
func TestPersonalTokenOvertaken(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, forPersonal)
	at, done := time.Now(), false
	w.Ledger.BreakAt(func(_ int, method string) arena.Failure {
		if method == "PutCredential" && !done {
			done = true
			if err := w.Ledger.Behind.SetPerson(t.Context(), "ada-id", adapter.PersonUpdate{Blocked: &at}, &adapter.Revocation{Key: "user:ada-id", UserID: "ada-id", Expires: at.Add(time.Hour)}); err != nil {
				t.Error(err)
			}
		}
		return arena.Works
	})
	if _, _, err := w.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}}); !errors.Is(err, authsvc.ErrAccessDenied) || !done {
		t.Errorf("%v", err)
	}
}

// TestPersonalTokensOff checks that, if personal access tokens are off, the header has
// no meaning and no token is made. A wrong configuration prevents the start.
func TestPersonalTokensOff(t *testing.T) {
	t.Parallel()
	on := arena.EnterOffline(t, forPersonal)
	token, info := personal(t, on)
	c := on.Config
	c.PersonalTokens.Enabled = false
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	off := &arena.World{Service: s, T: t, Config: c}
	if a := bear(off, token, "api"); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.Text, "problem:csrf") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if _, _, err := s.CreatePersonalToken(t.Context(), "ada-id", authsvc.PersonalTokenRequest{Name: "n", Audiences: []string{"api"}}); !errors.Is(err, authsvc.ErrNoPersonalTokens) {
		t.Error(err)
	}
	if err := s.RevokePersonalToken(t.Context(), "ada-id", info.ID); err != nil {
		t.Errorf("what is there can be revoked: %v", err)
	}
	wrong := withoutStorage()
	wrong.PersonalTokens = authsvc.PersonalTokenOptions{Enabled: true, MaxAge: 8785 * time.Hour}
	wrong.RateLimit.PersonalToken = authsvc.Rate{N: -1, Per: time.Minute}
	var got []string
	for _, e := range authsvc.ConfigErrors(engine.Check(wrong)) {
		got = append(got, e.Field)
	}
	if strings.Join(got, " ") != "RateLimit.PersonalToken PersonalTokens.MaxAge PersonalTokens.Enabled" {
		t.Errorf("%v", got)
	}
}
