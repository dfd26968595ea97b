package engine_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// bothStrategies runs a test with both kinds of session.
func bothStrategies(t *testing.T, run func(t *testing.T, strategy authsvc.Strategy)) {
	t.Helper()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			run(t, strategy)
		})
	}
}

// confirmAt starts a proof at "op" and returns where the browser is sent.
func confirmAt(t *testing.T, b *arena.Browser, fields ...string) *url.URL {
	t.Helper()
	a := b.Post("/api/auth/confirm", append([]string{"provider", "op", "callbackUrl", "/pay"}, fields...)...)
	if a.StatusCode != http.StatusFound {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	return arena.MustURL(t, a.Location())
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	bothStrategies(t, func(t *testing.T, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		before, token := b.Clone(), b.CSRF()
		to := confirmAt(t, b)
		if q := to.Query(); q.Get("prompt") != "login" || q.Get("max_age") != "0" {
			t.Errorf("the provider is not made to ask again: %s", to)
		}
		a := b.Get(b.Approve(w.OP, to.String(), "ada"))
		if a.Location() != arena.Origin+"/pay" || b.Email() != "ada@example.com" {
			t.Fatalf("%d %s", a.StatusCode, a.Location())
		}
		if b.CSRF() == token {
			t.Error("the CSRF token is the old one")
		}
		if before.Email() != "" {
			t.Error("the earlier session is still valid")
		}
	})
}

// TestConfirmAnotherUser checks that a proof by another user changes nothing.
func TestConfirmAnotherUser(t *testing.T) {
	t.Parallel()
	bothStrategies(t, func(t *testing.T, strategy authsvc.Strategy) {
		w := arena.Enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		w.Browser().SignIn(w.OP, "grace")
		for name, sub := range map[string]string{"a user": "grace", "no user yet": "katherine"} {
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			to, before := confirmAt(t, b), w.Ledger.Lasting()
			back := b.Approve(w.OP, to.String(), sub)
			session := b.Cookies[arena.SessionName]
			if a := b.Get(back); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/confirm?error=OAuthAccountNotLinked") {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
			} else if page := b.Get(a.Location()); !strings.Contains(page.Text, "That was a different account") {
				t.Errorf("%s: %s", name, page.Text)
			}
			if b.Email() != "ada@example.com" || b.Cookies[arena.SessionName] != session || w.Ledger.Lasting() != before {
				t.Errorf("%s: something changed: %s", name, w.Ledger.Lasting())
			}
		}
	})
}

// TestConfirmSessionChanged checks that an attempt which began for one user serves
// neither the next user in that browser nor a browser without a session.
func TestConfirmSessionChanged(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	back := b.Approve(w.OP, confirmAt(t, b).String(), "ada")
	b.Post("/api/auth/signout")
	if a := b.Get(back); !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") || b.Email() != "" {
		t.Errorf("signed out meanwhile: %s", a.Location())
	}
	b.SignIn(w.OP, "ada")
	back = b.Approve(w.OP, confirmAt(t, b).String(), "ada")
	b.SignIn(w.OP, "grace")
	if a := b.Get(back); !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") || b.Email() != "grace@example.com" {
		t.Errorf("another user meanwhile: %s, %s", a.Location(), b.Email())
	}
}

// TestConfirmIsChecked checks that a provider confirms nothing if it did not ask the
// person again when told to.
func TestConfirmIsChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string]any){
		"no auth_time":  func(c map[string]any) { delete(c, "auth_time") },
		"old auth_time": func(c map[string]any) { c["auth_time"] = time.Now().Add(-10 * time.Minute).Unix() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, nil)
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			w.OP.SetFault(idp.Fault{IDToken: change})
			session := b.Cookies[arena.SessionName]
			a := b.Get(b.Approve(w.OP, confirmAt(t, b).String(), "ada"))
			if !strings.Contains(a.Location(), "/confirm?error=OAuthCallback") || b.Cookies[arena.SessionName] != session {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		})
	}
}

// TestConfirmWays checks that the page offers the person's own ways. It offers a
// provider that cannot be made to ask again only to people who have nothing else.
func TestConfirmWays(t *testing.T) {
	t.Parallel()
	weak := func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).NoAuthTime = true }
	mail, op, password, none := "Email me a link", "Continue with Example", "Password", "You cannot confirm your identity here"
	for name, c := range map[string]struct {
		tune   func(*authsvc.Config)
		signIn func(w *arena.World, b *arena.Browser)
		want   []string
		not    []string
	}{
		"by a provider": {nil, func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "grace") }, []string{op}, []string{mail, password, none}},
		"by a link":     {nil, func(w *arena.World, b *arena.Browser) { b.SignInByMail(w, "mail@app.test") }, []string{mail}, []string{op, password, none}},
		"by a password": {nil, func(_ *arena.World, b *arena.Browser) { b.Login("ada") }, []string{password}, []string{op, mail, none}},
		"weak alone":    {weak, func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "grace") }, []string{op}, []string{mail, none}},
		"weak beside a link": {weak, func(w *arena.World, b *arena.Browser) {
			b.SignInByMail(w, "mail@app.test")
			b.SignIn(w.OP, "grace", "link", "true")
		}, []string{mail}, []string{op, none}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(conf *authsvc.Config) {
				if c.tune != nil {
					c.tune(conf)
				}
			})
			if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada"}, nil); err != nil {
				t.Fatal(err)
			}
			w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["email_verified"] = false }})
			b := w.Browser()
			c.signIn(w, b)
			page := b.Get("/api/auth/confirm?callbackUrl=/pay").Text
			for _, text := range c.want {
				if !strings.Contains(page, text) {
					t.Errorf("no %q: %s", text, page)
				}
			}
			for _, text := range c.not {
				if strings.Contains(page, text) {
					t.Errorf("%q: %s", text, page)
				}
			}
		})
	}
}

// TestConfirmForeignWay checks that people cannot start a way that is not theirs.
func TestConfirmForeignWay(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "mail@app.test")
	for _, provider := range []string{"op", "credentials", "unknown", ""} {
		if a := b.Post("/api/auth/confirm", "provider", provider, "json", "true"); a.StatusCode != http.StatusNotFound || !strings.Contains(a.Text, `"error":"NotFound"`) {
			t.Errorf("%s: %d %s", provider, a.StatusCode, a.Text)
		}
	}
	if a := b.Post("/api/auth/confirm", "provider", "email", "email", "eve@app.test", "callbackUrl", "/pay"); !strings.Contains(a.Location(), "/verify-request") {
		t.Fatalf("%d %s", a.StatusCode, a.Location())
	}
	m := w.Mail.Next(t)
	if m.To != "mail@app.test" {
		t.Errorf("the link goes to %s", m.To)
	}
	before := b.Cookies[arena.SessionName]
	if a := b.Get(arena.Link(t, m)); a.Location() != arena.Origin+"/pay" || b.Cookies[arena.SessionName] == before {
		t.Errorf("%d %s", a.StatusCode, a.Location())
	}
}

// TestConfirmCredentials checks that a wrong password leads back to the page, and that
// another user's correct password does too.
func TestConfirmCredentials(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Providers = append(c.Providers[:2:2], &authsvc.Credentials{Authorize: arena.Authorize})
	})
	for _, id := range []string{"ada-id", "bob-id"} {
		if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: id, Name: id}, nil); err != nil {
			t.Fatal(err)
		}
	}
	b := w.Browser()
	b.Login("ada")
	const path = "/api/auth/callback/credentials"
	if a := b.Post(path, "username", "ada", "password", "wrong", "confirm", "true"); !strings.Contains(a.Location(), "/confirm?error=CredentialsSignin") {
		t.Errorf("wrong: %s", a.Location())
	}
	before := b.Cookies[arena.SessionName]
	if a := b.Post(path, "username", "bob", "password", "right", "confirm", "true"); !strings.Contains(a.Location(), "/confirm?error=OAuthAccountNotLinked") || b.Cookies[arena.SessionName] != before {
		t.Errorf("another user: %s", a.Location())
	}
	if a := b.Post(path, "username", "ada", "password", "right", "confirm", "true", "callbackUrl", "/pay"); a.Location() != arena.Origin+"/pay" || b.Cookies[arena.SessionName] == before {
		t.Errorf("right: %s", a.Location())
	}
	if a := w.Browser().Post(path, "username", "ada", "password", "right", "confirm", "true"); !strings.Contains(a.Location(), "error=SessionRequired") {
		t.Errorf("no session: %s", a.Location())
	}
}

// TestConfirmPage checks that the page does not lead in a circle, and that it sends
// people who are not signed in to the sign-in page.
func TestConfirmPage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	if a := b.Get("/api/auth/confirm?callbackUrl=/pay"); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/signin?callbackUrl=") {
		t.Errorf("no session: %d %s", a.StatusCode, a.Location())
	}
	if a := b.Post("/api/auth/confirm", "provider", "op", "json", "true"); a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.Text, "SessionRequired") {
		t.Errorf("no session, a POST: %d %s", a.StatusCode, a.Text)
	}
	b.SignIn(w.OP, "ada")
	if page := b.Get("/api/auth/confirm?callbackUrl=/api/auth/confirm").Text; !strings.Contains(page, `name="callbackUrl" value="`+arena.Origin+`/api/auth/account"`) {
		t.Errorf("the page leads back to itself: %s", page)
	}
	if a := b.Post("/api/auth/confirm", "provider", "op", "csrfToken", "wrong", "json", "true"); a.StatusCode != http.StatusForbidden {
		t.Errorf("no token: %d %s", a.StatusCode, a.Text)
	}
}

// TestLinkNeedsFreshProof checks that asking for a link needs a fresh proof, except in
// modes that link unasked as NextAuth.js does.
func TestLinkNeedsFreshProof(t *testing.T) {
	t.Parallel()
	for mode, free := range map[authsvc.Compat]bool{authsvc.CompatNone: false, authsvc.NextAuthV4: true, authsvc.AuthJSV5: true} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) { c.Compat = mode })
			b := w.Browser()
			b.SignInByMail(w, "mail@app.test")
			page := b.Get("/api/auth/signin").Text
			u, err := w.Store.GetUserByEmail(context.Background(), "mail@app.test")
			if err != nil {
				t.Fatal(err)
			}
			makeOld(t, w, u.ID)
			to := b.Post("/api/auth/signin/op", "link", "true", "callbackUrl", "/x").Location()
			want := arena.Origin + "/api/auth/confirm?callbackUrl=" + url.QueryEscape(arena.Origin+"/api/auth/signin?callbackUrl="+url.QueryEscape(arena.Origin+"/x"))
			if free == (to == want) || free != strings.HasPrefix(to, w.OP.Issuer()) {
				t.Errorf("asked an hour later: %s", to)
			}
			if a := b.Post("/api/auth/signin/op", "link", "true", "json", "true"); a.StatusCode != http.StatusOK || free == strings.Contains(a.Text, "/confirm?") {
				t.Errorf("asked by a script: %d %s", a.StatusCode, a.Text)
			}
			_, fields := formTo(t, page, "signin/op")
			if to := b.Post("/api/auth/signin/op", "link", "true", "fresh", fields.Get("fresh")).Location(); !strings.HasPrefix(to, w.OP.Issuer()) {
				t.Errorf("twin: a page that was opened in time: %s", to)
			}
		})
	}
}
