package engine_test

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// TestSignUpRules checks that existing users come in by each way, whatever the rules
// are. Other people come in only if the rules allow it. The provider has verified the
// addresses of ada and grace, but not alan's.
func TestSignUpRules(t *testing.T) {
	t.Parallel()
	invited := authsvc.SignUpRules{Policy: authsvc.SignUpInvited}
	domain := authsvc.SignUpRules{Domains: []string{"example.com"}}
	for name, tt := range map[string]struct {
		rules   authsvc.SignUpRules
		users   string // the users before, as at the provider or by address
		in, out string
	}{
		"open":                  {authsvc.SignUpRules{Policy: authsvc.SignUpOpen}, "", "ada alan eve@other.test", ""},
		"invited":               {invited, "ada grace@other.test", "ada grace@other.test", "alan grace eve@other.test ada@other.test"},
		"a proved domain":       {domain, "", "ada grace new@example.com", "alan eve@other.test eve@sub.example.com eve@notexample.com"},
		"a domain and below":    {authsvc.SignUpRules{Domains: []string{".Example.com"}}, "", "ada eve@sub.example.com", "alan eve@notexample.com"},
		"users of other places": {authsvc.SignUpRules{Domains: []string{"other.test"}}, "ada alan eve@example.com", "ada alan eve@example.com new@other.test", "grace new@example.com"},
	} {
		for _, compat := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
				w := arena.EnterInMemory(t, func(c *authsvc.Config) { c.Compat, c.Session.Strategy = compat, strategy })
				at := name + ", " + string(compat) + ", " + string(strategy)
				for _, who := range strings.Fields(tt.users) {
					if strings.Contains(who, "@") {
						if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: who, Email: who}, nil); err != nil {
							t.Fatal(err)
						}
					} else if a := w.Browser().SignIn(w.OP, who); a.Location() != arena.Origin {
						t.Fatalf("%s: %s", at, a.Location())
					}
				}
				signUpBy(t, w, tt.rules)
				for _, who := range strings.Fields(tt.in) {
					if b := w.Browser(); !comesIn(w, b, who) {
						t.Errorf("%s: %s cannot sign in", at, who)
					}
				}
				before := w.Mail.Count()
				for _, who := range strings.Fields(tt.out) {
					b := w.Browser()
					if !strings.Contains(who, "@") {
						if a := b.SignIn(w.OP, who); !strings.Contains(a.Location(), "error=AccessDenied") || b.Session()["user"] != nil {
							t.Errorf("%s: %s can sign in: %s", at, who, a.Location())
						}
					} else if a := b.Post("/api/auth/signin/email", "email", who); !strings.Contains(a.Location(), "/verify-request") {
						t.Errorf("%s: the answer to %s reveals something: %s", at, who, a.Location())
					} else if _, err := w.Store.GetUserByEmail(t.Context(), who); err == nil {
						t.Errorf("%s: %s became a user", at, who)
					}
				}
				if err := w.Close(t.Context()); err != nil || w.Mail.Count() != before {
					t.Errorf("%s: %d mails to people who may not sign up: %v", at, w.Mail.Count()-before, err)
				}
			}
		}
	}
}

func comesIn(w *arena.World, b *arena.Browser, who string) bool {
	if strings.Contains(who, "@") {
		b.SignInByMail(w, who)
		return b.Email() == who
	}
	b.SignIn(w.OP, who)
	return b.Session()["user"] != nil
}

// signUpBy replaces the service by one with other rules.
func signUpBy(t *testing.T, w *arena.World, rules authsvc.SignUpRules) {
	t.Helper()
	w.Config.SignUp = rules
	next, err := w.Service.Reconfigure(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.Service = next
}

// TestSignUpAtRedemption checks that a link mailed earlier does not create a user whom
// the rules now forbid. The link of an existing user still works.
func TestSignUpAtRedemption(t *testing.T) {
	t.Parallel()
	w := arena.EnterInMemory(t, nil)
	if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "1", Email: "ada@example.com"}, nil); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{}
	browsers := map[string]*arena.Browser{}
	for _, who := range []string{"ada@example.com", "eve@other.test"} {
		browsers[who] = w.Browser()
		browsers[who].Post("/api/auth/signin/email", "email", who)
		links[who] = arena.Link(t, w.Mail.Next(t))
	}
	signUpBy(t, w, authsvc.SignUpRules{Policy: authsvc.SignUpInvited})
	eve, ada := browsers["eve@other.test"], browsers["ada@example.com"]
	if a := eve.Get(links["eve@other.test"]); !strings.Contains(a.Location(), "error=AccessDenied") || eve.Email() != "" {
		t.Errorf("%s, as %q", a.Location(), eve.Email())
	}
	if ada.Get(links["ada@example.com"]); ada.Email() != "ada@example.com" {
		t.Errorf("a user is %q", ada.Email())
	}
}

// TestSignUpByLinking checks that the rules do not apply to an identity that is added
// to a user, by the verified address or on request: it creates no user.
func TestSignUpByLinking(t *testing.T) {
	t.Parallel()
	w := arena.EnterInMemory(t, func(c *authsvc.Config) {
		c.SignUp.Policy = authsvc.SignUpInvited
		c.Providers[0].(*authsvc.OAuth).LinkVerifiedEmail = true
	})
	for _, u := range []authsvc.User{{ID: "1", Email: "ada@example.com", EmailVerified: time.Now()}, {ID: "2", Email: "grace@other.test", EmailVerified: time.Now()}} {
		if _, err := w.Store.CreateUser(t.Context(), u, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a := w.Browser().SignIn(w.OP, "ada"); a.Location() != arena.Origin {
		t.Errorf("by the address: %s", a.Location())
	}
	b := w.Browser()
	b.SignInByMail(w, "grace@other.test")
	if b.SignIn(w.OP, "grace", "link", "true"); b.Email() != "grace@other.test" {
		t.Errorf("by asking: %q", b.Email())
	}
	if a := w.Browser().SignIn(w.OP, "grace"); a.Location() != arena.Origin {
		t.Errorf("and then: %s", a.Location())
	}
	if a := w.Browser().SignIn(w.OP, "alan"); !strings.Contains(a.Location(), "error=AccessDenied") {
		t.Errorf("a stranger: %s", a.Location())
	}
}

// TestSignUpTellsNothing checks that the answer to a request for a link does not depend
// on whether the address is a user's. Callbacks are asked about both, but the
// CreateUser callback is not asked about a stranger.
func TestSignUpTellsNothing(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]authsvc.SignUpRules{"invited": {Policy: authsvc.SignUpInvited}, "domains": {Domains: []string{"example.org"}}} {
		var asked []string
		w := arena.EnterInMemory(t, func(c *authsvc.Config) {
			c.SignUp = rules
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				asked = append(asked, a.User.Email)
				return "", nil
			}
			c.Callbacks.CreateUser = func(_ context.Context, _ authsvc.SignInAttempt, u authsvc.User) (authsvc.User, error) {
				t.Errorf("%s: asked to create %s", name, u.Email)
				return u, nil
			}
		})
		if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "1", Email: "ada@example.com"}, nil); err != nil {
			t.Fatal(err)
		}
		var answers []string
		for _, who := range []string{"ada@example.com", "eve@example.com"} {
			b := w.Browser()
			a := b.Post("/api/auth/signin/email", "email", who)
			page := b.Get(a.Location())
			answers = append(answers, strings.ReplaceAll(shapeOf(a)+shapeOf(page), who, "WHO"))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s: a user gets\n%s\na stranger\n%s", name, answers[0], answers[1])
		}
		if want := []string{"ada@example.com", "eve@example.com"}; !slices.Equal(asked, want) {
			t.Errorf("%s: asked about %v", name, asked)
		}
		w.Browser().SignIn(w.OP, "grace")
		w.Config.ShowRefusal = true
		signUpBy(t, w, rules)
		if a := w.Browser().Post("/api/auth/signin/email", "email", "eve@example.com"); !strings.Contains(a.Location(), "error=AccessDenied") {
			t.Errorf("%s: show_refusal: %s", name, a.Location())
		}
	}
}

// shapeOf returns an answer without its random parts.
func shapeOf(a *browser.Answer) string {
	var b strings.Builder
	b.WriteString(a.Status + "\n")
	for _, key := range slices.Sorted(maps.Keys(a.Header)) {
		for _, v := range a.Header[key] {
			if key == "Set-Cookie" {
				c, err := http.ParseSetCookie(v)
				if err != nil {
					panic(err)
				}
				b.WriteString(c.Name + " " + strings.Repeat("x", len(c.Value)) + "\n")
			} else {
				b.WriteString(key + ": " + v + "\n")
			}
		}
	}
	b.WriteString(a.Text)
	return regexp.MustCompile(`[A-Za-z0-9_-]{16,}|Expires=[^;]*|data-seconds="\d+"`).ReplaceAllString(b.String(), "RANDOM")
}

// TestSignUpMistakes checks that rules that cannot work are refused, with their place.
func TestSignUpMistakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules  authsvc.SignUpRules
		store  bool
		fields string
	}{
		"an unknown policy":           {authsvc.SignUpRules{Policy: "closed"}, true, "SignUp.Policy"},
		"invited without storage":     {authsvc.SignUpRules{Policy: "invited"}, false, "SignUp.Policy"},
		"domains without storage":     {authsvc.SignUpRules{Domains: []string{"example.com"}}, false, "SignUp.Domains"},
		"a malformed domain":          {authsvc.SignUpRules{Domains: []string{"example.com", "*.example.com"}}, true, "SignUp.Domains[1]"},
		"domains with invitations":    {authsvc.SignUpRules{Policy: "invited", Domains: []string{"example.com"}}, true, "SignUp.Domains"},
		"invited":                     {authsvc.SignUpRules{Policy: "invited"}, true, ""},
		"domains":                     {authsvc.SignUpRules{Domains: []string{".example.com"}}, true, ""},
		"open without storage at all": {authsvc.SignUpRules{Policy: "open"}, false, ""},
	} {
		c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, SignUp: tt.rules,
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}}
		if tt.store {
			c.Adapter = arena.EnterInMemory(t, nil).Store
		}
		var fields []string
		for _, e := range authsvc.ConfigErrors(engine.Check(c)) {
			fields = append(fields, e.Field)
		}
		if strings.Join(fields, " ") != tt.fields {
			t.Errorf("%s: %v: %v", name, fields, engine.Check(c))
		}
	}
}
