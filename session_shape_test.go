package authsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// everyMode calls f in all modes with both strategies.
func everyMode(t *testing.T, f func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy)) {
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			t.Run(fmt.Sprintf("%s/%s", mode, strategy), func(t *testing.T) {
				t.Parallel()
				f(t, mode, strategy)
			})
		}
	}
}

// sessionOf is what Service.Session says of a browser.
func sessionOf(t *testing.T, w *arena.World, b *arena.Browser) *authsvc.Session {
	t.Helper()
	r := httptest.NewRequest("GET", arena.Origin+"/", nil)
	for _, name := range b.SessionCookies() {
		r.Header.Add("Cookie", name+"="+b.Cookies[name])
	}
	s, err := w.Session(r)
	if err != nil || s == nil {
		t.Fatalf("session: %v, %v\n%s", s, err, w.Logs)
	}
	return s
}

// userOf is the body of GET session from user on, without what was always there.
func userOf(t *testing.T, b *arena.Browser) string {
	t.Helper()
	body := b.Get("/api/auth/session").Text
	if !json.Valid([]byte(body)) {
		t.Fatalf("GET session: %s", body)
	}
	user, _, _ := strings.Cut(body, `},"expires":`)
	_, image, _ := strings.Cut(user, `"image":`)
	_, user, _ = strings.Cut(image, ",") // the picture has none
	return user
}

// TestEmailVerified: a session knows whether its address was proved.
func TestEmailVerified(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy = mode, strategy
			c.Session.Expose = map[string]string{"verified": "email_verified", "id": "id", "by": "provider"}
		})
		for name, c := range map[string]struct {
			signIn func(*arena.Browser)
			by     string
			want   bool
		}{
			"vouched for by the provider": {func(b *arena.Browser) { b.SignIn(w.OP, "ada") }, "op", true},
			"not vouched for":             {func(b *arena.Browser) { b.SignIn(w.OP, "alan") }, "op", false},
			"without an address":          {func(b *arena.Browser) { b.SignIn(w.OP, "katherine") }, "op", false},
			"by a link":                   {func(b *arena.Browser) { b.SignInByMail(w, "link@app.test") }, "email", true},
		} {
			b := w.Browser()
			c.signIn(b)
			s := sessionOf(t, w, b)
			if s.EmailVerified != c.want || s.Provider != c.by {
				t.Errorf("%s: %v by %s, want %v", name, s.EmailVerified, s.Provider, c.want)
			}
			want := fmt.Sprintf(`"by":%q,"id":%q,"verified":%v`, c.by, s.UserID, c.want)
			if got := userOf(t, b); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

// TestEmailVerifiedWithoutStorage: there is nobody but the token to remember it.
func TestEmailVerifiedWithoutStorage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Adapter = nil
		c.Providers = c.Providers[:1]
	})
	for sub, want := range map[string]bool{"ada": true, "alan": false} {
		b := w.Browser()
		b.SignIn(w.OP, sub)
		if s := sessionOf(t, w, b); s.EmailVerified != want {
			t.Errorf("%s: %v", sub, s.EmailVerified)
		}
	}
}

// TestEmailVerifiedIsOfThatAddress: a JWT callback can change the address, and not
// whether it was proved.
func TestEmailVerifiedIsOfThatAddress(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if p.Trigger == "update" {
				p.Claims["email"], p.Claims["authsvc_email_verified"] = p.Data, p.Data
			}
			return p.Claims, nil
		}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if s := sessionOf(t, w, b); !s.EmailVerified {
		t.Fatal("not verified at first")
	}
	token := b.CSRF()
	b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+token+`","data":"boss@app.test"}`)
	if s := sessionOf(t, w, b); s.EmailVerified || s.Email != "boss@app.test" {
		t.Errorf("%s verified: %v", s.Email, s.EmailVerified)
	}
}

// TestExposeMistakes: each is reported, all at once.
func TestExposeMistakes(t *testing.T) {
	t.Parallel()
	c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorizeAda}}}
	c.Session.Expose = map[string]string{"email": "id", "ok": "id", "": "id", "__proto__": "id", "a.b": "id", "x": "ID", "y": strings.Repeat("z", 100), "w": "claims.w", "v": "User.v"}
	var got []string
	for _, e := range authsvc.ConfigErrors(c.Check()) {
		got = append(got, e.Field+" "+e.Problem)
	}
	want := []string{
		"Session.Expose is not a usable name", "Session.Expose.__proto__ is not a usable name", "Session.Expose.a.b is not a usable name",
		"Session.Expose.email is shown anyway, and not by another value", `Session.Expose.v names the column "v", which is not read`,
		`Session.Expose.w names the claim "w", which is not kept`, `Session.Expose.x "ID" is not known`, `Session.Expose.y "` + strings.Repeat("z", 64) + `…" is not known`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c.Session.Expose = map[string]string{"ok": "id"}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}
