package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/chromium"
)

// ownPages returns the HTML pages that docs/account.md shows: an account page, and a
// page that asks for a fresh proof.
func ownPages(t *testing.T) (account, confirm string) {
	t.Helper()
	raw, err := os.ReadFile("../docs/account.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, block := range strings.Split(string(raw), "```html\n")[1:] {
		page, _, _ := strings.Cut(block, "```")
		pages = append(pages, strings.Replace(page, `<meta charset="utf-8">`, `<meta charset="utf-8"><link rel="icon" href="data:,">`, 1))
	}
	if len(pages) != 2 {
		t.Fatalf("docs/account.md shows %d pages", len(pages))
	}
	return pages[0], pages[1]
}

// says is the condition that a page, which its script fills, shows a text.
func says(text string) string {
	return `document.body.innerText.includes(` + chromium.Quote(text) + `)`
}

// TestOwnAccountPage uses the pages of docs/account.md in a browser: they replace the
// built-in ones everywhere.
func TestOwnAccountPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *site, c *authsvc.Config) { c.Pages.Account, c.Pages.Confirm = "/me", "/sure" })
	account, confirm := ownPages(t)
	for path, page := range map[string]string{"/me": account, "/sure": confirm} {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write([]byte(page))
		})
	}
	b, elsewhere := newTab(t), newTab(t)
	b.Open(s.origin + "/me") // signed out: to the sign-in page, and back
	b.At(s.base + "/signin?callbackUrl=")
	b.Click(".p-op button")
	s.choose(b, "ada")
	b.At(s.origin + "/me")
	b.Wait(says("Example ID"))

	b.Wait(`document.querySelector("[name=name]").value !== ""`)
	b.Fill("[name=name]", "Countess of Lovelace")
	b.Click("form button")
	b.Wait(says("Saved."))
	b.Open(s.base + "/account?error=LastMethod&request=0123456789ab")
	b.At(s.origin + "/me?error=LastMethod&request=0123456789ab")
	b.Wait(says("You cannot remove your last way to sign in."))
	b.Wait(`document.querySelector("[name=name]").value === "Countess of Lovelace"`)

	s.signIn(elsewhere, "ada", "/")
	b.Open(s.origin + "/me")
	b.Click("#sessions button")
	b.Wait(says("Saved."))
	b.Wait(`document.querySelectorAll("#sessions button").length === 0`)
	if got := s.email(elsewhere); got != "" {
		t.Errorf("the other browser is still signed in as %s", got)
	}

	s.makeOld("ada@example.com")
	b.Open(s.origin + "/me")
	b.Click("#ways button")
	b.At(s.origin + "/sure?callbackUrl=")
	b.Wait(says("Confirm with Example ID"))
	b.Click("nav form button")
	s.choose(b, "grace") // another person
	b.At(s.origin + "/sure?callbackUrl=")
	b.Wait(says("That did not work. Try again."))
	b.Click("nav form button")
	s.choose(b, "ada")
	b.At(s.origin + "/me")
	b.Click("#ways button")
	b.Wait(says("Saved."))
	b.Wait(`document.querySelectorAll("#ways li").length === 0`)
	if n := s.count("POST /api/auth/confirm"); n != 2 {
		t.Errorf("a proof began %d times, want 2", n)
	}
	b.Quiet()
}

// TestOwnConfirmPage confirms with the application's own credentials on the page of
// docs/account.md: a wrong password leads back to it, the right one to the page before.
func TestOwnConfirmPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *site, c *authsvc.Config) {
		c.Pages.Confirm, c.Session.Strategy = "/sure", authsvc.StrategyJWT
	})
	_, confirm := ownPages(t)
	s.mux.HandleFunc("GET /sure", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(confirm))
	})
	b := newTab(t)
	b.Open(s.base + "/signin?callbackUrl=%2F%3Fin")
	b.Fill("[name=username]", "ada")
	b.Fill("[name=password]", "right")
	b.Key("\r")
	b.At(s.origin + "/?in")
	before := b.Cookies(s.base)["authsvc.session"]
	b.Open(s.base + "/confirm?callbackUrl=%2F%3Fpaid")
	b.At(s.origin + "/sure?callbackUrl=")
	for _, password := range []string{"wrong", "right"} {
		b.Fill("[name=username]", "ada")
		b.Fill("[name=password]", password)
		b.Click("nav form button")
		if password == "wrong" {
			b.Wait(says("That did not work. Try again."))
		}
	}
	b.At(s.origin + "/?paid")
	if after := b.Cookies(s.base)["authsvc.session"]; after == "" || after == before {
		t.Errorf("the session is the one from before the proof, or gone: %t", after == "")
	}
}
