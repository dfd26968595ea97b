package authsvc_test

import (
	"strings"
	"testing"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// ask requests a link and returns it as mailed.
func ask(w *arena.World, t *testing.T, b *arena.Browser, address string, fields ...string) string {
	t.Helper()
	b.Post("/api/auth/signin/email", append([]string{"email", address}, fields...)...)
	return arena.Link(t, w.Mail.Next(t))
}

func TestEmailLinkConfirmation(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, nil)
	t.Run("opened by somebody else", func(t *testing.T) {
		attacker, anonymous, signedIn := w.Browser(), w.Browser(), w.Browser()
		signedIn.SignInByMail(w, "me@app.test")
		l := ask(w, t, attacker, "evil@app.test")
		for _, victim := range []*arena.Browser{anonymous, signedIn} {
			was := w.Person(t, victim)
			if a := victim.Get(l); a.StatusCode != 200 || !strings.Contains(a.Text, "evil@app.test") || w.Person(t, victim) != was {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
			w.MustRefuse(t, func() *browser.Answer {
				q := arena.MustURL(t, l).Query()
				return victim.Form("/api/auth/callback/email", q)
			})
		}
		// The asker itself is asked too, once somebody else is signed in there.
		l = ask(w, t, signedIn, "other@app.test")
		if a := signedIn.Get(l); a.StatusCode != 200 || signedIn.Email() != "me@app.test" {
			t.Errorf("a live session was replaced without a click: %d %s", a.StatusCode, a.Location())
		}
		if a := signedIn.Post("/api/auth/callback/email", formOf(t, l)...); a.Location() != arena.Origin || signedIn.Email() != "other@app.test" {
			t.Errorf("twin: after the click: %s", a.Location())
		}
	})
}
