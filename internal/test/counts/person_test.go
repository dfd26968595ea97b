package counts_test

import (
	"strings"
	"testing"

	"authsvc"
)

// TestPersonCostsOneCall checks, for each store and strategy, that the account page and
// notices add exactly one call to a sign-in: GetPerson, with its statements and round
// trips. It reads the language of the person's mails, after the session began.
func TestPersonCostsOneCall(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			store, meter := k.open(t)
			w := newWorld(t, newTally(store, meter))
			p, n := w.person(0), 0
			again := func(strategy authsvc.Strategy, off bool) (figures, string) {
				f := flow{tune: func(c *authsvc.Config) {
					c.Session.Strategy, c.Account.Disabled, c.Notices.Disabled = strategy, off, off
				}}
				defer func() {
					n++
					f.run = func(w *world, p *person) { w.signOut(p.oidc) }
					w.measure(f, p)
				}()
				p.from(0, n) // a client that no limit has counted
				f.run = func(w *world, p *person) { w.in(p.oidc, p.oidc.SignIn(w.OP, p.sub).Location()) }
				return w.measure(f, p)
			}
			for range warmUps {
				again(authsvc.StrategyDatabase, false)
				again(authsvc.StrategyJWT, false)
			}
			u, err := w.tally.GetUserByAccount(t.Context(), "op", p.sub)
			if err != nil {
				t.Fatal(err)
			}
			w.tally.begin()
			if _, err := w.tally.GetPerson(t.Context(), u.ID); err != nil {
				t.Fatal(err)
			}
			one, call := w.tally.end()
			for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
				with, all := again(strategy, false)
				without, fewer := again(strategy, true)
				if one.smtp, one.mailBytes = 0, 0; with.plus(without, -1) != one {
					t.Errorf("%s: %+v more, but %s is %+v", strategy, with.plus(without, -1), call, one)
				}
				if strings.Replace(all, ", "+call, "", 1) != fewer {
					t.Errorf("%s: with account page and notices\n%s\nwithout\n%s\nand the difference is not %s", strategy, all, fewer, call)
				}
				t.Logf("%s: %s more: %+v, and %+v without it", strategy, call, with.plus(without, -1), without)
			}
		})
	}
}
