package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/idp"
)

func TestAttackLinking(t *testing.T) {
	t.Parallel()
	t.Run("account-01 classic-federated merge", func(t *testing.T) {
		t.Parallel()
		w, _ := twoProviders(t)
		attacker := w.browser()
		attacker.get(attacker.approve(w.op, attacker.begin("plain"), "ada")) // nobody verified the address there
		if attacker.email() != "ada@example.com" {
			t.Fatalf("attacker is %q\n%s", attacker.email(), w.logs)
		}
		victim := w.browser()
		back := victim.approve(w.op, victim.begin("op"), "ada")
		if a := w.mustRefuseLate(t, func() *answer { return victim.get(back) }); !strings.Contains(a.location(), "OAuthAccountNotLinked") {
			t.Errorf("%s", a.location())
		}
	})
	t.Run("account-01 account-03 and the reverse", func(t *testing.T) {
		t.Parallel()
		w, evil := twoProviders(t)
		victim := w.browser()
		victim.signIn(w.op, "ada")
		attacker := w.browser()
		back := attacker.approve(evil, attacker.begin("op2"), "ada") // asserts ada's address, verified, and ada's sub
		w.mustRefuseLate(t, func() *answer { return attacker.get(back) })
		if attacker.email() != "" || victim.email() != "ada@example.com" {
			t.Error("merged")
		}
	})
	t.Run("account-04 same sub, two issuers", func(t *testing.T) {
		t.Parallel()
		w, evil := twoProviders(t)
		one, two := w.browser(), w.browser()
		one.signIn(w.op, "ada")
		if _, err := evil.AddPerson(idp.Person{Sub: "grace", Name: "G", Email: "g2@example.com"}); err != nil {
			t.Fatal(err)
		}
		one.signIn(w.op, "grace")
		two.get(two.approve(evil, two.begin("op2"), "grace"))
		if a, b := w.person(t, one), w.person(t, two); a == b || b == "" {
			t.Errorf("%q %q\n%s", a, b, w.logs)
		}
		c := w.config
		c.Providers = append([]authsvc.Provider(nil), c.Providers...)
		o := *c.Providers[0].(*authsvc.OAuth)
		o.Issuer = evil.Issuer()
		c.Providers[0] = &o
		if s, err := authsvc.New(c); err == nil || !strings.Contains(err.Error(), "providers.op ") {
			t.Errorf("the id was pointed to another issuer: %v", err)
			s.Close(context.Background())
		}
	})
	t.Run("account-06 linking without intent", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		b := w.browser()
		b.signInByMail(w.world, "a@app.test")
		linking := b.approve(w.op, b.begin("op", "link", "true"), "ada")
		b.signInByMail(w.world, "b@app.test")
		if b.email() != "b@app.test" {
			b.post("/api/auth/callback/email", formOf(t, link(t, w.mail.sent[len(w.mail.sent)-1]))...)
		}
		if b.email() != "b@app.test" {
			t.Fatalf("now %q", b.email())
		}
		w.mustRefuse(t, func() *answer { return b.get(linking) })
		if _, err := w.store.GetUserByAccount(t.Context(), "op", "ada"); !errors.Is(err, authsvc.ErrNotFound) {
			t.Error("linked to somebody")
		}
		b.signIn(w.op, "grace") // plain, while signed in
		if u, err := w.store.GetUserByAccount(t.Context(), "op", "grace"); err != nil || u.Email != "grace@example.com" {
			t.Errorf("a plain sign-in linked: %+v %v", u, err)
		}
		out := w.browser()
		if a := w.mustRefuse(t, func() *answer { return out.post("/api/auth/signin/op", "link", "true") }); !strings.Contains(a.location(), "SessionRequired") {
			t.Errorf("link without a session: %s", a.location())
		}
		me := w.person(t, b)
		if b.signIn(w.op, "alan", "link", "true"); w.person(t, b) != me {
			t.Error("twin: linking changed the person")
		}
		if u, err := w.store.GetUserByAccount(t.Context(), "op", "alan"); err != nil || u.ID != me {
			t.Errorf("twin: not linked: %v", err)
		}
	})
	t.Run("account-07 identity owned by another", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		owner, thief := w.browser(), w.browser()
		owner.signIn(w.op, "ada")
		thief.signInByMail(w.world, "thief@app.test")
		back := thief.approve(w.op, thief.begin("op", "link", "true"), "ada")
		w.mustRefuseLate(t, func() *answer { return thief.get(back) })
		if u, err := w.store.GetUserByAccount(t.Context(), "op", "ada"); err != nil || u.ID != w.person(t, owner) {
			t.Error("moved")
		}
		if thief.email() != "thief@app.test" {
			t.Error("the thief's own session is gone")
		}
	})
}

func TestAttackPreHijack(t *testing.T) {
	t.Parallel()
	for _, strategy := range both {
		t.Run("account-08 account-09 "+strategy, func(t *testing.T) {
			t.Parallel()
			w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			attacker := w.browser()
			attacker.signIn(w.op, "alan") // unverified alan@example.com
			attacker.signIn(w.op, "katherine", "link", "true")
			pending := attacker.approve(w.op, attacker.begin("op", "link", "true"), "grace")
			owner := w.browser()
			if a := owner.signInByMail(w.world, "alan@example.com"); a.StatusCode != 200 || !strings.Contains(a.body, "Example") {
				t.Errorf("the page does not say what was removed: %d %s", a.StatusCode, a.body)
			}
			if attacker.email() != "" || owner.email() != "alan@example.com" {
				t.Errorf("attacker %q, owner %q", attacker.email(), owner.email())
			}
			w.mustRefuse(t, func() *answer { return attacker.get(pending) })
			u := w.person(t, owner)
			if list, err := w.store.ListAccounts(t.Context(), u); err != nil || len(list) != 0 {
				t.Errorf("left: %v %v", list, err)
			}
			again := w.browser()
			if again.signIn(w.op, "katherine"); w.person(t, again) == u {
				t.Error("the trojan identity still leads to the owner")
			}
			if a := owner.signIn(w.op, "alan", "link", "true"); a.location() != origin || w.person(t, owner) != u {
				t.Errorf("twin: the owner cannot add it again: %s", a.location())
			}
		})
	}
	t.Run("account-08 twin: a verified user keeps sessions", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		b := w.browser()
		b.signIn(w.op, "ada")
		w.browser().signInByMail(w.world, "ada@example.com")
		if b.email() != "ada@example.com" {
			t.Error("a second proof ended sessions")
		}
	})
}

func TestAttackVerifiedEmail(t *testing.T) {
	t.Parallel()
	linking := func(t *testing.T) *arena {
		return enter(t, func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).LinkVerifiedEmail = true })
	}
	for i, v := range []any{false, nil, "false", "true", 0, 1, "yes", []any{true}, map[string]any{"x": true}} {
		t.Run(fmt.Sprintf("account-02 email_verified %d", i), func(t *testing.T) {
			t.Parallel()
			w := linking(t)
			w.browser().signInByMail(w.world, "ada@example.com")
			w.op.SetFault(claim("email_verified", v))
			b := w.browser()
			back := b.approve(w.op, b.begin("op"), "ada")
			if a := w.mustRefuseLate(t, func() *answer { return b.get(back) }); !strings.Contains(a.location(), "OAuthAccountNotLinked") {
				t.Errorf("%v: %s", v, a.location())
			}
			w.op.SetFault(idp.Fault{})
			if a := b.signIn(w.op, "ada"); a.location() != origin {
				t.Errorf("twin: %s", a.location())
			}
		})
	}
	t.Run("account-12 dangerous linking is off by default", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		w.browser().signInByMail(w.world, "ada@example.com")
		b := w.browser()
		back := b.approve(w.op, b.begin("op"), "ada")
		w.mustRefuseLate(t, func() *answer { return b.get(back) })
	})
	t.Run("account-12 the stored side must be verified too", func(t *testing.T) {
		t.Parallel()
		w := linking(t)
		if _, err := w.store.CreateUser(t.Context(), authsvc.User{ID: "u", Email: "ada@example.com"}); err != nil {
			t.Fatal(err)
		}
		b := w.browser()
		back := b.approve(w.op, b.begin("op"), "ada")
		w.mustRefuseLate(t, func() *answer { return b.get(back) })
	})
	t.Run("account-13 address change at the provider", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		b := w.browser()
		b.signIn(w.op, "ada")
		me := w.person(t, b)
		b.signIn(w.op, "grace")
		for _, address := range []string{"free@example.com", "grace@example.com"} {
			w.op.SetFault(claim("email", address))
			c := w.browser()
			if a := c.signIn(w.op, "ada"); a.location() != origin || w.person(t, c) != me {
				t.Errorf("%s: %s", address, a.location())
			}
		}
	})
}

func TestAttackHooks(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]func() (string, error){
		"denies":                    func() (string, error) { return "", authsvc.ErrAccessDenied },
		"fails":                     func() (string, error) { return "", errors.New("database down") },
		"fails and redirects":       func() (string, error) { return "/in", errors.New("x") },
		"panics":                    func() (string, error) { panic("hook") },
		"panics with nil pointer":   func() (string, error) { var p *authsvc.User; return p.Name, nil },
		"leads to a foreign site":   func() (string, error) { return "https://evil.test/", nil },
		"leads to a foreign site 2": func() (string, error) { return "//evil.test/", nil },
	} {
		t.Run("account-14 httpwire-14 a signIn hook that "+name, func(t *testing.T) {
			t.Parallel()
			w := enter(t, func(c *authsvc.Config) {
				c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return hook() }
			})
			b := w.browser()
			back := b.approve(w.op, b.begin("op"), "ada")
			if a := w.mustRefuseLate(t, func() *answer { return b.get(back) }); !strings.Contains(a.location(), "AccessDenied") {
				t.Errorf("%s", a.location())
			}
		})
	}
	t.Run("account-14 twin: an allowed redirect without a session", func(t *testing.T) {
		t.Parallel()
		w := enter(t, func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "/unlisted", nil }
		})
		b := w.browser()
		if a := b.signIn(w.op, "ada"); a.location() != origin+"/unlisted" || b.email() != "" || w.led.lasting() != "" {
			t.Errorf("%s %q", a.location(), b.email())
		}
	})
	t.Run("account-15 hostile profile", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		w.op.SetFault(idp.Fault{IDToken: func(c map[string]any) {
			c["name"] = "A\u202eB\x00\x1b[31m<script>" + strings.Repeat("n", 10_000)
			c["picture"] = "javascript:alert(1)"
			c["email"] = "x@app.test\r\nBcc: y@app.test"
		}})
		b := w.browser()
		if a := b.signIn(w.op, "ada"); a.location() != origin {
			t.Fatalf("%s\n%s", a.location(), w.logs)
		}
		u, err := w.store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil || len(u.Name) > 1100 || strings.ContainsAny(u.Name, "\x00\x1b\u202e") || u.Image != "" || u.Email != "" {
			t.Errorf("stored %.60q %q %q, %v", u.Name, u.Image, u.Email, err)
		}
		if body := b.get("/api/auth/session").body; strings.Contains(body, "<script>") {
			t.Error("markup is not escaped in JSON")
		}
	})
}
