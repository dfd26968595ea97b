package verify

import (
	"fmt"
	"strings"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

func account01(t *T) {
	t.Run("the attacker's account is first", func(t *T) {
		w, _ := accountWorld(t, nil)
		attacker, victim := w.Browser(), w.Browser()
		accountVia(attacker, w.OP, "plain", "ada") // this provider does not verify the address
		if attacker.Email() != "ada@example.com" {
			t.Fatalf("the attacker is %q", attacker.Email())
		}
		if a := accountRefused(t, w, victim, w.OP, "op", "ada"); !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
			t.Errorf("%s", a.Location())
		}
		if accountOwner(t, w, "op", "ada") != "" {
			t.Error("merged")
		}
		if accountVia(victim, w.OP, "op", "grace"); victim.Email() != "grace@example.com" {
			t.Error("twin: no one can sign in")
		}
	})
	t.Run("the attacker's password account is first", func(t *T) {
		w, _ := accountWorld(t, nil)
		if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "A", Email: "ada@example.com"}, nil); err != nil {
			t.Fatal(err)
		}
		attacker, victim := w.Browser(), w.Browser()
		if attacker.Login("ada"); w.Person(t, attacker) != "ada-id" {
			t.Fatal("twin: the attacker's own sign-in")
		}
		accountRefused(t, w, victim, w.OP, "op", "ada")
	})
	t.Run("the victim's account is first", func(t *T) {
		w, evil := accountWorld(t, nil)
		victim, attacker := w.Browser(), w.Browser()
		victim.SignIn(w.OP, "ada")
		if a := accountRefused(t, w, attacker, evil, "op2", "ada"); !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
			t.Errorf("%s", a.Location())
		}
		accountRefused(t, w, attacker, w.OP, "plain", "ada")
		if attacker.Email() != "" || victim.Email() != "ada@example.com" {
			t.Error("merged")
		}
		if a := accountVia(victim, w.OP, "plain", "ada", "link", "true"); a.Location() != arena.Origin || !accountHas(t, w, w.Person(t, victim), "plain") {
			t.Errorf("twin: with proof of both: %s", a.Location())
		}
	})
}

func account02(t *T) {
	w, _ := accountWorld(t, accountLinking)
	w.Browser().SignInByMail(w, "ada@example.com")
	for i, v := range []any{false, nil, "false", "true", "TRUE", 0, 1, "1", "yes", "", []any{true}, []any{}, map[string]any{"x": true}} {
		w.OP.SetFault(accountClaim("email_verified", v))
		b := w.Browser()
		if a := accountRefused(t, w, b, w.OP, "op", "ada"); !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
			t.Errorf("%d, %v: %s", i, v, a.Location())
		}
	}
	// An address that normalises to another one was verified for a different mailbox.
	for _, address := range []string{"ad\uff41@example.com", "ad\u1d43@example.com", "ada@ex\u24d0mple.com", "ada@example\u2024com"} {
		w.OP.SetFault(accountClaim("email", address))
		b := w.Browser()
		if back := b.Approve(w.OP, b.Begin("op"), "ada"); !strings.Contains(back, "code=") {
			t.Fatal(back)
		} else if b.Get(back); b.Email() == "ada@example.com" {
			t.Errorf("%q is linked to ada", address)
		}
	}
	w.OP.SetFault(idp.Fault{})
	b := w.Browser()
	if a := b.SignIn(w.OP, "ada"); accountOwner(t, w, "op", "ada") == "" || b.Email() != "ada@example.com" {
		t.Errorf("twin: true: %s", a.Location())
	}
	// If no user has the address yet, an unverified address stays unverified.
	w2 := t.Enter(nil)
	for sub, want := range map[string]bool{"ada": true, "alan": false} {
		w2.Browser().SignIn(w2.OP, sub)
		if u, err := w2.Store.GetUserByEmail(t.Context(), sub+"@example.com"); err != nil || u.EmailVerified.IsZero() == want {
			t.Errorf("%s is verified at %v, %v", sub, u.EmailVerified, err)
		}
	}
	w2.OP.SetFault(accountClaim("email", "\u212aim@example.com"))
	w2.Browser().SignIn(w2.OP, "grace")
	if u, err := w2.Store.GetUserByEmail(t.Context(), "kim@example.com"); err == nil && !u.EmailVerified.IsZero() {
		t.Error("the Kelvin sign proved the letter k")
	}
}

func account03(t *T) {
	for name, tune := range map[string]func(*authsvc.Config){
		"by default": nil,
		"with linking at the honest provider": func(c *authsvc.Config) {
			accountLinking(c)
			c.Providers[3].(*authsvc.OAuth).LinkVerifiedEmail = false
		},
	} {
		t.Run(name, func(t *T) {
			w, evil := accountWorld(t, tune)
			victim := w.Browser()
			victim.SignIn(w.OP, "ada")
			me := w.Person(t, victim)
			for _, more := range []idp.Fault{{}, accountClaim("email_verified", true), accountClaim("tid", "evil"), accountClaim("preferred_username", "ada@example.com"), accountClaim("upn", "ada@example.com"),
				accountClaim("oid", "ada"), accountClaim("xms_edov", true), {UserInfo: func(c map[string]any) { c["email"], c["email_verified"] = "ada@example.com", true }}} {
				evil.SetFault(more)
				attacker := w.Browser()
				accountRefused(t, w, attacker, evil, "op2", "ada")
				if attacker.Email() != "" {
					t.Errorf("in as %q", attacker.Email())
				}
			}
			evil.SetFault(accountClaim("email", nil))
			attacker := w.Browser()
			if accountVia(attacker, evil, "op2", "ada"); w.Person(t, attacker) == me || w.Person(t, attacker) == "" {
				t.Errorf("twin: without an address they are %q", w.Person(t, attacker))
			}
			if w.Person(t, victim) != me {
				t.Error("the victim is another user")
			}
		})
	}
}

func account04(t *T) {
	w, evil := accountWorld(t, nil)
	one, two := w.Browser(), w.Browser()
	one.SignIn(w.OP, "grace")
	accountVia(two, evil, "op2", "grace")
	if a, b := w.Person(t, one), w.Person(t, two); a == b || a == "" || b == "" {
		t.Errorf("%q and %q", a, b)
	}
	repointed := func(issuer string) error {
		c := w.Config
		c.Providers = append([]authsvc.Provider(nil), c.Providers...)
		o := *c.Providers[0].(*authsvc.OAuth)
		o.Issuer = issuer
		c.Providers[0] = &o
		s, err := engine.New(c)
		if err == nil {
			s.Close(t.Context())
		}
		return err
	}
	if err := repointed(evil.Issuer()); err == nil || !strings.Contains(err.Error(), "Providers[0] ") {
		t.Errorf("the id was pointed to another issuer: %v", err)
	}
	if err := repointed(w.OP.Issuer()); err != nil {
		t.Errorf("twin: %v", err)
	}
}

// accountSubs are ids that could be mistaken for one another.
var accountSubs = []string{"abc", "ABC", "Abc", "abc ", " abc", "abc\t", "a", "ä", "a\u0308", "ａ", "ß", "ss", "ı", "i", "İ", "0", "00", "0x0", "null",
	strings.Repeat("s", 255), strings.Repeat("s", 254) + "t", strings.Repeat("s", 254), "a:b", "a/b", "a%2Fb", "a\\b", "*", "%", "_", "'", "9007199254740993", "9007199254740992"}

func account05(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		w, _ := accountWorld(t, func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		people := map[string]string{}
		for _, sub := range accountSubs {
			w.OP.SetFault(idp.Fault{User: func(u map[string]any) { u["id"] = sub; delete(u, "email") }})
			b := w.Browser()
			back := b.Approve(w.OP, b.Begin("plain"), "katherine")
			a := b.Get(back)
			who := w.Person(t, b)
			if other, taken := people[who]; taken && who != "" {
				t.Errorf("%q is %q", sub, other)
			}
			if who == "" && !arena.IsRefusal(a) || who == "" && strings.Trim(sub, " \t") == sub {
				t.Errorf("%.20q: %d %s", sub, a.StatusCode, a.Location())
			}
			people[who] = sub
			again := w.Browser()
			if accountVia(again, w.OP, "plain", "katherine"); w.Person(t, again) != who {
				t.Errorf("twin: %.20q is another user the next time", sub)
			}
		}
		t.Figure("%d ids", len(people))
	})
	w := t.Enter(nil) // with OpenID
	seen := map[string]bool{}
	for _, sub := range []string{"abc", "ABC", "abc.", "0", "00", strings.Repeat("s", 255)} {
		if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: fmt.Sprint("p", len(sub))}); err != nil {
			t.Fatal(err)
		}
		b := w.Browser()
		b.SignIn(w.OP, sub)
		if who := w.Person(t, b); who == "" || seen[who] {
			t.Errorf("sub %.20q is %q", sub, who)
		} else {
			seen[who] = true
		}
	}
}

func account06(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	b.SignInByMail(w, "a@app.test")
	linking := b.Approve(w.OP, b.Begin("op", "link", "true"), "ada")
	if emailConfirm(t, b, emailAsk(t, w, b, "b@app.test")); b.Email() != "b@app.test" {
		t.Fatalf("now %q", b.Email())
	}
	w.MustRefuse(t, func() *browser.Answer { return b.Get(linking) })
	out := w.Browser()
	out.SignInByMail(w, "c@app.test")
	linking = out.Approve(w.OP, out.Begin("op", "link", "true"), "ada")
	out.Post("/api/auth/signout")
	w.MustRefuse(t, func() *browser.Answer { return out.Get(linking) })
	if accountOwner(t, w, "op", "ada") != "" {
		t.Error("linked to a user")
	}
	me := w.Person(t, b)
	b.SignIn(w.OP, "grace") // without OpenID, while signed in
	if who := accountOwner(t, w, "op", "grace"); who == me || who == "" {
		t.Errorf("a plain sign-in linked to %q", who)
	}
	if a := w.MustRefuse(t, func() *browser.Answer { return out.Post("/api/auth/signin/op", "link", "true") }); !strings.Contains(a.Location(), "SessionRequired") {
		t.Errorf("link without a session: %s", a.Location())
	}
	w.MustRefuse(t, func() *browser.Answer { return b.Post("/api/auth/signin/op", "link", "true", "csrfToken", "") })
	if a := b.Get("/api/auth/signin/op?link=true"); strings.HasPrefix(a.Location(), w.OP.Issuer()) {
		t.Error("a GET starts linking")
	}
	// In the query, link does not request linking.
	back := b.Approve(w.OP, b.Post("/api/auth/signin/op?link=true").Location(), "ada")
	if me = w.Person(t, b); b.Get(back).StatusCode != 302 || accountOwner(t, w, "op", "ada") == me {
		t.Error("link=true in the query linked")
	}
	me = w.Person(t, b)
	if b.SignIn(w.OP, "alan", "link", "true"); w.Person(t, b) != me || accountOwner(t, w, "op", "alan") != me {
		t.Error("twin: linking does not")
	}
}

func account07(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		owner, thief := w.Browser(), w.Browser()
		owner.SignIn(w.OP, "ada")
		thief.SignInByMail(w, "thief@app.test")
		me := w.Person(t, thief)
		accountRefused(t, w, thief, w.OP, "op", "ada", "link", "true")
		if accountOwner(t, w, "op", "ada") != w.Person(t, owner) {
			t.Error("moved")
		}
		if w.Person(t, thief) != me {
			t.Error("the thief's own session is another's")
		}
		if accountVia(thief, w.OP, "op", "grace", "link", "true"); accountOwner(t, w, "op", "grace") != me {
			t.Error("twin: a free identity is not linked")
		}
	})
}
