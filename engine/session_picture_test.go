package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
)

// dataPicture returns a data: URL of a picture of n bytes.
func dataPicture(n int) string {
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(make([]byte, n))
}

// imageOf returns user.image of GET session.
func imageOf(t *testing.T, b *arena.Browser) string {
	t.Helper()
	var session struct{ User struct{ Image string } }
	if text := b.Get("/api/auth/session").Text; json.Unmarshal([]byte(text), &session) != nil || !strings.Contains(text, `"image"`) {
		t.Fatalf("GET session: %s", text)
	}
	return session.User.Image
}

// TestPictureInOneCookie checks that a provider's data never makes a session need a
// second cookie, in any mode: a picture that would is left out. The stored user has it,
// and sessions in a store show it.
func TestPictureInOneCookie(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) { c.Compat, c.Session.Strategy = mode, strategy })
		long := "https://cdn.example/" + strings.Repeat("a", 2000)
		for name, c := range map[string]struct {
			name, picture string
			inToken       bool
		}{
			"an address":                  {"Ada", "https://cdn.example/ada.png", true},
			"a long address":              {"Ada", long, true},
			"a small picture":             {"Ada", dataPicture(1 << 10), true},
			"4 KB":                        {"Ada", dataPicture(3 << 10), false},
			"6 KiB":                       {"Ada", dataPicture(6 << 10), false},
			"longest name, small picture": {strings.Repeat("<", 255), dataPicture(1 << 10), false},
			"longest name, long address":  {strings.Repeat("😀", 255), long, false},
			"longest name, an address":    {strings.Repeat("😀", 255), "https://cdn.example/ada.png", true},
		} {
			w.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) {
				claims["sub"], claims["email"], claims["name"], claims["picture"] = name, strings.ReplaceAll(name, " ", "")+"@app.test", c.name, c.picture
			}})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			if cookies := b.SessionCookies(); len(cookies) != 1 {
				t.Errorf("%s: session cookies %q", name, cookies)
			}
			want := ""
			if c.inToken || strategy == authsvc.StrategyDatabase {
				want = c.picture
			}
			if got := imageOf(t, b); got != want {
				t.Errorf("%s: image %.60q, want %.60q", name, got, want)
			}
			if u, err := w.Store.GetUserByAccount(t.Context(), "op", name); err != nil || u.Image != c.picture {
				t.Errorf("%s: stored %.60q, %v", name, u.Image, err)
			}
		}
	})
}

// TestChosenPicture checks that a picture that the JWT callback chose is kept, also in
// several cookies, and that the callback gets the provider's picture.
func TestChosenPicture(t *testing.T) {
	t.Parallel()
	own := dataPicture(5 << 10)
	for name, c := range map[string]struct {
		choose  func(picture any) any
		cookies int
		image   string
	}{
		"its own":    {func(any) any { return own }, 3, own},
		"unchanged":  {func(picture any) any { return picture }, 1, ""},
		"none":       {func(any) any { return nil }, 1, ""},
		"an address": {func(any) any { return "https://cdn.example/a.png" }, 1, "https://cdn.example/a.png"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(config *authsvc.Config) {
				config.Session.Strategy = "jwt"
				config.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
					if p.Trigger == "signUp" {
						if p.Claims["picture"] != dataPicture(4<<10) {
							t.Errorf("the callback gets %.60q", p.Claims["picture"])
						}
						p.Claims["picture"] = c.choose(p.Claims["picture"])
					}
					return p.Claims, nil
				}
			})
			w.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) { claims["picture"] = dataPicture(4 << 10) }})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			if cookies := b.SessionCookies(); len(cookies) != c.cookies {
				t.Errorf("session cookies %q, want %d", cookies, c.cookies)
			}
			if got := imageOf(t, b); got != c.image {
				t.Errorf("image %.60q, want %.60q", got, c.image)
			}
		})
	}
}

// TestPictureOfNextAuth checks that a session that NextAuth.js split over cookies for
// the sake of a picture has one cookie after its renewal.
func TestPictureOfNextAuth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Compat, c.Session.Strategy = authsvc.NextAuthV4, "jwt" })
		ring, err := seal.NewRing(arena.Secret)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().Unix()
		claims, err := json.Marshal(map[string]any{"name": "Ada", "email": "ada@app.test", "picture": dataPicture(4 << 10), "sub": "ada", "iat": now, "exp": now + 2592000, "jti": "3f2b"})
		if err != nil {
			t.Fatal(err)
		}
		token, err := ring.NextAuthV4("").Seal(claims)
		if err != nil {
			t.Fatal(err)
		}
		b := w.Browser()
		b.Cookies[w.SessionCookie()+".0"], b.Cookies[w.SessionCookie()+".1"] = token[:3933], token[3933:]
		if cookies := b.SessionCookies(); len(cookies) != 2 || imageOf(t, b) != dataPicture(4<<10) {
			t.Fatalf("before the renewal: %q, image %.60q", cookies, imageOf(t, b))
		}
		time.Sleep(25 * time.Hour)
		for range 2 {
			if image := imageOf(t, b); image != "" || b.Email() != "ada@app.test" || len(b.SessionCookies()) != 1 {
				t.Errorf("renewed: %q, image %.60q", b.SessionCookies(), image)
			}
		}
	})
}

// TestPictureInToken checks that an access token has the address of a picture, and no
// picture, which could exceed the limit of a token.
func TestPictureInToken(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Tokens.Audiences = []authsvc.Audience{{ID: "all", Claims: []string{"name", "picture"}}}
	})
	for picture, want := range map[string]any{
		dataPicture(6 << 10):                               nil,
		"https://cdn.example/ada.png":                      "https://cdn.example/ada.png",
		"https://cdn.example/" + strings.Repeat("a", 2000): "https://cdn.example/" + strings.Repeat("a", 2000),
	} {
		w.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) {
			claims["sub"], claims["email"], claims["picture"] = "u"+picture[:9]+picture[len(picture)-9:], nil, picture
		}})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if got := openToken(t, w, b.Post("/api/auth/token", "audience", "all")); got.claims["picture"] != want || got.claims["name"] != "Ada Lovelace" {
			t.Errorf("%.60q: %v", picture, got.claims)
		}
	}
}
