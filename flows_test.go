package authsvc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"authsvc"
)

// strategies runs a test with both session strategies and in every dialect.
func strategies(t *testing.T, tune func(*authsvc.Config), test func(t *testing.T, w *world)) {
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				test(t, start(t, func(c *authsvc.Config) {
					c.Session.Strategy, c.Compat = strategy, mode
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
	strategies(t, nil, func(t *testing.T, w *world) {
		b := w.browser()
		if got := b.session(); len(got) != 0 {
			t.Fatalf("session before sign-in: %v", got)
		}
		a := b.signIn(w.op, "ada", "callbackUrl", "/welcome?a=b")
		if a.StatusCode != http.StatusFound || a.location() != origin+"/welcome?a=b" {
			t.Fatalf("callback: %d %s\n%s", a.StatusCode, a.location(), w.logs)
		}
		if got := b.email(); got != "ada@example.com" {
			t.Fatalf("signed in as %q", got)
		}
		u, err := w.store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil || u.EmailVerified.IsZero() {
			t.Errorf("stored user %+v, %v", u, err)
		}
		if a := b.post("/api/auth/signout", "callbackUrl", "/bye"); a.location() != origin+"/bye" {
			t.Errorf("signout: %d %s", a.StatusCode, a.location())
		}
		if got := b.session(); len(got) != 0 {
			t.Errorf("session after sign-out: %v", got)
		}
		b.signIn(w.op, "ada")
		again, err := w.store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil || again.ID != u.ID {
			t.Errorf("second sign-in made %+v of %+v", again, u)
		}
	})
}

func TestSignOutIsFinal(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		b := w.browser()
		b.signIn(w.op, "ada")
		stolen := w.browser()
		for name, v := range b.cookies {
			stolen.cookies[name] = v
		}
		if stolen.email() == "" {
			t.Fatal("the copy does not work before sign-out")
		}
		b.post("/api/auth/signout")
		if got := stolen.session(); len(got) != 0 {
			t.Errorf("a copied cookie lives on after sign-out: %v", got)
		}
	})
}

func TestEmailSignIn(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		b := w.browser()
		a := b.signInByMail(w, " Ada@App.Test ")
		if a.StatusCode != http.StatusFound || a.location() != origin {
			t.Fatalf("link: %d %s %s\n%s", a.StatusCode, a.location(), a.body, w.logs)
		}
		if got := b.email(); got != "ada@app.test" {
			t.Fatalf("signed in as %q", got)
		}
		m := w.mail.sent[0]
		if m.To != "ada@app.test" || strings.Count(m.HTML, "href=") != 1 {
			t.Errorf("mail to %q: %s", m.To, m.HTML)
		}
		other := w.browser()
		if a := other.get(link(t, m)); !strings.Contains(a.body, "ada@app.test") || other.email() != "" {
			t.Errorf("a used link in another browser: %d %s", a.StatusCode, a.body)
		}
		if a := other.post("/api/auth/callback/email", formOf(t, link(t, m))...); !strings.Contains(a.location(), "error=Verification") {
			t.Errorf("a used link: %d %s", a.StatusCode, a.location())
		}
	})
}

func TestEmailLinkInOtherBrowserAsks(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	b, other := w.browser(), w.browser()
	b.post("/api/auth/signin/email", "email", "ada@app.test", "callbackUrl", "/in")
	l := link(t, w.mail.next(t))
	if a := other.get(l); a.StatusCode != 200 || other.email() != "" {
		t.Fatalf("GET in another browser signed in: %d", a.StatusCode)
	}
	a := other.post("/api/auth/callback/email", formOf(t, l)...)
	if a.location() != origin+"/in" || other.email() != "ada@app.test" {
		t.Errorf("POST after the page: %d %s", a.StatusCode, a.location())
	}
}

func formOf(t *testing.T, link string) []string {
	t.Helper()
	q := mustURL(t, link).Query()
	return []string{"token", q.Get("token"), "email", q.Get("email"), "callbackUrl", q.Get("callbackUrl")}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		b := w.browser()
		if w.config.Session.Strategy == "database" {
			u, err := w.store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada", Email: "ada@app.test"})
			if err != nil || u.ID != "ada-id" {
				t.Fatalf("%+v, %v", u, err)
			}
		}
		a := b.post("/api/auth/callback/credentials", "username", "ada", "password", "wrong", "json", "true")
		if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.url(t), "error=CredentialsSignin&provider=credentials") {
			t.Errorf("wrong password: %d %s", a.StatusCode, a.body)
		}
		a = b.post("/api/auth/callback/credentials", "username", "ada", "password", "right", "json", "true", "callbackUrl", "/in")
		if a.StatusCode != http.StatusOK || a.url(t) != origin+"/in" {
			t.Errorf("right password: %d %s\n%s", a.StatusCode, a.body, w.logs)
		}
		if got := b.email(); got != "ada@app.test" {
			t.Errorf("signed in as %q", got)
		}
	})
}

func TestLinking(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	b := w.browser()
	b.signInByMail(w, "someone@app.test")
	me := currentUser(t, w, b)
	if a := b.signIn(w.op, "ada", "link", "true"); a.location() != origin {
		t.Fatalf("link: %s\n%s", a.location(), w.logs)
	}
	u, err := w.store.GetUserByAccount(t.Context(), "op", "ada")
	if err != nil || u.ID != me {
		t.Fatalf("the identity went to %+v, not to %s", u, me)
	}
	if b.email() != "someone@app.test" {
		t.Errorf("now signed in as %q", b.email())
	}
	// Without intent the same identity signs in its own user, and another
	// person's identity is never added.
	if a := b.signIn(w.op, "grace"); a.location() != origin || b.email() != "grace@example.com" {
		t.Errorf("plain sign-in while signed in: %s as %q", a.location(), b.email())
	}
	if a := b.signIn(w.op, "ada", "link", "true"); !strings.Contains(a.location(), "error=OAuthAccountNotLinked") {
		t.Errorf("linking another user's identity: %s", a.location())
	}
}

func currentUser(t *testing.T, w *world, b *browser) string {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, origin+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	s, err := w.Session(r)
	if err != nil || s == nil {
		t.Fatalf("session %v, %v", s, err)
	}
	return s.UserID
}

func TestTwoTabs(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		b := w.browser()
		one, two := b.begin("op", "callbackUrl", "/one"), b.begin("op", "callbackUrl", "/two")
		if a := b.get(b.approve(w.op, two, "ada")); a.location() != origin+"/two" {
			t.Errorf("second tab: %s\n%s", a.location(), w.logs)
		}
		want := origin + "/one"
		if a := b.get(b.approve(w.op, one, "ada")); a.location() != want {
			t.Errorf("first tab, after the other signed in: %s\n%s", a.location(), w.logs)
		}
	})
}

func TestFirstProof(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			attacker, owner := w.browser(), w.browser()
			attacker.signIn(w.op, "alan") // the provider did not verify alan's address
			if attacker.email() != "alan@example.com" {
				t.Fatalf("alan is %q\n%s", attacker.email(), w.logs)
			}
			a := owner.signInByMail(w, "alan@example.com")
			if a.StatusCode != 200 || !strings.Contains(a.body, "Example") {
				t.Errorf("the next page does not name what was removed: %d %s", a.StatusCode, a.body)
			}
			if owner.email() != "alan@example.com" {
				t.Errorf("the owner is signed in as %q\n%s", owner.email(), w.logs)
			}
			if got := attacker.session(); len(got) != 0 {
				t.Errorf("the attacker's session lives on: %v", got)
			}
			if a := w.browser().signIn(w.op, "alan"); !strings.Contains(a.location(), "OAuthAccountNotLinked") {
				t.Errorf("the attacker's identity still signs in: %s", a.location())
			}
		})
	}
}

func TestProvidersList(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		kind := "oauth"
		if w.config.Compat == authsvc.AuthJSV5 {
			kind = "oidc"
		}
		a := w.browser().get("/api/auth/providers")
		want := `{"op":{"id":"op","name":"Example","type":"` + kind + `","signinUrl":"https://app.test/api/auth/signin/op","callbackUrl":"https://app.test/api/auth/callback/op"},` +
			`"email":{"id":"email","name":"Email","type":"email","signinUrl":"https://app.test/api/auth/signin/email","callbackUrl":"https://app.test/api/auth/callback/email"},` +
			`"credentials":{"id":"credentials","name":"Credentials","type":"credentials","signinUrl":"https://app.test/api/auth/signin/credentials","callbackUrl":"https://app.test/api/auth/callback/credentials"}}`
		if a.body != want {
			t.Errorf("got %s", a.body)
		}
		if len(a.Header["Set-Cookie"]) != 0 {
			t.Errorf("GET providers sets %v", a.Header["Set-Cookie"])
		}
	})
}
