package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestAttempt checks that callbacks receive the client, the time, and whether the email
// address is proved, whichever way it was. The provider has not verified alan's address.
func TestAttempt(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		proved, asked := map[string]bool{}, 0
		var at authsvc.SignInAttempt
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Session.Strategy = strategy
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				proved[a.User.Email], at = a.EmailProved, a
				return "", nil
			}
			c.Callbacks.Claims = func(_ context.Context, a authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
				if a.EmailProved != proved[a.User.Email] {
					t.Errorf("the callbacks hear different things about %s", a.User.Email)
				}
				asked++
				return kept, nil
			}
		})
		b := w.Browser()
		b.Post("/api/auth/signin/email", "email", "mail@app.test")
		w.Mail.Next(t) // its link is not followed
		if !proved["mail@app.test"] || !at.VerificationRequest {
			t.Errorf("%s: a link proves nothing: %+v", strategy, at)
		}
		if at.Client.IP != netip.MustParseAddr("203.0.113.7") || at.Time.IsZero() {
			t.Errorf("%s: from %v at %v", strategy, at.Client, at.Time)
		}
		for _, who := range []string{"ada", "alan", "ada", "alan"} {
			w.Browser().SignIn(w.OP, who)
		}
		w.Browser().SignInByMail(w, "mail@app.test")
		if !proved["ada@example.com"] || proved["alan@example.com"] || !proved["mail@app.test"] || asked != 5 {
			t.Errorf("%s: %v, %d sign-ins", strategy, proved, asked)
		}
	}
}

// TestRefusal checks that the audit event contains the reason that a callback gives.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err           error
		event, reason string
	}{
		"any error":         {errors.New("no"), "sign_in.refused", "by the signIn callback"},
		"a refusal":         {&authsvc.Refusal{Reason: "by the rule of sign-in"}, "sign_in.refused", "by the rule of sign-in"},
		"a failure":         {&authsvc.Refusal{Reason: "a rule failed", Failed: true, Err: errors.New("cause")}, "sign_in.failed", "a rule failed"},
		"a wrapped refusal": {errors.Join(errors.New("x"), &authsvc.Refusal{Reason: "by a hook"}), "sign_in.refused", "by a hook"},
		"nothing at all":    {nil, "sign_in.succeeded", "the user was created"},
	} {
		for _, callback := range []string{"signIn", "claims", "createUser"} {
			var events []authsvc.AuditEvent
			w := arena.Start(t, func(c *authsvc.Config) {
				c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { events = append(events, e) }
				switch callback {
				case "signIn":
					c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "", tt.err }
				case "claims":
					c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
						return nil, tt.err
					}
				default:
					c.Callbacks.CreateUser = func(_ context.Context, _ authsvc.SignInAttempt, u authsvc.User) (authsvc.User, error) {
						return u, tt.err
					}
				}
			})
			b := w.Browser()
			a := b.SignIn(w.OP, "ada")
			last := events[len(events)-1]
			reason := strings.Replace(tt.reason, "signIn", callback, 1)
			if last.Name != tt.event || last.Reason != reason || strings.Contains(a.Location(), "error=AccessDenied") != (tt.err != nil) || (b.Email() == "") != (tt.err != nil) {
				t.Errorf("%s of %s: %+v, %s", name, callback, last, a.Location())
			}
			if _, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); (err == nil) != (tt.err == nil) {
				t.Errorf("%s of %s: stored: %v", name, callback, err)
			}
		}
	}
}

// TestCreateUserCallback checks that CreateUser is called for new users only, and that
// it can change only the name and the image.
func TestCreateUserCallback(t *testing.T) {
	t.Parallel()
	var asked []string
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Callbacks.CreateUser = func(_ context.Context, a authsvc.SignInAttempt, u authsvc.User) (authsvc.User, error) {
			asked = append(asked, u.Email)
			if u.Email == "panic@app.test" {
				panic("oops")
			}
			return authsvc.User{ID: "forged", Email: "forged@app.test", Name: "Countess", Image: "https://app.test/c.png", Epoch: 7}, nil
		}
	})
	for range 2 {
		w.Browser().SignIn(w.OP, "ada")
	}
	u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
	if err != nil || u.Name != "Countess" || u.Image != "https://app.test/c.png" || u.Email != "ada@example.com" || u.ID == "forged" || u.EmailVerified.IsZero() {
		t.Errorf("%+v, %v", u, err)
	}
	b := w.Browser()
	if b.SignInByMail(w, "panic@app.test"); b.Email() != "" {
		t.Error("a panic lets the user in")
	}
	if got := strings.Join(asked, " "); got != "ada@example.com panic@app.test" {
		t.Errorf("asked about %s", got)
	}
}

// TestAllowRedirect checks that AllowRedirect can allow https URLs besides the listed
// ones, and that it gets the URL as it would be sent.
func TestAllowRedirect(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.AllowedRedirects = []string{"https://listed.test"}
		c.Callbacks.AllowRedirect = func(_ context.Context, to *url.URL) bool {
			switch to.Hostname() {
			case "listed.test", "app.test":
				t.Errorf("asked about %s, which is allowed", to)
			case "panic.test":
				panic("oops")
			}
			return strings.HasSuffix(to.Hostname(), ".preview.test")
		}
	})
	for want, to := range map[string]string{
		"https://a.preview.test/x?y=1":            "https://a.preview.test/x?y=1",
		"HTTPS://A.Preview.Test":                  "https://a.preview.test",
		"https://listed.test/x":                   "https://listed.test/x",
		"/x":                                      arena.Origin + "/x",
		"http://a.preview.test/x":                 arena.Origin,
		"https://preview.test":                    arena.Origin,
		"https://panic.test":                      arena.Origin,
		"https://user@a.preview.test":             arena.Origin,
		`https://evil.test\.preview.test`:         arena.Origin,
		"https://evil.test#.preview.test":         arena.Origin,
		"//a.preview.test/x":                      arena.Origin,
		"javascript:alert(1)//https://a.preview.": arena.Origin,
	} {
		if got := w.Browser().SignIn(w.OP, "ada", "callbackUrl", want).Location(); got != to {
			t.Errorf("%s leads to %s, want %s", want, got, to)
		}
	}
}

// TestAudienceConditions checks that a user with a session gets a token only if one of
// the audience's conditions holds and its rule allows it.
func TestAudienceConditions(t *testing.T) {
	t.Parallel()
	when := func(ok bool, err error) func(context.Context, authsvc.AccessRequest) (bool, error) {
		return func(_ context.Context, r authsvc.AccessRequest) (bool, error) {
			if r.Session.UserID == "" || r.Method != http.MethodPost || r.Host != "app.test" || r.Path != "/api/auth/token" || r.Time.IsZero() || !r.Client.IP.IsValid() {
				t.Errorf("asked about %+v", r)
			}
			return ok, err
		}
	}
	domain := []authsvc.Condition{{Domains: []string{"example.com"}}}
	for name, tt := range map[string]struct {
		audience authsvc.Audience
		who      string
		reason   string // for the refusal; empty: allowed
	}{
		"everyone":               {authsvc.Audience{}, "alan", ""},
		"a domain":               {authsvc.Audience{Allow: domain}, "ada", ""},
		"an unproved address":    {authsvc.Audience{Allow: domain}, "alan", "by the conditions of the audience"},
		"one of two":             {authsvc.Audience{Allow: append([]authsvc.Condition{{Users: []string{"x"}}}, domain...)}, "ada", ""},
		"a claim":                {authsvc.Audience{Allow: []authsvc.Condition{{Claims: map[string][]string{"who": {"ada"}}}}}, "ada", ""},
		"another claim":          {authsvc.Audience{Allow: []authsvc.Condition{{Claims: map[string][]string{"who": {"ada"}}}}}, "grace", "by the conditions of the audience"},
		"a provider":             {authsvc.Audience{Allow: []authsvc.Condition{{Providers: []string{"op"}}}}, "ada", ""},
		"another provider":       {authsvc.Audience{Allow: []authsvc.Condition{{Providers: []string{"email"}}}}, "ada", "by the conditions of the audience"},
		"a rule":                 {authsvc.Audience{When: when(true, nil)}, "alan", ""},
		"a rule that refuses":    {authsvc.Audience{When: when(false, nil)}, "ada", "by the rule of the audience"},
		"a rule that fails":      {authsvc.Audience{When: when(true, errors.New("x"))}, "ada", "the rule of the audience failed"},
		"a rule that panics":     {authsvc.Audience{When: func(context.Context, authsvc.AccessRequest) (bool, error) { panic("x") }}, "ada", "the rule of the audience failed"},
		"a condition and a rule": {authsvc.Audience{Allow: domain, When: when(false, nil)}, "ada", "by the rule of the audience"},
	} {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			var last authsvc.AuditEvent
			w := arena.Start(t, func(c *authsvc.Config) {
				c.Session.Strategy, c.Session.Claims = strategy, map[string]string{"who": "sub"}
				tt.audience.ID = "api"
				c.Tokens.Audiences = []authsvc.Audience{tt.audience}
				c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { last = e }
			})
			b := w.Browser()
			b.SignIn(w.OP, tt.who)
			a := b.Post("/api/auth/token")
			switch {
			case tt.reason == "" && a.StatusCode != 200:
				t.Errorf("%s, %s: %d %s", name, strategy, a.StatusCode, a.Text)
			case tt.reason != "" && (a.StatusCode != 403 || !strings.Contains(a.Text, "forbidden") ||
				last.Name != "token.denied" || last.Reason != tt.reason || last.UserID == ""):
				t.Errorf("%s, %s: %d %s, %+v", name, strategy, a.StatusCode, a.Text, last)
			}
		}
	}
}

// TestDryRun checks that dry runs return the decisions that real requests would get.
func TestDryRun(t *testing.T) {
	t.Parallel()
	c := withoutStorage()
	c.Session.Claims = map[string]string{"groups": "groups"}
	c.SignIn.Allow = []authsvc.Condition{{Domains: []string{"example.com"}}, {Groups: []string{"ops"}}}
	c.Tokens.Audiences = []authsvc.Audience{{ID: "api", Allow: []authsvc.Condition{{Groups: []string{"ops"}}}}}
	c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
		return map[string]string{"terms": "/terms"}[a.User.Name], map[string]error{"no": &authsvc.Refusal{Reason: "by the rule"}}[a.User.Name]
	}
	c.Callbacks.Claims = func(_ context.Context, a authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
		if a.User.Name == "much" {
			return authsvc.Claims{"x": strings.Repeat("x", 5000)}, nil
		}
		return kept, nil
	}
	c.Callbacks.CreateUser = func(_ context.Context, _ authsvc.SignInAttempt, u authsvc.User) (authsvc.User, error) {
		u.Name += "!"
		return u, nil
	}
	s, err := engine.NewOperator(c)
	if err != nil {
		t.Fatal(err)
	}
	ada := authsvc.SignInAttempt{User: authsvc.User{Email: "ada@example.com"}, EmailProved: true, Time: time.Now()}
	for name, tt := range map[string]struct {
		change func(*authsvc.SignInAttempt)
		want   engine.SignInVerdict
	}{
		"allowed":              {func(*authsvc.SignInAttempt) {}, engine.SignInVerdict{Allowed: true}},
		"unproved":             {func(a *authsvc.SignInAttempt) { a.EmailProved = false }, engine.SignInVerdict{Reason: "by the sign-in conditions"}},
		"by its profile":       {func(a *authsvc.SignInAttempt) { a.EmailProved, a.Profile = false, authsvc.Profile{"groups": "ops"} }, engine.SignInVerdict{Allowed: true}},
		"refused":              {func(a *authsvc.SignInAttempt) { a.User.Name = "no" }, engine.SignInVerdict{Reason: "by the rule"}},
		"redirected elsewhere": {func(a *authsvc.SignInAttempt) { a.User.Name = "terms" }, engine.SignInVerdict{Reason: "the signIn callback redirected", Redirect: arena.Origin + "/terms"}},
		"much":                 {func(a *authsvc.SignInAttempt) { a.User.Name = "much" }, engine.SignInVerdict{Reason: "by the claims callback"}},
		"a link":               {func(a *authsvc.SignInAttempt) { a.VerificationRequest = true }, engine.SignInVerdict{Allowed: true}},
	} {
		a := ada
		tt.change(&a)
		if v := s.DryRunSignIn(t.Context(), a); v.Allowed != tt.want.Allowed || v.Reason != tt.want.Reason || v.Redirect != tt.want.Redirect || v.Allowed == (v.Err != nil) && v.Redirect == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	a := ada
	a.IsNewUser = true
	if v := s.DryRunSignIn(t.Context(), a); v.User.Name != "!" {
		t.Errorf("a new user: %+v", v)
	}
	if to, ok := s.DryRunRedirect(t.Context(), "https://evil.test"); ok {
		t.Error(to)
	}
	if to, ok := s.DryRunRedirect(t.Context(), "/x"); !ok || to != arena.Origin+"/x" {
		t.Error(to)
	}
	for groups, want := range map[string]string{"ops": "", "dev": "by the conditions of the audience"} {
		if reason, err := s.DryRunToken(t.Context(), "api", authsvc.AccessRequest{Session: &authsvc.Session{UserID: "1"}}, authsvc.Claims{"groups": groups}); reason != want || err != nil {
			t.Errorf("%s: %q, %v", groups, reason, err)
		}
	}
	if _, err := s.DryRunToken(t.Context(), "none", authsvc.AccessRequest{Session: &authsvc.Session{}}, nil); err == nil {
		t.Error("an unknown audience was accepted")
	}
}

// TestAuthorizeRefusal checks that the audit event contains the reason that Authorize
// gives. If Authorize could not decide, the event is a failure.
func TestAuthorizeRefusal(t *testing.T) {
	t.Parallel()
	for event, tt := range map[string]struct {
		err    error
		reason string
	}{
		"credentials.refused": {&authsvc.Refusal{Reason: "by a hook"}, "by a hook"},
		"sign_in.failed":      {&authsvc.Refusal{Reason: "a hook failed", Failed: true}, "a hook failed"},
	} {
		var last authsvc.AuditEvent
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Session.Strategy = authsvc.StrategyJWT
			c.Providers = append(c.Providers, &authsvc.Credentials{ID: "own", Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
				return authsvc.User{ID: "1"}, tt.err
			}})
			c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { last = e }
		})
		b := w.Browser()
		a := b.Post("/api/auth/callback/own", "username", "ada", "password", "x")
		if last.Name != event || last.Reason != tt.reason || b.Session()["user"] != nil || !strings.Contains(a.Location(), "CredentialsSignin") {
			t.Errorf("%s: %+v, %s", event, last, a.Location())
		}
	}
}
