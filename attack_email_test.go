package authsvc_test

import (
	"strings"
	"testing"
)

// ask requests a link and returns it as mailed.
func (w *arena) ask(t *testing.T, b *browser, address string, fields ...string) string {
	t.Helper()
	b.post("/api/auth/signin/email", append([]string{"email", address}, fields...)...)
	return link(t, w.mail.next(t))
}

func TestAttackEmailLink(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	t.Run("csrf-19 magic-link login CSRF", func(t *testing.T) {
		attacker, anonymous, signedIn := w.browser(), w.browser(), w.browser()
		signedIn.signInByMail(w.world, "me@app.test")
		l := w.ask(t, attacker, "evil@app.test")
		for _, victim := range []*browser{anonymous, signedIn} {
			was := w.person(t, victim)
			if a := victim.get(l); a.StatusCode != 200 || !strings.Contains(a.body, "evil@app.test") || w.person(t, victim) != was {
				t.Errorf("%d %s", a.StatusCode, a.location())
			}
			w.mustRefuse(t, func() *answer {
				q := mustURL(t, l).Query()
				return victim.form("/api/auth/callback/email", q)
			})
		}
		// The asker itself is asked too, once somebody else is signed in there.
		l = w.ask(t, signedIn, "other@app.test")
		if a := signedIn.get(l); a.StatusCode != 200 || signedIn.email() != "me@app.test" {
			t.Errorf("a live session was replaced without a click: %d %s", a.StatusCode, a.location())
		}
		if a := signedIn.post("/api/auth/callback/email", formOf(t, l)...); a.location() != origin || signedIn.email() != "other@app.test" {
			t.Errorf("twin: after the click: %s", a.location())
		}
	})
}
