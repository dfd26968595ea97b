package authsvc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// strategies runs a test with both session strategies and in every dialect.
func strategies(t *testing.T, tune func(*authsvc.Config), test func(t *testing.T, w *arena.World)) {
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				test(t, arena.Start(t, func(c *authsvc.Config) {
					c.Session.Strategy, c.Compat = authsvc.Strategy(strategy), mode
					if tune != nil {
						tune(c)
					}
				}))
			})
		}
	}
}

func TestOAuthSignIn(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		if got := b.Session(); len(got) != 0 {
			t.Fatalf("session before sign-in: %v", got)
		}
		a := b.SignIn(w.OP, "ada", "callbackUrl", "/welcome?a=b")
		if a.StatusCode != http.StatusFound || a.Location() != arena.Origin+"/welcome?a=b" {
			t.Fatalf("callback: %d %s\n%s", a.StatusCode, a.Location(), w.Logs)
		}
		if got := b.Email(); got != "ada@example.com" {
			t.Fatalf("signed in as %q", got)
		}
		u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil || u.EmailVerified.IsZero() {
			t.Errorf("stored user %+v, %v", u, err)
		}
		if a := b.Post("/api/auth/signout", "callbackUrl", "/bye"); a.Location() != arena.Origin+"/bye" {
			t.Errorf("signout: %d %s", a.StatusCode, a.Location())
		}
		if got := b.Session(); len(got) != 0 {
			t.Errorf("session after sign-out: %v", got)
		}
		b.SignIn(w.OP, "ada")
		again, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil || again.ID != u.ID {
			t.Errorf("second sign-in made %+v of %+v", again, u)
		}
	})
}

func TestSignOutIsFinal(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		stolen := w.Browser()
		for name, v := range b.Cookies {
			stolen.Cookies[name] = v
		}
		if stolen.Email() == "" {
			t.Fatal("the copy does not work before sign-out")
		}
		b.Post("/api/auth/signout")
		if got := stolen.Session(); len(got) != 0 {
			t.Errorf("a copied cookie lives on after sign-out: %v", got)
		}
	})
}

func TestEmailSignIn(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		a := b.SignInByMail(w, " Ada@App.Test ")
		if a.StatusCode != http.StatusFound || a.Location() != arena.Origin {
			t.Fatalf("link: %d %s %s\n%s", a.StatusCode, a.Location(), a.Text, w.Logs)
		}
		if got := b.Email(); got != "ada@app.test" {
			t.Fatalf("signed in as %q", got)
		}
		m := w.Mail.Sent()[0]
		if m.To != "ada@app.test" || strings.Count(m.HTML, "href=") != 1 {
			t.Errorf("mail to %q: %s", m.To, m.HTML)
		}
		other := w.Browser()
		if a := other.Get(arena.Link(t, m)); !strings.Contains(a.Text, "ada@app.test") || other.Email() != "" {
			t.Errorf("a used link in another browser: %d %s", a.StatusCode, a.Text)
		}
		if a := other.Post("/api/auth/callback/email", formOf(t, arena.Link(t, m))...); !strings.Contains(a.Location(), "error=Verification") {
			t.Errorf("a used link: %d %s", a.StatusCode, a.Location())
		}
	})
}

func TestEmailLinkInOtherBrowserAsks(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b, other := w.Browser(), w.Browser()
	b.Post("/api/auth/signin/email", "email", "ada@app.test", "callbackUrl", "/in")
	l := arena.Link(t, w.Mail.Next(t))
	if a := other.Get(l); a.StatusCode != 200 || other.Email() != "" {
		t.Fatalf("GET in another browser signed in: %d", a.StatusCode)
	}
	a := other.Post("/api/auth/callback/email", formOf(t, l)...)
	if a.Location() != arena.Origin+"/in" || other.Email() != "ada@app.test" {
		t.Errorf("POST after the page: %d %s", a.StatusCode, a.Location())
	}
}

func formOf(t *testing.T, link string) []string {
	t.Helper()
	q := arena.MustURL(t, link).Query()
	return []string{"token", q.Get("token"), "email", q.Get("email"), "callbackUrl", q.Get("callbackUrl")}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		if w.Config.Session.Strategy == "database" {
			u, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada", Email: "ada@app.test"})
			if err != nil || u.ID != "ada-id" {
				t.Fatalf("%+v, %v", u, err)
			}
		}
		a := b.Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong", "json", "true")
		if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.URL(t), "error=CredentialsSignin&provider=credentials") {
			t.Errorf("wrong password: %d %s", a.StatusCode, a.Text)
		}
		a = b.Post("/api/auth/callback/credentials", "username", "ada", "password", "right", "json", "true", "callbackUrl", "/in")
		if a.StatusCode != http.StatusOK || a.URL(t) != arena.Origin+"/in" {
			t.Errorf("right password: %d %s\n%s", a.StatusCode, a.Text, w.Logs)
		}
		if got := b.Email(); got != "ada@app.test" {
			t.Errorf("signed in as %q", got)
		}
	})
}

func TestLinking(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "someone@app.test")
	me := currentUser(t, w, b)
	if a := b.SignIn(w.OP, "ada", "link", "true"); a.Location() != arena.Origin {
		t.Fatalf("link: %s\n%s", a.Location(), w.Logs)
	}
	u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
	if err != nil || u.ID != me {
		t.Fatalf("the identity went to %+v, not to %s", u, me)
	}
	if b.Email() != "someone@app.test" {
		t.Errorf("now signed in as %q", b.Email())
	}
	// Without intent the same identity signs in its own user, and another
	// person's identity is never added.
	if a := b.SignIn(w.OP, "grace"); a.Location() != arena.Origin || b.Email() != "grace@example.com" {
		t.Errorf("plain sign-in while signed in: %s as %q", a.Location(), b.Email())
	}
	if a := b.SignIn(w.OP, "ada", "link", "true"); !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") {
		t.Errorf("linking another user's identity: %s", a.Location())
	}
}

func currentUser(t *testing.T, w *arena.World, b *arena.Browser) string {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, arena.Origin+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	s, err := w.Session(r)
	if err != nil || s == nil {
		t.Fatalf("session %v, %v", s, err)
	}
	return s.UserID
}

func TestSignInInTwoTabs(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		one, two := b.Begin("op", "callbackUrl", "/one"), b.Begin("op", "callbackUrl", "/two")
		if a := b.Get(b.Approve(w.OP, two, "ada")); a.Location() != arena.Origin+"/two" {
			t.Errorf("second tab: %s\n%s", a.Location(), w.Logs)
		}
		want := arena.Origin + "/one"
		if a := b.Get(b.Approve(w.OP, one, "ada")); a.Location() != want {
			t.Errorf("first tab, after the other signed in: %s\n%s", a.Location(), w.Logs)
		}
	})
}

func TestFirstProof(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
			attacker, owner := w.Browser(), w.Browser()
			attacker.SignIn(w.OP, "alan") // the provider did not verify alan's address
			if attacker.Email() != "alan@example.com" {
				t.Fatalf("alan is %q\n%s", attacker.Email(), w.Logs)
			}
			a := owner.SignInByMail(w, "alan@example.com")
			if a.StatusCode != 200 || !strings.Contains(a.Text, "Example") {
				t.Errorf("the next page does not name what was removed: %d %s", a.StatusCode, a.Text)
			}
			if owner.Email() != "alan@example.com" {
				t.Errorf("the owner is signed in as %q\n%s", owner.Email(), w.Logs)
			}
			if got := attacker.Session(); len(got) != 0 {
				t.Errorf("the attacker's session lives on: %v", got)
			}
			if a := w.Browser().SignIn(w.OP, "alan"); !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
				t.Errorf("the attacker's identity still signs in: %s", a.Location())
			}
		})
	}
}

func TestProvidersList(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		kind := "oauth"
		if w.Config.Compat == authsvc.AuthJSV5 {
			kind = "oidc"
		}
		a := w.Browser().Get("/api/auth/providers")
		want := `{"op":{"id":"op","name":"Example","type":"` + kind + `","signinUrl":"https://app.test/api/auth/signin/op","callbackUrl":"https://app.test/api/auth/callback/op"},` +
			`"email":{"id":"email","name":"Email","type":"email","signinUrl":"https://app.test/api/auth/signin/email","callbackUrl":"https://app.test/api/auth/callback/email"},` +
			`"credentials":{"id":"credentials","name":"Credentials","type":"credentials","signinUrl":"https://app.test/api/auth/signin/credentials","callbackUrl":"https://app.test/api/auth/callback/credentials"}}`
		if a.Text != want {
			t.Errorf("got %s", a.Text)
		}
		if len(a.Header["Set-Cookie"]) != 0 {
			t.Errorf("GET providers sets %v", a.Header["Set-Cookie"])
		}
	})
}
