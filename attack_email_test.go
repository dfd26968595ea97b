package authsvc_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
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

func TestAttackMailQueue(t *testing.T) {
	t.Parallel()
	t.Run("httpwire-14 a sender that panics", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			sent := newOutbox()
			w := enterOffline(t, func(c *authsvc.Config) {
				c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: func(ctx context.Context, m authsvc.Message) error {
					if calls.Add(1) == 1 {
						panic("sender")
					}
					return sent.send(ctx, m)
				}}
			})
			w.browser().post("/api/auth/signin/email", "email", "ada@app.test")
			time.Sleep(time.Minute)
			synctest.Wait()
			if calls.Load() != 2 || sent.count() != 1 {
				t.Errorf("%d calls, %d mails", calls.Load(), sent.count())
			}
		})
	})
}
