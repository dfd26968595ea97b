package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

func account14(t *T) {
	for name, hook := range map[string]func() (string, error){
		"denies":                  func() (string, error) { return "", authsvc.ErrAccessDenied },
		"fails":                   func() (string, error) { return "", errors.New("database down") },
		"fails and redirects":     func() (string, error) { return "/in", errors.New("x") },
		"panics":                  func() (string, error) { panic("hook") },
		"panics with nil pointer": func() (string, error) { var p *authsvc.User; return p.Name, nil },
		"foreign site":            func() (string, error) { return "https://evil.test/", nil },
		"foreign without scheme":  func() (string, error) { return "//evil.test/", nil },
		"backslash":               func() (string, error) { return `/\evil.test/`, nil },
		"javascript":              func() (string, error) { return "javascript:alert(1)", nil },
		"line break":              func() (string, error) { return "/x\r\nSet-Cookie: a=b", nil },
	} {
		t.Run(name, func(t *T) {
			w := t.Enter(func(c *authsvc.Config) {
				c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
					if a.VerificationRequest {
						return "", nil
					}
					return hook()
				}
			})
			b := w.Browser()
			if a := accountRefused(t, w, b, w.OP, "op", "ada"); !strings.Contains(a.Location(), "AccessDenied") {
				t.Errorf("%s", a.Location())
			}
			link := emailAsk(t, w, b, "new@app.test")
			w.MustRefuse(t, func() *browser.Answer { return b.Get(link) })
			w.MustRefuse(t, func() *browser.Answer { return b.Login("ada") })
		})
	}
	t.Run("allowed redirect", func(t *T) {
		w := t.Enter(func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "/unlisted", nil }
		})
		b := w.Browser()
		if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin+"/unlisted" || b.Email() != "" || w.Ledger.Lasting() != "" {
			t.Errorf("%s %q", a.Location(), b.Email())
		}
	})
	t.Run("allows", func(t *T) {
		w := t.Enter(func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "", nil }
		})
		b := w.Browser()
		if b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
			t.Errorf("twin: %q", b.Email())
		}
	})
	for _, attentive := range []bool{true, false} {
		t.Run(fmt.Sprintf("slow, attentive %v", attentive), func(t *T) { account14Slow(t, attentive) })
	}
}

// account14Slow checks that a hook that obeys its context ends after 30 s at most,
// and the sign-in with it. The engine waits for other hooks: Go cannot end them.
func account14Slow(t *T, attentive bool) {
	emailBubble(t, func(t *T) {
		w := t.EnterOffline(func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(ctx context.Context, a authsvc.SignInAttempt) (string, error) {
				if a.VerificationRequest {
					return "", nil
				}
				if !attentive {
					time.Sleep(40 * time.Second)
					return "", authsvc.ErrAccessDenied
				}
				select {
				case <-ctx.Done():
					return "", ctx.Err()
				case <-time.After(time.Hour):
					return "", nil
				}
			}
		})
		b := w.Browser()
		link := emailAsk(t, w, b, "new@app.test")
		began := time.Now()
		w.MustRefuse(t, func() *browser.Answer { return b.Get(link) })
		if took := time.Since(began); took > 41*time.Second {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if b.Email() != "" {
			t.Error("in")
		}
	})
}

func account15(t *T) {
	w := t.Enter(nil)
	script := `<script>alert(1)</script><img src=x onerror=alert(1)>"'`
	rounds := t.Scale("random profiles in each mode", 20, 100, 5000)
	for i := range rounds {
		hostile := accountText(i)
		picture := []any{"javascript:alert(1)", "http://evil.test/x.png", "data:text/html,<script>", "data:image/svg+xml;base64,PHN2Zz4=", "//evil.test/x", "https://evil.test/" + strings.Repeat("x", 4000),
			"https://evil.test/\r\nX: y", " javascript:alert(1)", "https://u:p@evil.test/", 42, nil, []any{"x"}, "https://evil.test/a\"onerror=\"alert(1)"}[i%13]
		w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) {
			c["sub"], c["name"], c["picture"], c["email"] = "ada", hostile+script, picture, "x@app.test\r\nBcc: y@app.test"
		}})
		b := w.Browser()
		if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin {
			t.Fatalf("%.40q: %s\n%.2000s", hostile, a.Location(), w.Logs)
		}
		id := w.Person(t, b)
		u, err := w.Store.GetUser(t.Context(), id)
		if err != nil || utf8.RuneCountInString(u.Name) > 255 || !utf8.ValidString(u.Name) || strings.ContainsFunc(u.Name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("stored name %.80q, %v", u.Name, err)
		}
		if u.Image != "" && !strings.HasPrefix(u.Image, "https://") || len(u.Image) > 2048 || strings.ContainsAny(u.Image, "\r\n\"<>") || u.Email != "" {
			t.Errorf("stored image %.80q of %v, address %q", u.Image, picture, u.Email)
		}
		for _, path := range []string{"/api/auth/session", "/api/auth/signin", "/api/auth/signout"} {
			if text := b.Get(path).Text; strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") {
				t.Errorf("%s repeats markup", path)
			}
		}
		if err := w.DeleteUser(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("1 MB", func(t *T) {
		w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["name"] = strings.Repeat("n", 1<<20) }})
		b := w.Browser()
		if a := b.SignIn(w.OP, "grace"); a.Location() != arena.Origin && !arena.IsRefusal(a) {
			t.Errorf("%d %s", a.StatusCode, a.Location())
		}
		w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["name"] = strings.Repeat("n", 20_000) }})
		if a := w.Browser().SignIn(w.OP, "ada"); a.Location() != arena.Origin {
			t.Errorf("20 KB: %d %s", a.StatusCode, a.Location())
		}
	})
	w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["name"], c["picture"] = "Zoë O'Neil", "https://img.test/z.png" }})
	if w.Browser().SignIn(w.OP, "katherine"); true {
		u, err := w.Store.GetUserByAccount(t.Context(), "op", "katherine")
		if err != nil || u.Name != "Zoë O'Neil" || u.Image != "https://img.test/z.png" {
			t.Errorf("twin: %q %q %v", u.Name, u.Image, err)
		}
	}
}

// accountText returns a random name with pieces that a name must not contain.
func accountText(i int) string {
	pieces := []string{"A", "\u202e", "\u2066", "\x00", "\x1b[31m", "\r\n", "\t", "é", "\u0301", "🔑", "\xff", "\u200b", "{{.}}", "${x}", "%s", "\u2028", "\ufeff", `\`, "</title>", strings.Repeat("n", 400)}
	s := pieces[i%len(pieces)]
	for range rand.IntN(12) {
		s += pieces[rand.IntN(len(pieces))]
	}
	return s
}
