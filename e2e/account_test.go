package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/chromium"
)

// rename changes the name on the account page.
func rename(s *site, b *chromium.Tab) {
	s.signIn(b, "ada", "/")
	b.Open(s.base + "/account")
	b.Click("section[aria-labelledby=you] summary")
	b.Fill("#name", "Augusta Ada King, Countess of Lovelace")
	b.Click("section[aria-labelledby=you] form button")
	b.At(s.base + "/account?done=renamed")
}

// confirmAsAnother signs in at the provider as a different person for a proof.
func confirmAsAnother(s *site, b *chromium.Tab) {
	s.signIn(b, "ada", "/")
	b.Open(s.base + "/confirm?callbackUrl=%2F")
	b.Click(".p-op button")
	s.choose(b, "grace")
	b.At(s.base + "/confirm?error=OAuthAccountNotLinked")
}

// accountStates returns the pages on which people change their address and delete their
// account.
func accountStates() []state {
	var h mouse
	signed := func(path string) func(*site, *chromium.Tab) {
		return func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); b.Open(s.base + path) }
	}
	asked := func(s *site, b *chromium.Tab) {
		s.signIn(b, "ada", "/")
		askForAddress(s, b, h, "countess@example.com")
	}
	// mailed opens a link in a mail about the change, in a browser without a session.
	mailed := func(address string, stops bool) func(*site, *chromium.Tab) {
		return func(s *site, b *chromium.Tab) {
			asked(s, newTab(s.t))
			b.Open(linkTo(s.t, s.changeMail(address), stops))
		}
	}
	const form = "form[action$='/account/email/confirm'] button"
	return []state{
		{name: "address", shows: []string{"Change your email address", "Your current address is ada@example.com"}, reach: signed("/account/email")},
		{name: "address-asked", shows: []string{"Check your new mailbox", "countess@example.com", "Enter the code from the email"}, reach: asked},
		{name: "address-wrong-code", shows: []string{"That code is not correct.", "4 tries left."}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				asked(s, b)
				h.enter(b, "#code", "0000 0000")
				h.press(b, form)
				b.At(s.base + "/account/email/confirm?error=Code")
			}},
		{name: "address-new", shows: []string{"Is countess@example.com your address?"}, reach: mailed("countess@example.com", false)},
		{name: "address-stop", shows: []string{"Change the address to countess@example.com?", "Stop the change"}, reach: mailed("ada@example.com", true)},
		{name: "address-failed", shows: []string{"This page was open for too long", "Is countess@example.com your address?"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				mailed("countess@example.com", false)(s, b)
				chromium.Eval[bool](b, `(document.querySelector("[name=csrfToken]").value = "wrong", true)`)
				h.press(b, form)
				b.Wait(`location.search.includes("error=csrf") && document.readyState === "complete"`)
			}},
		{name: "address-proved", shows: []string{"Thank you, the address has been confirmed"},
			reach: func(s *site, b *chromium.Tab) {
				mailed("countess@example.com", false)(s, b)
				h.press(b, form)
				b.At(s.base + "/account/email/confirm?done=proved")
			}},
		{name: "address-spent", shows: []string{"This link no longer works"},
			reach: func(s *site, b *chromium.Tab) { b.Open(s.base + "/account/email/confirm?id=x&token=y") }},
		{name: "account-deletion", shows: []string{"Your account will be deleted on 24 December 2099.", "Keep my account"},
			reach: func(s *site, b *chromium.Tab) {
				s.signIn(b, "ada", "/")
				u, err := s.store.GetUserByEmail(s.t.Context(), "ada@example.com")
				if err != nil {
					s.t.Fatal(err)
				}
				if err := s.store.SetPerson(s.t.Context(), u.ID, adapter.PersonUpdate{DeleteAfter: new(time.Date(2099, 12, 24, 18, 0, 0, 0, time.UTC))}, nil); err != nil {
					s.t.Fatal(err)
				}
				b.Open(s.base + "/account")
			}},
		{name: "delete", shows: []string{"Delete your account?", "ada@example.com"}, tune: deletable, reach: signed("/account/delete")},
		{name: "delete-scheduled", shows: []string{"Your account will be deleted", "Keep my account"}, tune: deletable,
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); askForDeletion(s, b, h) }},
		{name: "keep", shows: []string{"Your account is scheduled for deletion", "ada@example.com"}, tune: deletable,
			reach: func(s *site, b *chromium.Tab) {
				other := newTab(s.t)
				s.signIn(other, "ada", "/")
				askForDeletion(s, other, h)
				b.Open(s.base + "/signin")
				b.Click(".p-op button")
				s.choose(b, "ada")
				b.At(s.base + "/account/keep")
			}},
	}
}

// press moves the focus with the keyboard to a matching element and presses a key
// there.
func press(t *testing.T, b *chromium.Tab, css, key string) {
	t.Helper()
	for range 60 {
		b.Key("\t")
		if chromium.Eval[bool](b, `document.activeElement.matches(`+chromium.Quote(css)+`)`) {
			b.Key(key)
			return
		}
	}
	t.Fatalf("the keyboard does not reach %s", css)
}

// TestAccountByKeyboard renames, confirms, and adds and removes a sign-in method,
// without scripts or a mouse.
func TestAccountByKeyboard(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	s, b := newSite(t, nil), newTab(t)
	s.signIn(b, "ada", "/")
	b.Scripts(false)
	b.Open(s.base + "/account")
	press(t, b, "section[aria-labelledby=you] summary", "\r")
	press(t, b, "#name", "\x08")
	b.Write("Countess")
	b.Key("\r")
	b.At(s.base + "/account?done=renamed")
	b.Shows("Your name has been changed.", "Countess")
	focused(t, b, "[role=status]")

	press(t, b, "section[aria-labelledby=ways] > details > summary", "\r")
	press(t, b, "section[aria-labelledby=ways] .p-op button", "\r")
	s.choose(b, "katherine")
	b.At(s.base + "/account")
	b.Shows("Example ID (2)")
	press(t, b, "button[name=id]", "\r")
	b.At(s.base + "/account?done=unlinked")
	b.Shows("That way to sign in has been removed.")

	elsewhere := newTab(t)
	s.signIn(elsewhere, "katherine", "/")
	b.Open(s.base + "/account")
	press(t, b, "button[name=session]", "\r")
	b.At(s.base + "/account?done=ended")
	b.Shows("That browser has been signed out.", "You are not signed in anywhere else.")
	if got := s.email(elsewhere); got != "" {
		t.Errorf("the other browser is still signed in as %s", got)
	}

	b.Open(s.base + "/confirm?callbackUrl=%2F")
	press(t, b, "form.provider button", "\r")
	s.choose(b, "katherine")
	b.At(s.origin + "/")
	b.Quiet()
}

// TestAccountFull checks that an account with the maximum of shown sessions and
// sign-in methods, and the longest name, fits the narrowest screen.
func TestAccountFull(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	s, b := newSite(t, nil), newTab(t)
	s.signIn(b, "ada", "/")
	name := fillAccount(s)
	b.Open(s.base + "/account")
	b.Shows(name)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => { d.open = true }); void 0`))
	for css, want := range map[string]int{"section[aria-labelledby=ways] li.p-op": 50, "section[aria-labelledby=where] li": 100, "details:not([open])": 0} {
		if got := chromium.Eval[int](b, `document.querySelectorAll(`+chromium.Quote(css)+`).length`); got != want {
			t.Errorf("%d of %s, want %d", got, css, want)
		}
	}
	b.Size(320, 640)
	for _, direction := range []string{"ltr", "rtl"} {
		b.Do(chromedp.Evaluate[chromedp.Void](`document.documentElement.dir = ` + chromium.Quote(direction) + `; void 0`))
		settle(b)
		fits(t, b, "full account "+direction, 320)
		picture(t, b, screenshots(t), "account-full-320."+direction)
	}
	b.Quiet()
}

// fillAccount gives Ada 99 more sessions, 49 more sign-in methods, and a name, which
// it returns.
func fillAccount(s *site) string {
	s.t.Helper()
	ctx, now := s.t.Context(), time.Now()
	u, err := s.store.GetUserByEmail(ctx, "ada@example.com")
	if err != nil {
		s.t.Fatal(err)
	}
	epoch, err := s.store.GetEpoch(ctx, u.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	name := string([]rune("👩‍🔬 💫 " + strings.Repeat("לאבלייס", 5) + " آدا " + strings.Repeat("Countess", 9))[:100])
	if _, err := s.store.UpdateUser(ctx, u.ID, adapter.UserUpdate{Name: &name}); err != nil {
		s.t.Fatal(err)
	}
	for i := range 49 {
		if _, err := s.store.LinkAccount(ctx, authsvc.Account{ID: fmt.Sprint("account-", i), UserID: u.ID, Type: "oauth", Provider: "op", ProviderAccountID: fmt.Sprint("more-", i)}, epoch); err != nil {
			s.t.Fatal(err)
		}
	}
	for i := range 99 {
		began := now.Add(-time.Duration(i) * time.Hour)
		if _, err := s.store.CreateSession(ctx, adapter.SessionRecord{ID: fmt.Sprint("session-", i), SessionToken: fmt.Sprint("token-", i), Digest: fmt.Sprint("digest-", i), UserID: u.ID, Epoch: epoch,
			Expires: now.Add(24 * time.Hour), Began: began, Provider: "op", SessionOrigin: adapter.SessionOrigin{Network: "2001:db8:1234::/48",
				Agent: "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36"}}); err != nil {
			s.t.Fatal(err)
		}
	}
	return name
}
