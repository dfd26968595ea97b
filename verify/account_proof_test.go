package verify

import (
	"errors"
	"strings"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// accountStrict runs f with each strategy, in mode none and, with first_proof strict,
// in the compat modes.
func accountStrict(t *T, f func(t *T, w *arena.World)) {
	for _, mode := range modes {
		t.Run(mode, func(t *T) {
			t.Mode = mode
			t.Strategies(func(t *T, strategy string) {
				f(t, t.Enter(func(c *authsvc.Config) {
					c.Session.Strategy = authsvc.Strategy(strategy)
					if mode != modeNone {
						c.FirstProof = "strict"
					}
				}))
			})
		})
	}
}

func account08(t *T) {
	accountStrict(t, func(t *T, w *arena.World) {
		attacker, second, owner := w.Browser(), w.Browser(), w.Browser()
		attacker.SignIn(w.OP, "alan") // alan@example.com, which the provider has not verified
		second.SignIn(w.OP, "alan")
		if attacker.Email() != "alan@example.com" {
			t.Fatal("twin: the attacker's session")
		}
		unused := emailAsk(t, w, attacker, "alan@example.com") // a link in the owner's mailbox
		if a := owner.SignInByMail(w, "alan@example.com"); a.StatusCode != 200 || !strings.Contains(a.Text, "Example") {
			t.Errorf("the page does not say what was removed: %d %s", a.StatusCode, a.Location())
		}
		for _, b := range []*arena.Browser{attacker, second} {
			if b.Email() != "" {
				t.Error("an earlier session is still valid")
			}
		}
		emailVoid(t, w, attacker, unused)
		if owner.Email() != "alan@example.com" {
			t.Errorf("the owner is %q", owner.Email())
		}
		me := w.Person(t, owner)
		w.Browser().SignInByMail(w, "alan@example.com")
		if w.Person(t, owner) != me || me == "" {
			t.Error("twin: a second proof ends sessions")
		}
	})
	w := t.Enter(nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada") // verified
	if w.Browser().SignInByMail(w, "ada@example.com"); b.Email() != "ada@example.com" {
		t.Error("twin: the sessions of a verified user end")
	}
}

func account09(t *T) {
	accountStrict(t, func(t *T, w *arena.World) {
		attacker, owner := w.Browser(), w.Browser()
		attacker.SignIn(w.OP, "alan")
		attacker.SignIn(w.OP, "katherine", "link", "true")
		if accountOwner(t, w, "op", "katherine") != w.Person(t, attacker) {
			t.Fatal("twin: the trojan is not linked")
		}
		pending := attacker.Approve(w.OP, attacker.Begin("op", "link", "true"), "grace")
		owner.SignInByMail(w, "alan@example.com")
		me := w.Person(t, owner)
		w.MustRefuseLate(t, func() *browser.Answer { return attacker.Get(pending) })
		if list, err := w.Store.ListAccounts(t.Context(), me); err != nil || len(list) != 0 {
			t.Errorf("left: %v %v", list, err)
		}
		again := w.Browser()
		if again.SignIn(w.OP, "katherine"); w.Person(t, again) == me || me == "" {
			t.Error("the trojan still leads to the owner")
		}
		if a := owner.SignIn(w.OP, "alan", "link", "true"); a.Location() != arena.Origin || accountOwner(t, w, "op", "alan") != me {
			t.Errorf("twin: the owner cannot add theirs again: %s", a.Location())
		}
	})
}

// account11 checks that Fields.EmailVerified names no claim for a provider whose word
// must not count, such as built-in providers that do not verify addresses.
func account11(t *T) {
	deaf := func(c *authsvc.Config) {
		accountLinking(c)
		c.Providers[0].(*authsvc.OAuth).Fields.EmailVerified = "-"
	}
	w, _ := accountWorld(t, deaf)
	w.Browser().SignInByMail(w, "ada@example.com")
	b := w.Browser()
	if a := accountRefused(t, w, b, w.OP, "op", "ada"); !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
		t.Errorf("%s", a.Location())
	}
	if b.SignIn(w.OP, "grace"); b.Email() != "grace@example.com" {
		t.Errorf("twin: a free address: %q", b.Email())
	}
	if u, err := w.Store.GetUserByEmail(t.Context(), "grace@example.com"); err != nil || !u.EmailVerified.IsZero() {
		t.Errorf("its claim counted: %v %v", u.EmailVerified, err)
	}
	w, _ = accountWorld(t, accountLinking)
	w.Browser().SignInByMail(w, "ada@example.com")
	b = w.Browser()
	if b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
		t.Error("twin: a provider that verifies is not matched")
	}
}

func account12(t *T) {
	w, _ := accountWorld(t, nil)
	w.Browser().SignInByMail(w, "ada@example.com")
	accountRefused(t, w, w.Browser(), w.OP, "op", "ada")
	if strings.Contains(w.Logs.String(), "LinkVerifiedEmail") {
		t.Error("a warning although it is off")
	}
	w, _ = accountWorld(t, func(c *authsvc.Config) {
		accountLinking(c)
		o := *c.Providers[0].(*authsvc.OAuth)
		o.ID = "second"
		c.Providers = append(c.Providers, &o)
	})
	for _, id := range []string{"op", "second"} {
		if !strings.Contains(w.Logs.String(), "provider="+id+"\n") || strings.Count(w.Logs.String(), "LinkVerifiedEmail") != 2 {
			t.Errorf("no warning about %s: %s", id, w.Logs)
		}
	}
	// The stored address must be verified too.
	if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "u", Email: "ada@example.com"}, nil); err != nil {
		t.Fatal(err)
	}
	accountRefused(t, w, w.Browser(), w.OP, "op", "ada")
	w.Browser().SignInByMail(w, "grace@example.com")
	b := w.Browser()
	if a := b.SignIn(w.OP, "grace"); a.Location() != arena.Origin || b.Email() != "grace@example.com" {
		t.Errorf("twin: both are verified: %s", a.Location())
	}
}

func account13(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		b, other := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		me := w.Person(t, b)
		other.SignIn(w.OP, "grace")
		for _, address := range []string{"free@example.com", "grace@example.com", "GRACE@example.com", "", "not an address", "a@x.test\r\nBcc: v@y.test"} {
			w.OP.SetFault(accountClaim("email", address))
			c := w.Browser()
			if a := c.SignIn(w.OP, "ada"); a.Location() != arena.Origin || w.Person(t, c) != me {
				t.Errorf("%q: %d %s", address, a.StatusCode, a.Location())
			}
			u, err := w.Store.GetUser(t.Context(), me)
			if err != nil || u.Email == "grace@example.com" || u.Email == "" {
				t.Errorf("%q: the address is now %q, %v", address, u.Email, err)
			}
		}
		w.OP.SetFault(idp.Fault{})
		if again := w.Browser(); accountOwner(t, w, "op", "grace") == me || again.SignIn(w.OP, "grace").Location() != arena.Origin || w.Person(t, again) == me {
			t.Error("merged")
		}
	})
}

func account16(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) { account16Store(t, kind) })
}

func account16Store(t *T, kind stores.Kind) {
	w, _ := accountWorld(t, func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
	for _, sub := range []string{"alan", "katherine"} { // an unverified address, and none
		b := w.Browser()
		b.SignIn(w.OP, sub)
		me := w.Person(t, b)
		if err := w.UnlinkAccount(t.Context(), me, "op", sub, nil); !errors.Is(err, authsvc.ErrLastAccount) || accountOwner(t, w, "op", sub) != me {
			t.Errorf("%s: the last way in was removed: %v", sub, err)
		}
		if err := w.UnlinkAccount(t.Context(), me, "op", "nobody", nil); err == nil {
			t.Error("an account that is not there was removed")
		}
		if a := accountVia(b, w.OP, "plain", sub, "link", "true"); !accountHas(t, w, me, "plain") {
			t.Fatalf("%s is not linked: %s\n%.1500s", sub, a.Location(), w.Logs)
		}
		if err := w.UnlinkAccount(t.Context(), me, "op", sub, nil); err != nil || accountOwner(t, w, "op", sub) != "" {
			t.Errorf("twin: one of two: %v", err)
		}
		list, err := w.Store.ListAccounts(t.Context(), me)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		if err := w.UnlinkAccount(t.Context(), me, "plain", list[0].ProviderAccountID, nil); !errors.Is(err, authsvc.ErrLastAccount) {
			t.Errorf("the other was the last then: %v", err)
		}
	}
}

func account17(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) {
			w := t.Enter(func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = kind.Open(t), authsvc.Strategy(strategy) })
			b, bystander := w.Browser(), w.Browser()
			b.SignIn(w.OP, "ada")
			bystander.SignIn(w.OP, "grace")
			me := w.Person(t, b)
			link := emailAsk(t, w, b, "ada@example.com")
			if err := w.DeleteUser(t.Context(), me); err != nil {
				t.Fatal(err)
			}
			if b.Email() != "" || accountOwner(t, w, "op", "ada") != "" {
				t.Errorf("left: session of %q, account of %q", b.Email(), accountOwner(t, w, "op", "ada"))
			}
			if list, err := w.Store.ListAccounts(t.Context(), me); len(list) != 0 {
				t.Errorf("accounts %v, %v", list, err)
			}
			if list, err := w.Store.ListSessions(t.Context(), me); len(list) != 0 {
				t.Errorf("sessions %v, %v", list, err)
			}
			again := w.Browser()
			if again.SignIn(w.OP, "ada"); w.Person(t, again) == me || w.Person(t, again) == "" {
				t.Errorf("signed in again as %q, was %q", w.Person(t, again), me)
			}
			if bystander.Email() != "grace@example.com" {
				t.Error("twin: another user's session ended")
			}
			if emailConfirm(t, w.Browser(), link); b.Email() != "" {
				t.Error("the old browser is signed in again")
			}
		})
	})
}
