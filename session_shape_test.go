package authsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/internal/idp"
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

// giveClaims makes the provider say more about everybody.
func giveClaims(w *arena.World, more map[string]any) {
	w.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) { maps.Copy(claims, more) }})
}

// TestSessionClaims: what is named stays with the session, from the sign-in on.
func TestSessionClaims(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy, c.Session.UpdateAge = mode, strategy, -1
			c.Session.Claims = map[string]string{"groups": "groups", "dept": `org."the dept"`, "level": "level", "admin": "realm.admin", "missing": "nothing", "whole": "org", "first": "groups[0]"}
			c.Session.Expose = map[string]string{"id": "id", "groups": "claims.groups", "department": "dept", "level": "level", "missing": "missing"}
		})
		giveClaims(w, map[string]any{"groups": []string{"ops", "é <b>"}, "org": map[string]any{"the dept": "R&D"}, "level": 7, "realm": map[string]any{"admin": true}})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		giveClaims(w, map[string]any{"groups": []string{"later"}}) // read once
		for range 2 {                                              // with jwt the token is issued anew each time
			if got, want := userOf(t, b), `"department":"R\u0026D","groups":["ops","é \u003cb\u003e"],"id":`; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `,"level":7,"missing":null`) {
				t.Errorf("GET session: %s", got)
			}
		}
		s := sessionOf(t, w, b)
		want := authsvc.Claims{"groups": []any{"ops", "é <b>"}, "dept": "R&D", "level": int64(7), "admin": true, "whole": map[string]any{"the dept": "R&D"}, "first": "ops"}
		if diff := cmp.Diff(want, s.Claims()); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		type me struct {
			ID, Name, Email string
			Verified        bool `json:"email_verified"`
			Groups          []string
			Department      string
			Dept            string
			Level           int
			Admin           bool
		}
		got, err := authsvc.Decode[me](s)
		if want := (me{s.UserID, "Ada Lovelace", "ada@example.com", true, []string{"ops", "é <b>"}, "R&D", "R&D", 7, true}); err != nil || !cmp.Equal(got, want) {
			t.Errorf("decoded %+v, %v", got, err)
		}
		if _, err := authsvc.Decode[struct{ Level string }](s); err == nil {
			t.Error("a number was decoded as text")
		}
	})
}

// TestSessionClaimsTooLarge: nobody is signed in with half of the claims.
func TestSessionClaimsTooLarge(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy = mode, strategy
			c.Session.Claims = map[string]string{"groups": "groups"}
		})
		most := 4<<10 - len(`{"groups":""}`)
		for size, signedIn := range map[int]bool{most: true, most + 1: false} {
			giveClaims(w, map[string]any{"groups": strings.Repeat("x", size)})
			b := w.Browser()
			a := b.SignIn(w.OP, "ada")
			if (b.Email() != "") != signedIn || !signedIn && !strings.Contains(a.Location(), "error=Callback") {
				t.Errorf("%d bytes: signed in as %q, %s", size, b.Email(), a.Location())
			}
		}
		if !strings.Contains(w.Logs.String(), "claims of the session are larger than 4 KiB") {
			t.Errorf("no cause in the log:\n%s", w.Logs)
		}
	})
}

// TestClaimsCallback: it has the last word, and refuses.
func TestClaimsCallback(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Session.Strategy = strategy
			c.Session.Claims = map[string]string{"groups": "groups"}
			c.Session.Expose = map[string]string{"roles": "claims.roles"}
			c.Callbacks.Claims = func(_ context.Context, a authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
				switch {
				case a.Account.ProviderAccountID == "grace":
					return kept, errors.New("no")
				case a.Account.ProviderAccountID == "alan":
					panic("oops")
				case a.Account.ProviderAccountID == "katherine":
					return authsvc.Claims{"f": func() {}}, nil
				case kept != nil:
					return nil, errors.New("claims of nobody")
				}
				return authsvc.Claims{"roles": []string{a.User.Name, a.Profile.Text("sub")}}, nil
			}
		})
		for sub, word := range map[string]string{"grace": "error=AccessDenied", "alan": "error=AccessDenied", "katherine": "error=Callback"} {
			b := w.Browser()
			if a := b.SignIn(w.OP, sub); !strings.Contains(a.Location(), word) || b.Session()["user"] != nil {
				t.Errorf("%s: %s", sub, a.Location())
			}
			if _, err := w.Store.GetUserByAccount(t.Context(), "op", sub); err == nil {
				t.Errorf("%s is stored", sub)
			}
		}
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if got, want := userOf(t, b), `"roles":["Ada Lovelace","ada"]`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSessionCallbackSeesWhatIsShown: it gets the default with what is exposed.
func TestSessionCallbackSeesWhatIsShown(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Session.Expose = map[string]string{"id": "id", "by": "provider"}
		c.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			p.Session["seen"] = p.Session["user"].(map[string]any)["id"] == p.User.ID
			return p.Session, nil
		}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if s := b.Session(); s["seen"] != true || s["user"].(map[string]any)["by"] != "op" {
		t.Errorf("%v", s)
	}
}
