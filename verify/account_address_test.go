package verify

import (
	"regexp"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// accountTaker is the address that an attacker tries to give an account.
const accountTaker = "taker@evil.test"

var accountMailedLink = regexp.MustCompile(`(?m)^https?://\S+/account/email/confirm\?\S+$`)

// accountAskChange requests a change of address with a session. It waits for this
// number of mails and returns them by recipient.
func accountAskChange(t *T, w *arena.World, b *arena.Browser, address string, mails int) map[string]authsvc.Message {
	t.Helper()
	if a := b.Post("/api/auth/account/email", "email", address, "json", "true"); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	asked := map[string]authsvc.Message{}
	for len(asked) < mails {
		if m := w.Mail.Any(t); accountLink(m) != "" {
			asked[m.To] = m
		}
	}
	return asked
}

// accountLink returns the first link about a change of address in a mail, or "".
func accountLink(m authsvc.Message) string { return accountMailedLink.FindString(m.Text) }

// accountOpenChange opens a mailed link in a new browser and presses its button.
func accountOpenChange(t *T, w *arena.World, link string, more ...string) {
	t.Helper()
	b := w.Browser()
	b.Get(link)
	accountPress(t, b, link, more...)
}

// accountPress presses the button on the page of a mailed link.
func accountPress(t *T, b *arena.Browser, link string, more ...string) *browser.Answer {
	t.Helper()
	u := arena.MustURL(t, link)
	return b.Post("/api/auth/account/email/confirm", append([]string{"id", u.Query().Get("id"), "token", u.Query().Get("token")}, more...)...)
}

// account10 checks that a change of address requested by a thief is void once the
// owner has taken the account back in any way, even if both links are opened then.
func account10(t *T) {
	recoveries := map[string]func(t *T, w *arena.World, me, old, link string){
		"nothing (twin)": nil,
		"the stop link":  func(t *T, w *arena.World, _, _, link string) { accountOpenChange(t, w, link, "stop", "true") },
		"sign-out everywhere": func(t *T, w *arena.World, _, _, _ string) {
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			if a := b.Post("/api/auth/account/signout", "all", "true", "json", "true"); a.StatusCode != 200 {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
		},
		"the end of all sessions": func(t *T, w *arena.World, me, _, _ string) { accountOK(t, w.EndSessions(t.Context(), me)) },
		"a block":                 func(t *T, w *arena.World, me, _, _ string) { accountOK(t, w.Block(t.Context(), me, "taken over")) },
		"another address by the operator": func(t *T, w *arena.World, me, _, _ string) {
			_, err := w.UpdateUser(t.Context(), me, adapter.UserUpdate{Email: new("third@app.test")})
			accountOK(t, err)
		},
		"the first proof": func(_ *T, w *arena.World, _, old, _ string) { w.Browser().SignInByMail(w, old) },
	}
	emailStores(t, func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) {
			for name, recovers := range recoveries {
				w := t.Enter(func(c *authsvc.Config) {
					c.Adapter, c.Session.Strategy, c.Account.ChangeEmail = kind.Open(t), authsvc.Strategy(strategy), new(true)
				})
				attacker, sub, mails := w.Browser(), "ada", 2
				if name == "the first proof" {
					sub, mails = "alan", 1 // whose provider verifies no address
				}
				attacker.SignIn(w.OP, sub)
				me := w.Person(t, attacker)
				u, err := w.Store.GetUser(t.Context(), me)
				accountOK(t, err)
				asked := accountAskChange(t, w, attacker, accountTaker, mails)
				if recovers != nil {
					recovers(t, w, me, u.Email, accountLink(asked[u.Email]))
				}
				accountOpenChange(t, w, accountLink(asked[accountTaker]))
				if mails == 2 {
					accountOpenChange(t, w, accountLink(asked[u.Email]))
				}
				attacker.Post("/api/auth/account/email/finish", "json", "true")
				u, err = w.Store.GetUser(t.Context(), me)
				accountOK(t, err)
				if (u.Email == accountTaker) != (recovers == nil) {
					t.Errorf("%s: the address is %s", name, u.Email)
				}
			}
			// The twin of the first proof: without it, the new address alone
			// completes the change.
			w := t.Enter(func(c *authsvc.Config) {
				c.Session.Strategy, c.Account.ChangeEmail = authsvc.Strategy(strategy), new(true)
			})
			b := w.Browser()
			b.SignIn(w.OP, "alan")
			me := w.Person(t, b)
			accountOpenChange(t, w, accountLink(accountAskChange(t, w, b, accountTaker, 1)[accountTaker]))
			if u, err := w.Store.GetUser(t.Context(), me); err != nil || u.Email != accountTaker {
				t.Errorf("twin: the address is %s: %v", u.Email, err)
			}
		})
	})
}

func accountOK(t *T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
