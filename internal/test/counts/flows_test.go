package counts_test

import (
	"time"

	"authsvc"
)

// A flow is an action of a person. The table contains the flows that have a name.
type flow struct {
	name  string
	mails bool // sends mail
	tune  func(*authsvc.Config)
	run   func(*world, *person)
}

func jwt(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT }

// due makes every use of a session extend it.
func due(c *authsvc.Config) { c.Session.UpdateAge = -1 }

// flows returns the actions of every person, in this order. Each begins where the
// previous one ends.
func flows() []flow {
	oidc := func(w *world, p *person) { w.in(p.oidc, p.oidc.SignIn(w.OP, p.sub).Location()) }
	out := func(w *world, p *person) { w.signOut(p.oidc) }
	return []flow{
		{name: "email-first", mails: true, run: (*world).signInByMail},
		{name: "session", run: func(w *world, p *person) { w.session(p.mail) }},
		{name: "session-renewed", tune: due, run: func(w *world, p *person) {
			time.Sleep(5 * time.Millisecond) // a session ends at a whole millisecond
			w.session(p.mail)
		}},
		{name: "gate-guard", run: func(w *world, p *person) { w.pass(p.mail) }},
		{name: "gate-auth-request", run: func(w *world, p *person) { w.ask(p.mail) }},
		{name: "sign-out", run: func(w *world, p *person) { w.signOut(p.mail) }},
		{name: "email-again", mails: true, run: (*world).signInByMail},

		{name: "oidc-first", run: oidc},
		{run: out},
		{name: "oidc-again", run: oidc},
		{name: "token-refresh", run: (*world).refresh},
		{run: out},

		{name: "jwt-oidc-again", tune: jwt, run: oidc},
		{name: "jwt-session", tune: jwt, run: func(w *world, p *person) { w.session(p.oidc) }},
		{name: "jwt-session-renewed", tune: func(c *authsvc.Config) { jwt(c); due(c) }, run: func(w *world, p *person) { w.session(p.oidc) }},
		{name: "jwt-gate-guard", tune: jwt, run: func(w *world, p *person) { w.pass(p.oidc) }},
		{name: "jwt-sign-out", tune: jwt, run: out},
	}
}
