package counts_test

import (
	"testing"

	"authsvc"
)

// TestPersonCostsNoCall checks, for each store and strategy, that the account page and
// notices add no call to the sign-in of a returning user: the user is read with the
// language of their mails.
func TestPersonCostsNoCall(t *testing.T) {
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
			for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
				with, calls := again(strategy, false)
				without, fewer := again(strategy, true)
				if with != without || calls != fewer {
					t.Errorf("%s: with account page and notices\n%s\n%+v\nwithout\n%s\n%+v", strategy, calls, with, fewer, without)
				}
			}
		})
	}
}
