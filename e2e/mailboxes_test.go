package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/chromium"
)

// changeMail waits for the mail about a change of address and removes it.
func (s *site) changeMail(address string) mailbox.Message {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), chromium.Patience)
	defer cancel()
	m, err := s.mail.Wait(ctx, func(m mailbox.Message) bool {
		return m.To[0] == address && slices.ContainsFunc(m.Links, func(link string) bool { return strings.Contains(link, "/account/email/confirm?") })
	})
	if err != nil {
		s.t.Fatalf("no mail about an address to %s: %v", address, err)
	}
	if err := s.mail.Delete(m.ID); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// linkTo returns the link in a mail that stops a change, or the link that does not.
func linkTo(t *testing.T, m mailbox.Message, stops bool) string {
	t.Helper()
	i := slices.IndexFunc(m.Links, func(link string) bool {
		return strings.Contains(link, "/account/email/confirm?") && strings.Contains(link, "stop=true") == stops
	})
	if i < 0 {
		t.Fatalf("no such link in %q", m.Links)
	}
	return m.Links[i]
}

// askForAddress requests another address for the signed-in user.
func askForAddress(s *site, b *chromium.Tab, h hand, address string) {
	s.t.Helper()
	b.Open(s.base + "/account")
	h.press(b, "section[aria-labelledby=you] a[href$='/account/email']")
	b.At(s.base + "/account/email")
	h.enter(b, "#email", address)
	h.press(b, "form[action$='/account/email'] button")
	b.At(s.base + "/account/email/confirm")
}

// TestAddressByKeyboard changes an address through both mailboxes, and stops a change
// from the old mailbox and on the account page, without scripts or a mouse.
func TestAddressByKeyboard(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	s, b, h := newSite(t, nil), newTab(t), keyboard{}
	s.signIn(b, "ada", "/")
	b.Scripts(false)

	askForAddress(s, b, h, "countess@example.com")
	old := s.changeMail("ada@example.com")
	h.enter(b, "#code", "0000 0000")
	h.press(b, "form[action$='/account/email/confirm'] button")
	b.At(s.base + "/account/email/confirm?error=Code")
	b.Shows("That code is not correct.", "4 tries left.")
	focused(t, b, banner)
	h.enter(b, "#code", s.changeMail("countess@example.com").Code)
	h.press(b, "form[action$='/account/email/confirm'] button")
	b.Wait(`location.search === "" && document.readyState === "complete"`)
	b.Shows("countess@example.com is confirmed.", "We also asked ada@example.com")
	s.signedInAs(b, "ada@example.com")
	b.Open(linkTo(t, old, false))
	b.Shows("countess@example.com")
	h.press(b, "form[action$='/account/email/confirm'] button.primary")
	b.At(s.base + "/account?done=address")
	b.Shows("Your email address has been changed.", "countess@example.com")
	focused(t, b, "[role=status]")
	s.signedInAs(b, "countess@example.com")

	elsewhere := newTab(t)
	elsewhere.Scripts(false)
	askForAddress(s, b, h, "duchess@example.com")
	fresh := s.changeMail("duchess@example.com")
	elsewhere.Open(linkTo(t, s.changeMail("countess@example.com"), true))
	h.press(elsewhere, "form[action$='/account/email/confirm'] button.primary")
	elsewhere.At(s.base + "/account/email/confirm?done=stopped")
	elsewhere.Shows("The change has been stopped")
	elsewhere.Open(linkTo(t, fresh, false))
	elsewhere.Shows("This link no longer works")

	askForAddress(s, b, h, "duchess@example.com")
	h.press(b, "form[action$='/account/email/cancel'] button")
	b.At(s.base + "/account?done=unchanged")
	b.Shows("Your email address has not been changed.", "countess@example.com")
	focused(t, b, "[role=status]")
	b.Quiet()
}

// deletable allows people to delete their accounts.
func deletable(_ *site, c *authsvc.Config) { c.Account.Delete = true }

// askForDeletion requests the deletion of Ada's account.
func askForDeletion(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/account")
	h.press(b, "a[href$='/account/delete']")
	b.At(s.base + "/account/delete")
	h.enter(b, "#confirm", "ada@example.com")
	h.press(b, "form[action$='/account/delete'] button")
	b.At(s.base + "/account/delete?done=scheduled")
}

// TestLeaveByKeyboard exports the data of an account, signs out everywhere else,
// deletes the account and keeps it, immediately and by signing in, without scripts or
// a mouse.
func TestLeaveByKeyboard(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	s, b, h := newSite(t, deletable), newTab(t), keyboard{}
	dir := t.TempDir()
	b.Downloads(dir)
	s.signIn(b, "ada", "/")
	others := []*chromium.Tab{newTab(t), newTab(t)}
	for _, other := range others {
		s.signIn(other, "ada", "/")
	}
	b.Scripts(false)

	b.Open(s.base + "/account")
	h.press(b, "button[name=others]")
	b.At(s.base + "/account?done=others")
	b.Shows("You have been signed out everywhere else.", "You are not signed in anywhere else.")
	for _, other := range others {
		s.signedInAs(other, "")
	}
	h.press(b, "a[href$='/account/export']")
	exported(t, s, dir)

	b.Open(s.base + "/account")
	h.press(b, "a[href$='/account/delete']")
	h.enter(b, "#confirm", "grace@example.com")
	h.press(b, "form[action$='/account/delete'] button")
	b.At(s.base + "/account/delete?error=Invalid")
	b.Shows("Nothing has been deleted.")
	focused(t, b, banner)
	if typed := chromium.Eval[string](b, `document.getElementById("confirm").value`); typed != "grace@example.com" {
		t.Errorf("what was typed is %q", typed)
	}

	askForDeletion(s, b, h)
	s.signedInAs(b, "")
	h.press(b, "form[action$='/account/keep'] button")
	b.At(s.base + "/account/keep?done=kept")
	b.Shows("Your account will not be deleted")
	s.signIn(b, "ada", "/")
	askForDeletion(s, b, h)
	for _, choice := range []struct{ button, leads string }{{"button[name=leave]", s.origin + "/"}, {"button.primary", s.base + "/account/keep?done=kept"}} {
		b.Open(s.base + "/signin")
		h.press(b, ".p-op button")
		b.At(s.op.Issuer())
		h.press(b, "button[value=ada]")
		b.At(s.base + "/account/keep")
		b.Shows("Your account is scheduled for deletion", "ada@example.com")
		h.press(b, "form[action$='/account/keep'] "+choice.button)
		b.Wait(`location.href === ` + chromium.Quote(choice.leads) + ` && document.readyState === "complete"`) // At would accept any page of the origin
	}
	h.press(b, "a.primary")
	b.At(s.base + "/signin")
	h.press(b, ".p-op button")
	b.At(s.op.Issuer())
	h.press(b, "button[value=ada]")
	b.At(s.origin + "/")
	s.signedInAs(b, "ada@example.com")
	b.Quiet()
}

// exported waits for the export file in a directory and checks that it is about Ada.
func exported(t *testing.T, s *site, dir string) {
	t.Helper()
	var raw []byte
	s.eventually(func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "account-*.json"))
		if len(files) == 1 {
			raw, _ = os.ReadFile(files[0])
		}
		return json.Valid(raw)
	}, "nothing was downloaded")
	var file struct {
		User     struct{ Email string }
		Sessions []any
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.User.Email != "ada@example.com" || len(file.Sessions) != 1 {
		t.Errorf("the file: %v\n%s", err, raw)
	}
}
