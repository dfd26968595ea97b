package engine_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
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
			t.Errorf("a copied cookie is still valid after sign-out: %v", got)
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
		if a := other.Get(arena.Link(t, m)); !strings.Contains(a.Location(), "error=Verification") || other.Email() != "" {
			t.Errorf("a used link in another browser: %d %s", a.StatusCode, a.Location())
		} else if a := other.Get(a.Location()); a.StatusCode != http.StatusForbidden || !strings.Contains(a.Text, `value="ada@app.test"`) {
			t.Errorf("the page after it: %d %s", a.StatusCode, a.Text)
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
			u, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada", Email: "ada@app.test"}, nil)
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

// TestSignedInPage checks that the page shows who is signed in and continues to no page
// that leads back to it.
func TestSignedInPage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	me := currentUser(t, w, b)
	const page, plain = "/api/auth/signin", "img-src 'self' data:;"
	for image, origin := range map[string]string{
		"https://cdn.example:8443/a%20b.png?s=1": "https://cdn.example:8443",
		"":                                       "", "http://cdn.example/a.png": "", "data:image/png;base64,AAAA": "", "javascript:alert(1)": "", "/me.png": "",
		"https://cdn.example;script-src *": "", "https://a@cdn.example/": "", "https://cdn.example, https://evil.example/": "",
	} {
		if _, err := w.Store.UpdateUser(t.Context(), me, adapter.UserUpdate{Image: &image}); err != nil {
			t.Fatal(err)
		}
		a := b.Get(page)
		policy := a.Header.Get("Content-Security-Policy")
		if !strings.Contains(a.Text, "You are signed in") || !strings.Contains(a.Text, `data-letter="A"`) || strings.Contains(a.Text, "<img") != (origin != "") ||
			origin == "" && !strings.Contains(policy, plain) || origin != "" && !strings.Contains(policy, "img-src 'self' data: "+origin+";") {
			t.Errorf("%q: %s\n%s", image, policy, a.Text)
		}
	}
	for to, continues := range map[string]bool{
		"": true, "/": true, "/in": true, "/api/auth/session": true, "/api/auth/signinx": true,
		"/api/auth": false, page: false, page + "?a=b": false, page + "#x": false, page + "/op": false, arena.Origin + page + "/": false,
	} {
		b := b.Clone()
		delete(b.Cookies, "__Secure-authsvc.callback-url")
		delete(b.Cookies, "__Host-authsvc.callback-url")
		if a := b.Get(page + "?callbackUrl=" + url.QueryEscape(to)); strings.Contains(a.Text, ">Continue</a>") != continues || !strings.Contains(a.Text, ">Sign out</button>") {
			t.Errorf("callbackUrl %q: %s", to, a.Text)
		}
	}
	if a := w.Browser().Get(page); strings.Contains(a.Text, "Sign out") || strings.Contains(a.Text, "Your account") || !strings.Contains(a.Header.Get("Content-Security-Policy"), plain) {
		t.Errorf("no session: %s", a.Text)
	}
}

// TestSignedInLeadsToAccount checks that the page of a signed-in person leads to the
// account page, if there is one.
func TestSignedInLeadsToAccount(t *testing.T) {
	t.Parallel()
	const link = `href="` + arena.Origin + `/api/auth/account"`
	for name, tt := range map[string]struct {
		tune func(*authsvc.Config)
		want bool
	}{
		"with a store": {nil, true},
		"switched off": {func(c *authsvc.Config) { c.Account.Disabled = true }, false},
		"no store":     {func(c *authsvc.Config) { c.Adapter, c.Providers = nil, c.Providers[:1] }, false},
	} {
		w := arena.Start(t, tt.tune)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if a := b.Get("/api/auth/signin"); !strings.Contains(a.Text, "You are signed in") || strings.Contains(a.Text, link) != tt.want {
			t.Errorf("%s: %s", name, a.Text)
		}
		if a := w.Browser().Get("/api/auth/signin"); strings.Contains(a.Text, link) {
			t.Errorf("%s, not signed in: %s", name, a.Text)
		}
	}
}

func TestForgotURL(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{"": "", "/forgot": arena.Origin + "/forgot", "https://id.example/reset?a=b": "https://id.example/reset?a=b"} {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize, ForgotURL: to}}
		})
		if a := w.Browser().Get("/api/auth/signin"); strings.Contains(a.Text, "Forgot password?") != (want != "") || want != "" && !strings.Contains(a.Text, `<a href="`+want+`">`) {
			t.Errorf("%q: %s", to, a.Text)
		}
	}
	for _, to := range []string{"forgot", "javascript:alert(1)", "/a#b", `/\evil.example`, "https://a@b.example/"} {
		c := authsvc.Config{URL: arena.Origin, Secrets: []string{strings.Repeat("0123456789abcdef", 3)},
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize, ForgotURL: to}}}
		if err := engine.Check(c); err == nil || !strings.Contains(err.Error(), "Providers[0].ForgotURL") {
			t.Errorf("%q: %v", to, err)
		}
	}
}

// TestTypedStays checks that the page after a refusal shows the form as it was sent,
// except the password.
func TestTypedStays(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Providers = append(c.Providers, &authsvc.Credentials{ID: "pin", Fields: []authsvc.Field{{Name: "pin", Type: "password"}}, Authorize: arena.Authorize})
	})
	const password, page = "secret-that-must-not-come-back", "/api/auth/signin"
	for _, tt := range []struct {
		name, path string
		fields     []string
		want       string
	}{
		{"address", "/api/auth/signin/email", []string{"email", "ada@localhost"}, `type="text" name="email" value="ada@localhost"`},
		{"user name", "/api/auth/callback/credentials", []string{"username", `ada"><b>`, "password", password}, `name="username" value="ada&#34;&gt;&lt;b&gt;"`},
		{"old token", "/api/auth/signin/email", []string{"email", "ada@app.test", "csrfToken", "stale"}, `type="text" name="email" value="ada@app.test"`},
		{"secret", "/api/auth/callback/pin", []string{"pin", password}, ""},
		{"nothing", "/api/auth/callback/credentials", []string{"password", password}, ""},
		{"too much", "/api/auth/callback/credentials", []string{"username", strings.Repeat("a", 255)}, ""},
		{"a script", "/api/auth/callback/credentials", []string{"username", "ada", "json", "true"}, ""},
	} {
		b := w.Browser()
		if a := b.Post(tt.path, tt.fields...); a.StatusCode == http.StatusFound && !strings.Contains(a.Location(), "/api/auth/error?") && !strings.Contains(a.Location(), "csrf=true") {
			t.Errorf("%s: not refused: %s", tt.name, a.Location())
		}
		a := b.Get(page)
		if strings.Contains(a.Text, password) || tt.want != "" && !strings.Contains(a.Text, tt.want) || tt.want == "" && (strings.Contains(a.Text, `name="username" value`) || b.Cookies["__Host-authsvc.typed"] != "") {
			t.Errorf("%s: %s", tt.name, a.Text)
		}
		if tt.want == "" {
			continue
		}
		planted := w.Browser()
		planted.Cookies["__Host-authsvc.typed"] = b.Cookies["__Host-authsvc.typed"] + "x"
		if a := planted.Get(page); strings.Contains(a.Text, tt.want) {
			t.Errorf("%s: a cookie that authsvc did not set is accepted", tt.name)
		}
		b.SignInByMail(w, "ada@app.test")
		b.Post("/api/auth/signout")
		if a := b.Get(page); strings.Contains(a.Text, tt.want) {
			t.Errorf("%s: it outlives a sign-in", tt.name)
		}
	}
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
	// Without intent the same identity signs in its own user, and another person's
	// identity is never added.
	if a := b.SignIn(w.OP, "grace"); a.Location() != arena.Origin || b.Email() != "grace@example.com" {
		t.Errorf("plain sign-in while signed in: %s as %q", a.Location(), b.Email())
	}
	if a := b.SignIn(w.OP, "ada", "link", "true"); !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") {
		t.Errorf("linking another user's identity: %s", a.Location())
	}
}

// TestSignInAfterReset checks that a person can sign in with the old cookie after a
// reset of the database. An earlier request to link is refused.
func TestSignInAfterReset(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		reset := func() (old string) {
			t.Helper()
			u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
			if err == nil {
				err = w.Store.DeleteUser(t.Context(), u.ID, &adapter.Revocation{Key: "user:" + u.ID, UserID: u.ID, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)})
			}
			if err != nil {
				t.Fatal(err)
			}
			return u.ID
		}
		b.SignIn(w.OP, "ada")
		old := reset()
		if a := b.SignIn(w.OP, "ada", "callbackUrl", "/again"); a.Location() != arena.Origin+"/again" {
			t.Fatalf("%d %s\n%s", a.StatusCode, a.Location(), w.Logs)
		}
		if u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); err != nil || u.ID == old || b.Email() != "ada@example.com" {
			t.Errorf("%+v, %v, signed in as %q", u, err, b.Email())
		}
		asked := b.Begin("op", "link", "true")
		reset()
		if a := b.Get(b.Approve(w.OP, asked, "ada")); strings.HasPrefix(a.Location(), arena.Origin) && !strings.Contains(a.Location(), "error=") {
			t.Errorf("link=true for a deleted user: %s", a.Location())
		}
	})
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
				t.Errorf("the attacker's session is still valid: %v", got)
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
