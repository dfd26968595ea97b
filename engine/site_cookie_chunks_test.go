package engine_test

import (
	"context"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// TestSmallSessionExpiresChunks: a user who signs in with a small session keeps no
// chunks of an earlier, large one.
func TestSmallSessionExpiresChunks(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"none": nil,
		"v4":   func(c *authsvc.Config) { c.Compat = authsvc.NextAuthV4 },
		"v5":   func(c *authsvc.Config) { c.Compat = authsvc.AuthJSV5 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pad := ""
			w := arena.Start(t, func(c *authsvc.Config) {
				c.Session.Strategy = "jwt"
				c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
					if p.Account != nil {
						p.Claims["pad"] = pad
					}
					return p.Claims, nil
				}
				if tune != nil {
					tune(c)
				}
			})
			for ways, signIn := range map[string]func(b *arena.Browser) *browser.Answer{
				"OAuth":       func(b *arena.Browser) *browser.Answer { return b.SignIn(w.OP, "ada") },
				"mail":        func(b *arena.Browser) *browser.Answer { return b.SignInByMail(w, "ada@example.com") },
				"credentials": func(b *arena.Browser) *browser.Answer { return b.Login("ada") },
			} {
				b := w.Browser()
				pad = strings.Repeat("x", 9000)
				b.SignIn(w.OP, "ada")
				chunks := b.SessionCookies()
				pad = ""
				signIn(b)
				if left := b.SessionCookies(); len(chunks) < 2 || len(left) != 1 || b.Email() == "" {
					t.Errorf("%s: %v became %v, signed in as %q", ways, chunks, left, b.Email())
				}
			}
		})
	}
}
