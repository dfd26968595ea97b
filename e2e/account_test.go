package e2e

import (
	"testing"

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

// confirmAsAnother proves at the provider that somebody else is there.
func confirmAsAnother(s *site, b *chromium.Tab) {
	s.signIn(b, "ada", "/")
	b.Open(s.base + "/confirm?callbackUrl=%2F")
	b.Click(".p-op button")
	s.choose(b, "grace")
	b.At(s.base + "/confirm?error=OAuthAccountNotLinked")
}

// press moves the focus by the keyboard until an element has it that matches, and
// presses a key there.
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

// TestAccountByKeyboard: rename, confirm, add a way to sign in, and remove one,
// without scripts and without a mouse.
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
	b.Shows("Your name is changed.", "Countess")
	focused(t, b, "[role=status]")

	press(t, b, "section[aria-labelledby=ways] > details > summary", "\r")
	press(t, b, "section[aria-labelledby=ways] .p-op button", "\r")
	s.choose(b, "katherine")
	b.At(s.base + "/account")
	b.Shows("Example ID (2)")
	press(t, b, "button[name=id]", "\r")
	b.At(s.base + "/account?done=unlinked")
	b.Shows("That way to sign in is removed.")

	elsewhere := newTab(t)
	s.signIn(elsewhere, "katherine", "/")
	b.Open(s.base + "/account")
	press(t, b, "button[name=session]", "\r")
	b.At(s.base + "/account?done=ended")
	b.Shows("That browser is signed out.", "You are signed in nowhere else.")
	if got := s.email(elsewhere); got != "" {
		t.Errorf("the other browser is still signed in as %s", got)
	}

	b.Open(s.base + "/confirm?callbackUrl=%2F")
	press(t, b, "form.provider button", "\r")
	s.choose(b, "katherine")
	b.At(s.origin + "/")
	b.Quiet()
}
