package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// issued is the answer of POST token, opened with the keys of GET jwks.
type issued struct {
	raw    string
	header jose.Header
	claims map[string]any
}

func openToken(t *testing.T, w *arena.World, a *browser.Answer) issued {
	t.Helper()
	var answer struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := json.Unmarshal([]byte(a.Text), &answer); err != nil || a.StatusCode != 200 || answer.TokenType != "Bearer" {
		t.Fatalf("%d %s, %v", a.StatusCode, a.Text, err)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(w.Browser().Get("/api/auth/jwks").Text), &keys); err != nil {
		t.Fatal(err)
	}
	jws, err := jose.ParseSignedCompact(answer.AccessToken, []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA, jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	token := issued{raw: answer.AccessToken, header: jws.Signatures[0].Protected}
	list := keys.Key(token.header.KeyID)
	if len(list) != 1 || list[0].Algorithm != token.header.Algorithm {
		t.Fatalf("%d keys for %+v", len(list), token.header)
	}
	payload, err := jws.Verify(list[0])
	if err == nil {
		err = json.Unmarshal(payload, &token.claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left := int64(token.claims["exp"].(float64) - token.claims["iat"].(float64)); left != answer.ExpiresIn {
		t.Errorf("expires_in %d of %d s", answer.ExpiresIn, left)
	}
	return token
}

var (
	jti = regexp.MustCompile(`^[0-9a-f-]{36}$`)
	sid = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)
)

// TestToken checks the claims of a token, by strategy, mode and algorithm.
func TestToken(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			t.Run(string(strategy)+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				w := arena.Start(t, func(c *authsvc.Config) {
					c.Compat, c.Session.Strategy = mode, strategy
					c.Tokens.Audiences = []authsvc.Audience{{ID: "all", Claims: []string{"name", "email", "picture"}},
						{ID: "bare", Alg: authsvc.SigningEdDSA, Typ: "at+jwt", TTL: time.Minute}, {ID: "old", Alg: authsvc.SigningRS256}}
				})
				b := w.Browser()
				before := time.Now().Add(-time.Second).Unix()
				b.SignIn(w.OP, "ada")
				all := openToken(t, w, b.Post("/api/auth/token", "audience", "all"))
				u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
				if err != nil {
					t.Fatal(err)
				}
				for name, want := range map[string]any{"iss": "https://app.test/api/auth", "sub": u.ID, "aud": "all", "idp": "op", "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": true} {
					if all.claims[name] != want {
						t.Errorf("%s is %v, want %v", name, all.claims[name], want)
					}
				}
				for name, form := range map[string]*regexp.Regexp{"jti": jti, "sid": sid} {
					if v, _ := all.claims[name].(string); !form.MatchString(v) {
						t.Errorf("%s is %q", name, v)
					}
				}
				for _, name := range []string{"iat", "auth_time"} {
					if at, _ := all.claims[name].(float64); int64(at) < before || int64(at) > time.Now().Unix() {
						t.Errorf("%s is %v", name, all.claims[name])
					}
				}
				if fmt.Sprintf("%v %v", all.claims["amr"], all.claims["acr"]) != "[fed] 1fa" {
					t.Errorf("amr is %v, acr %v", all.claims["amr"], all.claims["acr"])
				}
				bare := openToken(t, w, b.Post("/api/auth/token", "audience", "bare"))
				if bare.header.ExtraHeaders["typ"] != "at+jwt" || bare.header.Algorithm != "EdDSA" || bare.claims["email"] != nil || bare.claims["name"] != nil {
					t.Errorf("%+v: %v", bare.header, bare.claims)
				}
				if bare.claims["sid"] != all.claims["sid"] || bare.claims["jti"] == all.claims["jti"] {
					t.Error("two tokens of a session have the same jti or another sid")
				}
				if old := openToken(t, w, b.Post("/api/auth/token", "audience", "old")); old.header.Algorithm != "RS256" || old.header.ExtraHeaders["typ"] != "JWT" {
					t.Errorf("%+v", old.header)
				}
				other := w.Browser()
				other.SignIn(w.OP, "ada")
				if again := openToken(t, w, other.Post("/api/auth/token", "audience", "bare")); again.claims["sid"] == bare.claims["sid"] || again.claims["sub"] != u.ID {
					t.Error("two sessions have one sid")
				}
				value := b.Cookies[w.SessionCookie()]
				if strings.Contains(value, all.claims["sid"].(string)) || strings.Contains(w.Logs.String(), all.raw) {
					t.Error("the sid is part of the cookie, or a token is in the log")
				}
			})
		}
	}
}

// TestTokenEndsWithTheSession checks that no token outlives the session, and that POST
// token extends the session as GET session does.
func TestTokenEndsWithTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, func(c *authsvc.Config) {
			c.Session = authsvc.SessionOptions{MaxAge: 20 * time.Minute, UpdateAge: -1, AbsoluteMaxAge: 30 * time.Minute}
			c.Tokens.Audiences = []authsvc.Audience{{ID: "api", TTL: 15 * time.Minute}}
		})
		b := w.Browser()
		b.Login("ada")
		for _, c := range []struct {
			wait, good time.Duration // 0: no one is signed in any more
			extended   bool
		}{{0, 15 * time.Minute, false}, {10 * time.Minute, 15 * time.Minute, true}, {15 * time.Minute, 5 * time.Minute, false}, {4 * time.Minute, time.Minute, false}, {time.Minute, 0, false}} {
			time.Sleep(c.wait)
			a := b.Post("/api/auth/token")
			if c.good == 0 {
				if a.StatusCode != http.StatusUnauthorized {
					t.Errorf("after the session: %d %s", a.StatusCode, a.Text)
				}
				continue
			}
			token := openToken(t, w, a)
			if left := token.claims["exp"].(float64) - token.claims["iat"].(float64); left != c.good.Seconds() {
				t.Errorf("good for %v s, want %v", left, c.good)
			}
			if extended := strings.Contains(strings.Join(a.Header["Set-Cookie"], "\n"), w.SessionCookie()+"="); extended != c.extended {
				t.Errorf("extended: %v, want %v", extended, c.extended)
			}
		}
		b.Login("ada")
		b.Post("/api/auth/signout")
		if a := b.Post("/api/auth/token"); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("after sign-out: %d", a.StatusCode)
		}
	})
}

// TestTokenRefusals checks that each refusal has its word and contains no token.
func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{"email"}}}
		c.RateLimit.Token = authsvc.Rate{N: 8, Per: time.Hour}
		c.Adapter = arena.NewLedger(c.Adapter)
	})
	store := w.Store.(*arena.Ledger)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	csrf := b.CSRF()
	post := func(contentType, body string, header ...string) func() *browser.Answer {
		return func() *browser.Answer { return b.Raw("/api/auth/token", contentType, body, header...) }
	}
	const form, asJSON = "application/x-www-form-urlencoded", "application/json"
	for _, c := range []struct {
		name   string
		ask    func() *browser.Answer
		status int
		word   string // "" is success
	}{
		{"form", post(form, "csrfToken="+csrf), 200, ""},
		{"JSON", post(asJSON, `{"csrfToken":"`+csrf+`","audience":"api"}`), 200, ""},
		{"no CSRF token", post(form, "audience=api"), 400, "csrf"},
		{"CSRF token in the address", func() *browser.Answer { return b.Raw("/api/auth/token?csrfToken="+csrf, form, "audience=api") }, 400, "csrf"},
		{"CSRF token in a header", post(form, "audience=api", "X-CSRF-Token", csrf), 400, "csrf"},
		{"authorization alone", post(form, "audience=api", "Authorization", "Bearer "+csrf), 400, "csrf"},
		{"cross-site", post(form, "csrfToken="+csrf, "Sec-Fetch-Site", "cross-site"), 403, "cross_site"},
		{"other audience", post(form, "audience=API&csrfToken="+csrf), 400, "unknown_audience"},
		{"empty audience", post(form, "audience=&csrfToken="+csrf), 400, "unknown_audience"},
		{"audience of another type", post(asJSON, `{"csrfToken":"`+csrf+`","audience":["api"]}`), 400, "unknown_audience"},
		{"audience twice", post(form, "audience=api&audience=api&csrfToken="+csrf), 400, "malformed"},
		{"audience twice, JSON", post(asJSON, `{"csrfToken":"`+csrf+`","audience":1,"audience":"api"}`), 400, "malformed"},
		{"not UTF-8", post(form, "audience=%ff&csrfToken="+csrf), 400, "malformed"},
		{"another type", post("text/plain", "csrfToken="+csrf), 415, "malformed"},
		{"large", post(form, strings.Repeat("a", 65<<10)), 413, "malformed"},
		{"store away, session", func() *browser.Answer {
			store.BreakAt(func(_ int, method string) arena.Failure {
				if method == "GetSession" {
					return arena.FailBefore
				}
				return 0
			})
			return post(form, "csrfToken="+csrf)()
		}, 503, "unavailable"},
		{"store away, claims", func() *browser.Answer {
			store.BreakAt(func(_ int, method string) arena.Failure {
				if method == "GetUser" {
					return arena.FailBefore
				}
				return 0
			})
			return post(form, "csrfToken="+csrf)()
		}, 503, "unavailable"},
		{"store back", func() *browser.Answer { store.BreakAt(nil); return post(form, "csrfToken="+csrf)() }, 200, ""},
		{"the eighth", post(form, "csrfToken="+csrf), 200, ""},
		{"the ninth", post(form, "csrfToken="+csrf), 429, "rate_limited"},
	} {
		a := c.ask()
		var p struct{ Type, Request string }
		_ = json.Unmarshal([]byte(a.Text), &p)
		typ := a.Header.Get("Content-Type")
		switch {
		case a.StatusCode != c.status:
			t.Errorf("%s: %d %s", c.name, a.StatusCode, a.Text)
		case c.word == "":
			openToken(t, w, a)
		case p.Type != "urn:authsvc:problem:"+c.word || typ != "application/problem+json" || p.Request == "" || strings.Contains(a.Text, "access_token"):
			t.Errorf("%s: %s %s", c.name, typ, a.Text)
		}
	}
	other := w.Browser() // it has its own counts
	other.SignIn(w.OP, "ada")
	if a := other.Post("/api/auth/token"); a.StatusCode != 200 {
		t.Errorf("another session: %d %s", a.StatusCode, a.Text)
	}
	if a := w.Browser().Post("/api/auth/token"); a.StatusCode != 401 {
		t.Errorf("no session: %d %s", a.StatusCode, a.Text)
	}
}

// TestTokenTooLarge checks that a token is never larger than 4 KiB.
func TestTokenTooLarge(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{"name"}}, {ID: "small"}}
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			p.Claims["name"] = strings.Repeat("n", 4<<10)
			return p.Claims, nil
		}
	})
	b := w.Browser()
	b.Login("ada")
	if a := b.Post("/api/auth/token", "audience", "api"); a.StatusCode != 500 || !strings.Contains(a.Text, "about:blank") || !strings.Contains(w.Logs.String(), "at most 4096 are allowed") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if a := b.Post("/api/auth/token", "audience", "small"); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

// TestTokenUnproved checks that a token does not call an address verified if it is not,
// or if it is a former address of the user, whatever the new one is.
func TestTokenUnproved(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		w := arena.EnterOffline(t, func(c *authsvc.Config) {
			c.Session.Strategy = strategy
			c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{"email"}}}
		})
		b := w.Browser()
		b.Login("ada")
		if token := openToken(t, w, b.Post("/api/auth/token")); token.claims["email_verified"] != true {
			t.Errorf("%s, proved: %v", strategy, token.claims)
		}
		other, now := "other@app.test", time.Now()
		for _, change := range []struct {
			to   adapter.UserUpdate
			want string // of a database session, which has the new address; a token has the old one
		}{
			{adapter.UserUpdate{EmailVerified: &time.Time{}}, "ada@app.test false"},
			{adapter.UserUpdate{Email: &other}, "other@app.test false"},
			{adapter.UserUpdate{EmailVerified: &now}, "other@app.test true"},
		} {
			if _, err := w.Store.UpdateUser(t.Context(), "ada-id", change.to); err != nil {
				t.Fatal(err)
			}
			if strategy == "jwt" {
				change.want = "ada@app.test false"
			}
			token := openToken(t, w, b.Post("/api/auth/token"))
			if got := fmt.Sprint(token.claims["email"], " ", token.claims["email_verified"]); got != change.want {
				t.Errorf("%s, %+v: %s, want %s", strategy, change.to, got, change.want)
			}
		}
	}
}

// TestTokenForeignNames checks that a token can have claims under collision-resistant
// names, from the provider and from the Claims callback, with both strategies.
func TestTokenForeignNames(t *testing.T) {
	t.Parallel()
	const hasura = "https://hasura.io/jwt/claims"
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			w := arena.EnterInMemory(t, func(c *authsvc.Config) {
				c.Session = authsvc.SessionOptions{Strategy: strategy, Claims: map[string]string{hasura: `"` + hasura + `"`, "custom:plan": "plan", "example.com/tier": "none"},
					Expose: map[string]string{"hasura": "claims." + hasura, "added": "claims.urn:example:added"}}
				c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{hasura, "custom:plan", "example.com/tier", "urn:example:added"}}, {ID: "bare"}}
				c.Callbacks.Claims = func(_ context.Context, _ authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
					kept["urn:example:added"] = true
					return kept, nil
				}
			})
			w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) {
				c["plan"], c[hasura] = "gold", map[string]any{"x-hasura-allowed-roles": []string{"user", "editor"}, "iss": "forged"}
			}})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			claims := openToken(t, w, b.Post("/api/auth/token", "audience", "api")).claims
			if got := fmt.Sprintf("%v %v %v %v %v", claims[hasura], claims["custom:plan"], claims["urn:example:added"], claims["example.com/tier"], claims["iss"]); got != "map[iss:forged x-hasura-allowed-roles:[user editor]] gold true <nil> "+arena.Origin+"/api/auth" {
				t.Errorf("the token has %s", got)
			}
			if claims := openToken(t, w, b.Post("/api/auth/token", "audience", "bare")).claims; claims[hasura] != nil || claims["custom:plan"] != nil {
				t.Errorf("the token of another audience has %v", claims)
			}
			user, _ := b.Session()["user"].(map[string]any)
			if got := fmt.Sprint(user["hasura"], user["added"]); got != "map[iss:forged x-hasura-allowed-roles:[user editor]] true" {
				t.Errorf("GET session shows %s", got)
			}
		})
	}
}

// TestTokenRegisteredNames checks that an audience cannot ask for a claim that authsvc
// sets, even if the session keeps one of that name.
func TestTokenRegisteredNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"iss": "reserved", "sub": "reserved", "aud": "reserved", "exp": "reserved", "nbf": "reserved", "iat": "reserved", "jti": "reserved",
		"auth_time": "reserved", "amr": "reserved", "acr": "reserved", "second_at": "reserved", "act": "reserved", "Act": "reserved", "sid": "reserved", "idp": "reserved", "email_verified": "reserved",
		"Sub": "reserved", "ISS": "reserved", "Email_Verified": "reserved",
		"custom:iss": "", "https://app.example.com/sub": "", "plan": "", "subs": "",
	} {
		c := withoutStorage()
		c.Session.Claims = map[string]string{name: "x"}
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{name}}}
		list := authsvc.ConfigErrors(engine.Check(c))
		if want == "" && len(list) > 0 || want != "" && (len(list) != 1 || list[0].Field != "Tokens.Audiences[0].Claims[0]" || !strings.Contains(list[0].Problem, want)) {
			t.Errorf("%s: %v", name, list)
		}
	}
	c := withoutStorage()
	c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Claims: []string{"custom:plan"}}}
	if list := authsvc.ConfigErrors(engine.Check(c)); len(list) != 1 || list[0].Fix != "use email, name, picture, or keep a claim of that name with the session" {
		t.Errorf("a name without a source: %v", list)
	}
}

// withoutStorage returns a configuration with sessions in cookies.
func withoutStorage() authsvc.Config {
	return authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}}
}

// TestTokensMistakes checks that all mistakes are reported together.
func TestTokensMistakes(t *testing.T) {
	t.Parallel()
	c := withoutStorage()
	c.Tokens = authsvc.TokenOptions{Rotate: time.Hour, Audiences: []authsvc.Audience{
		{ID: "", Alg: "none", Typ: "jwt", TTL: time.Second, Claims: []string{"email", "sub", "groups", "email", "email_verified"}, Allow: []authsvc.Condition{{}, {Providers: []string{"none"}}}},
		{ID: "api", Alg: authsvc.SigningRS256, TTL: time.Hour}, {ID: "api"}, {ID: "a b"}, {ID: strings.Repeat("a", 256)},
	}}
	_, err := engine.New(c)
	var got []string
	for _, e := range authsvc.ConfigErrors(err) {
		got = append(got, e.Field)
	}
	want := "Tokens.Rotate Tokens.Audiences[0].ID Tokens.Audiences[0].Alg Tokens.Audiences[0].Typ Tokens.Audiences[0].TTL " +
		"Tokens.Audiences[0].Claims[1] Tokens.Audiences[0].Claims[2] Tokens.Audiences[0].Claims[3] Tokens.Audiences[0].Claims[4] " +
		"Tokens.Audiences[1].Alg Tokens.Audiences[1].TTL Tokens.Audiences[2].ID Tokens.Audiences[3].ID Tokens.Audiences[4].ID " +
		"Tokens.Audiences[0].Allow[0] Tokens.Audiences[0].Allow[1].Providers[0]"
	if strings.Join(got, " ") != want {
		t.Errorf("mistakes at %v\n%v", got, err)
	}
	short := withoutStorage()
	short.Compat, short.Secrets, short.DangerousShortSecret = authsvc.NextAuthV4, []string{"short-secret-of-16"}, true
	if err := engine.Check(short); err != nil {
		t.Fatal(err)
	}
	short.Tokens.Audiences = []authsvc.Audience{{ID: "api"}}
	if list := authsvc.ConfigErrors(engine.Check(short)); len(list) != 1 || list[0].Field != "Tokens.Audiences" {
		t.Errorf("keys of a short secret: %v", list)
	}
}

// TestNoTokens checks that the routes do not exist without audiences.
func TestNoTokens(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	for _, path := range []string{"jwks", "token", ".well-known/openid-configuration"} {
		if a := b.Get("/api/auth/" + path); a.StatusCode != 404 {
			t.Errorf("GET %s: %d", path, a.StatusCode)
		}
	}
	if a := b.Post("/api/auth/token"); a.StatusCode != 404 {
		t.Errorf("POST: %d", a.StatusCode)
	}
	if _, err := w.SigningKeys(t.Context()); !errors.Is(err, engine.ErrNoTokens) {
		t.Error(err)
	}
	if _, err := w.RotateKeys(t.Context(), true); !errors.Is(err, engine.ErrNoTokens) {
		t.Error(err)
	}
	if err := w.RetireKey(t.Context(), "x"); !errors.Is(err, engine.ErrNoTokens) {
		t.Error(err)
	}
	if _, err := w.Store.GetMeta(t.Context(), "signing-keys"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("keys were created without need: %v", err)
	}
}

// TestTokenIsNoSession checks that a token does not count as a session and vice versa,
// where a header could carry it.
func TestTokenIsNoSession(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, forTokens)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	token := openToken(t, w, b.Post("/api/auth/token")).raw
	thief := w.Browser()
	thief.Header.Set("Authorization", "Bearer "+token)
	if len(thief.Session()) != 0 {
		t.Error("the header is a session")
	}
	delete(thief.Header, "Authorization")
	thief.Cookies[w.SessionCookie()] = token
	if len(thief.Session()) != 0 {
		t.Error("the cookie is a session")
	}
	if parts := strings.Split(token, "."); len(parts) == 3 {
		if header, err := base64.RawURLEncoding.DecodeString(parts[0]); err != nil || !strings.Contains(string(header), `"typ":"JWT"`) {
			t.Errorf("header %s", header)
		}
	}
}

// TestTokenAfterRevocationElsewhere checks that a replica issues no token for a session
// that another one has ended, even if it has not read that yet.
func TestTokenAfterRevocationElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		tune := func(c *authsvc.Config) {
			passwords(c)
			c.Session.Strategy = authsvc.StrategyJWT
			c.Tokens.Audiences = []authsvc.Audience{{ID: "all"}}
		}
		first, second := replica(t, store, tune), replica(t, store, tune)
		b := first.Browser()
		b.Login("ada")
		b.H = second
		if a := b.Post("/api/auth/token", "audience", "all"); a.StatusCode != http.StatusOK {
			t.Fatalf("twin: %d %s", a.StatusCode, a.Text)
		}
		if err := first.EndSessions(t.Context(), "ada-id"); err != nil {
			t.Fatal(err)
		}
		if a := b.Post("/api/auth/token", "audience", "all"); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("right after the end of all sessions: %d %s", a.StatusCode, a.Text)
		}
		end(first, t)
		end(second, t)
	})
}
