package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

func onStore(k stores.Kind, t *testing.T) *arena.World {
	return arena.EnterInMemory(t, func(c *authsvc.Config) {
		c.Adapter, c.SignUp.Policy, c.Providers[0].(*authsvc.OAuth).LinkVerifiedEmail = k.Open(t), authsvc.SignUpInvited, true
	})
}

// TestInvitation checks that an invited person signs in with the mail, in any
// browser, once, owns the account, and can then use a provider. Other people cannot.
func TestInvitation(t *testing.T) {
	t.Parallel()
	for _, k := range stores.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			w := onStore(k, t)
			ctx := engine.WithActor(t.Context(), "cli:test")
			for range 2 { // it may be repeated until the person has signed in
				u, err := w.Invite(ctx, authsvc.Invitation{Email: "Ada@Example.com", Name: "Ada", Language: "de"})
				if err != nil || u.Email != "ada@example.com" || u.Name != "Ada" || !u.EmailVerified.IsZero() {
					t.Fatalf("%+v: %v", u, err)
				}
			}
			first, m := w.Mail.Next(t), w.Mail.Next(t)
			if m.To != "ada@example.com" || !strings.HasPrefix(m.Subject, "Einladung zu ") || !strings.Contains(m.Text, "7 Tage") || !strings.Contains(m.Text, "no-reply@app.test") {
				t.Errorf("%s: %s\n%s", m.To, m.Subject, m.Text)
			}
			if a := w.Browser().SignIn(w.OP, "ada"); !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") {
				t.Errorf("before the address is proved: %s", a.Location())
			}
			b := w.Browser()
			redeem(b, arena.Link(t, m))
			if b.Email() != "ada@example.com" {
				t.Fatalf("signed in as %q", b.Email())
			}
			for name, link := range map[string]string{"the link a second time": arena.Link(t, m), "the earlier link": arena.Link(t, first)} {
				if again := w.Browser(); redeem(again, link) || again.Email() != "" {
					t.Errorf("%s counts", name)
				}
			}
			if b := w.Browser(); b.SignIn(w.OP, "ada").Location() != arena.Origin || b.Email() != "ada@example.com" {
				t.Errorf("by the provider: %q", b.Email())
			}
			if a := w.Browser().SignIn(w.OP, "grace"); !strings.Contains(a.Location(), "error=AccessDenied") {
				t.Errorf("a person who is not invited: %s", a.Location())
			}
			if _, err := w.Invite(ctx, authsvc.Invitation{Email: "ada@example.com"}); !errors.Is(err, adapter.ErrConflict) {
				t.Errorf("a person who has signed in: %v", err)
			}
		})
	}
}

// redeem opens a link in a browser that did not request it and presses the button, if
// there is one.
func redeem(b *arena.Browser, link string) bool {
	page := b.Get(link)
	if !strings.Contains(page.Text, `name="token"`) {
		return false
	}
	q := arena.MustURL(b.T, link).Query()
	b.Post("/api/auth/callback/email", "token", q.Get("token"), "email", q.Get("email"))
	return true
}

// TestInvitationRefused checks that for people who cannot be invited nothing is
// stored or mailed.
func TestInvitationRefused(t *testing.T) {
	t.Parallel()
	w := arena.EnterInMemory(t, nil)
	u, err := w.CreateUser(t.Context(), authsvc.User{Email: "bob@example.com"})
	if err == nil {
		err = w.Block(t.Context(), u.ID, "spam")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"bob@example.com", "nowhere", ""} {
		if u, err := w.Invite(t.Context(), authsvc.Invitation{Email: address}); err == nil {
			t.Errorf("%q: %+v", address, u)
		}
	}
	if _, err := w.Invite(t.Context(), authsvc.Invitation{Email: "new@example.com", Name: "a\nb"}); err == nil {
		t.Error("a name of two lines")
	}
	w.Config.Providers = w.Config.Providers[:1]
	next, err := w.Service.Reconfigure(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.Service = next
	if _, err := w.Invite(t.Context(), authsvc.Invitation{Email: "eve@example.com"}); err == nil {
		t.Error("without mail")
	}
	for _, address := range []string{"new@example.com", "eve@example.com"} {
		if _, err := w.Store.GetUserByEmail(t.Context(), address); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := w.Close(context.Background()); err != nil || w.Mail.Count() != 0 {
		t.Errorf("%d mails, %v", w.Mail.Count(), err)
	}
}

// TestUpdateUser checks that if an operator changes the address, everything based on
// the old one ends: sessions, links to either address, and sign-ins in progress. A
// change of the name ends nothing.
func TestUpdateUser(t *testing.T) {
	t.Parallel()
	for _, k := range stores.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			w := arena.EnterInMemory(t, func(c *authsvc.Config) { c.Adapter = k.Open(t) })
			b := w.Browser()
			b.SignInByMail(w, "ada@example.com")
			u, err := w.Store.GetUserByEmail(ctx, "ada@example.com")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.CreateUser(ctx, authsvc.User{Email: "bob@example.com"}); err != nil {
				t.Fatal(err)
			}
			name, taken, odd := "Ada L.", "Bob@example.com", "a@b@c"
			if got, err := w.UpdateUser(ctx, u.ID, adapter.UserUpdate{Name: &name}); err != nil || got.Name != name || got.Email != u.Email || !got.EmailVerified.Equal(u.EmailVerified) {
				t.Errorf("the name: %+v, %v", got, err)
			}
			if _, err := w.UpdateUser(ctx, u.ID, adapter.UserUpdate{Email: &taken}); !errors.Is(err, adapter.ErrConflict) {
				t.Errorf("an address that is taken: %v", err)
			}
			if _, err := w.UpdateUser(ctx, u.ID, adapter.UserUpdate{Email: &odd}); err == nil {
				t.Error("an invalid address was accepted")
			}
			if _, err := w.UpdateUser(ctx, "u-none", adapter.UserUpdate{Name: &name}); !errors.Is(err, adapter.ErrNotFound) {
				t.Errorf("an unknown user: %v", err)
			}
			if b.Email() != "ada@example.com" {
				t.Fatal("a refused update ended the session")
			}
			oldLink, newLink := w.Browser(), w.Browser()
			oldLink.Post("/api/auth/signin/email", "email", "ada@example.com")
			toOld := arena.Link(t, w.Mail.Next(t))
			newLink.Post("/api/auth/signin/email", "email", "ada@new.example")
			toNew := arena.Link(t, w.Mail.Next(t))

			address := "Ada@New.example"
			got, err := w.UpdateUser(ctx, u.ID, adapter.UserUpdate{Email: &address})
			if err != nil || got.Email != "ada@new.example" || !got.EmailVerified.IsZero() || got.Epoch <= u.Epoch {
				t.Errorf("the address: %+v, %v", got, err)
			}
			if b.Session()["user"] != nil {
				t.Error("a session survives the change of address")
			}
			for link, b := range map[string]*arena.Browser{toOld: oldLink, toNew: newLink} {
				if b.Get(link); b.Email() != "" {
					t.Errorf("an earlier link signs in as %s", b.Email())
				}
			}
			if b := w.Browser(); b.SignInByMail(w, "ada@new.example") == nil || b.Email() != "ada@new.example" {
				t.Errorf("the new address: %q", b.Email())
			}
			now := time.Now()
			if got, err := w.UpdateUser(ctx, u.ID, adapter.UserUpdate{Email: &address, EmailVerified: &now}); err != nil || got.EmailVerified.IsZero() {
				t.Errorf("verified: %+v, %v", got, err)
			}
		})
	}
}
