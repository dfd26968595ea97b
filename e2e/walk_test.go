package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"authsvc"
	"authsvc/internal/test/chromium"
)

// A hand uses a page: it presses matching elements and types into them.
type hand interface {
	press(b *chromium.Tab, css string)
	enter(b *chromium.Tab, css, text string)
}

type mouse struct{}

func (mouse) press(b *chromium.Tab, css string)       { b.T.Helper(); b.Click(css) }
func (mouse) enter(b *chromium.Tab, css, text string) { b.T.Helper(); b.Fill(css, text) }

// keyboard uses only Tab and Enter, and checks that the focus is visible.
type keyboard struct{}

func (keyboard) press(b *chromium.Tab, css string) {
	b.T.Helper()
	reach(b, css)
	b.Key(kb.Enter)
}

func (keyboard) enter(b *chromium.Tab, css, text string) {
	b.T.Helper()
	reach(b, css)
	b.Write(text)
}

// reach presses Tab until a matching element has the focus.
func reach(b *chromium.Tab, css string) {
	b.T.Helper()
	b.Wait(`document.readyState === "complete" && document.querySelector(` + chromium.Quote(css) + `)`)
	for range 60 {
		if chromium.Eval[bool](b, `document.activeElement.matches(`+chromium.Quote(css)+`)`) {
			return
		}
		b.Key(kb.Tab)
		if !chromium.Eval[bool](b, `document.activeElement === document.body || (() => {
			const s = getComputedStyle(document.activeElement), r = document.activeElement.getBoundingClientRect()
			return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.top < innerHeight && r.bottom > 0
		})()`) {
			b.T.Errorf("%s: the focus cannot be seen on %s", b.URL(), chromium.Eval[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
	}
	b.T.Fatalf("%s: Tab does not reach %s", b.URL(), css)
}

// TestWalk visits every page by mouse and by keyboard, with and without JavaScript.
func TestWalk(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	for name, h := range map[string]hand{"mouse": mouse{}, "keyboard": keyboard{}} {
		for _, scripts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/scripts=%t", name, scripts), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(s *site, c *authsvc.Config) {
					c.Session.Strategy = "jwt" // lets credentials sign in users who are not stored
					formPost(s, c)
				})
				b := newTab(t)
				b.Scripts(scripts)
				walkProvider(s, b, h)
				walkLinking(s, b, h)
				walkSignOut(s, b, h)
				walkMail(s, b, h)
				walkSignOut(s, b, h)
				walkCode(s, b, h)
				walkConfirm(s, b, h)
				walkPassword(s, b, h)
				walkFormPost(s, b, h, scripts)
				b.Quiet()
				if left := chromium.Foreign(b.Loaded(), s.origin, s.op.Issuer()); len(left) > 0 {
					t.Errorf("loaded from elsewhere: %v", left)
				}
			})
		}
	}
}

func walkProvider(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dprovider")
	h.press(b, ".p-op button")
	b.At(s.op.Issuer())
	h.press(b, "button[value=ada]")
	b.At(s.origin + "/?from=provider")
	s.signedInAs(b, "ada@example.com")
}

// walkLinking adds an identity to the account, then switches to another identity.
func walkLinking(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dadding")
	h.press(b, ".ways > summary")
	h.press(b, ".p-op button[name=link]")
	b.At(s.op.Issuer())
	h.press(b, "button[value=katherine]")
	b.At(s.origin + "/?from=adding")
	s.signedInAs(b, "ada@example.com")

	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dswitching")
	h.press(b, ".ways > summary")
	h.press(b, ".p-op button:not([name])")
	b.At(s.op.Issuer())
	h.press(b, "button[value=grace]")
	b.At(s.origin + "/?from=switching")
	s.signedInAs(b, "grace@example.com")
}

func walkSignOut(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/signout?callbackUrl=%2F%3Ffrom%3Dsignout")
	h.press(b, "#submitButton")
	b.At(s.origin + "/?from=signout")
	s.signedInAs(b, "")
}

// walkMail requests a link twice and opens the second.
func walkMail(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dmail")
	h.enter(b, "input[name=email]", "joan@acme.test")
	h.press(b, "#submitButton")
	b.At(s.base + "/verify-request")
	s.mailTo("joan@acme.test")
	h.press(b, ".card form[action$='/signin/email'] button")
	b.Wait(`document.querySelector("[role=status]")`)
	b.Open(s.mailTo("joan@acme.test"))
	b.At(s.origin + "/?from=mail")
	s.signedInAs(b, "joan@acme.test")
}

// walkCode enters the code of a mail after a wrong one.
func walkCode(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dcode")
	h.enter(b, "input[name=email]", "joan@acme.test")
	h.press(b, "#submitButton")
	b.At(s.base + "/verify-request")
	h.enter(b, "#code", "0000 0000")
	h.press(b, "form[action$='/callback/email'] button")
	b.Wait(`document.querySelector("#code[aria-invalid]")`)
	h.enter(b, "#code", s.codeTo("joan@acme.test"))
	h.press(b, "form[action$='/callback/email'] button")
	b.At(s.origin + "/?from=code")
	s.signedInAs(b, "joan@acme.test")
}

// walkConfirm opens a link that another browser requested, while signed in as another
// user. Nothing may happen before the button is pressed.
func walkConfirm(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	v := newVisitor(s.t, s.auth, s.base)
	v.post("/signin/email", "email", "mary@acme.test", "callbackUrl", "/?from=confirm")
	b.Open(s.mailTo("mary@acme.test"))
	s.signedInAs(b, "joan@acme.test")
	h.press(b, "#submitButton")
	b.At(s.origin + "/?from=confirm")
	s.signedInAs(b, "mary@acme.test")
	walkSignOut(s, b, h)
}

// walkWaiting leaves the page open that says that a mail was sent. The page must
// continue once the link has been opened in another tab.
func walkWaiting(s *site, b *chromium.Tab, scripts bool) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dwaiting")
	b.Fill("input[name=email]", "edith@acme.test")
	b.Click("#submitButton")
	b.At(s.base + "/verify-request")
	const early = "noscript a"
	if !scripts { // others see no such link
		b.Click(early)
		b.At(s.base + opened)
		b.Wait(`document.querySelector("#opened")`)
	}
	tab := b.Sibling()
	tab.Open(s.mailTo("edith@acme.test"))
	tab.At(s.origin + "/?from=waiting")
	if !scripts {
		b.Click(early)
	}
	b.At(s.origin + "/?from=waiting")
	s.signedInAs(b, "edith@acme.test")
}

func walkPassword(s *site, b *chromium.Tab, h hand) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dpassword")
	form := "form[action$='/callback/credentials'] "
	for _, password := range []string{"wrong", "right"} {
		if password == "wrong" {
			h.enter(b, "input[name=username]", "ada")
		} // stays on the page
		h.enter(b, "input[name=password]", password)
		h.press(b, form+"button:not(.reveal)")
		if password == "wrong" {
			b.At(s.base + "/signin?error=CredentialsSignin")
			focused(s.t, b, banner)
		}
	}
	b.At(s.origin + "/?from=password")
	s.signedInAs(b, "ada@acme.test")
	walkSignOut(s, b, h)
}

// walkFormPost signs in with a provider that answers with a POST. Without scripts,
// this takes two more clicks.
func walkFormPost(s *site, b *chromium.Tab, h hand, scripts bool) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=%2F%3Ffrom%3Dpost")
	h.press(b, ".p-post button")
	b.At(s.op.Issuer())
	h.press(b, "button[value=alan]")
	if !scripts {
		b.Wait(`document.querySelector("noscript button")`)
		h.press(b, "noscript button")
		b.At(s.base + "/callback/post")
		h.press(b, ".card button")
	}
	b.At(s.origin + "/?from=post")
}

// signedInAs checks the session of the browser; "" means no session.
func (s *site) signedInAs(b *chromium.Tab, address string) {
	s.t.Helper()
	if got := s.email(b); got != address {
		s.t.Errorf("at %s: signed in as %q, want %q", b.URL(), got, address)
	}
}

// hop is a server on another site that redirects every request to target, including
// the query.
func hop(t *testing.T, target string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target+"?"+r.URL.RawQuery, http.StatusFound)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestForeignRedirects submits the built-in forms where the answer leads through
// other sites. Chromium applies form-action to each redirect, so a policy with
// form-action would silently stop the sign-in.
func TestForeignRedirects(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writePage(w, "<h1>Outside</h1>") }))
	t.Cleanup(outside.Close)
	s := newSite(t, func(s *site, c *authsvc.Config) {
		c.AllowedRedirects = []string{outside.URL}
		c.Providers = append(c.Providers, &authsvc.OAuth{ID: "far", Name: "Far ID", OpenID: true, Issuer: s.op.Issuer(),
			Endpoints: authsvc.Endpoints{
				Authorization: hop(t, hop(t, s.op.Issuer()+"/authorize")),
			}, Client: authsvc.Client{ID: "app", Secret: clientSecret}})
	})
	b := newTab(t)
	away := "?callbackUrl=" + url.QueryEscape(outside.URL+"/landed")

	b.Open(s.base + "/signin" + away)
	b.Click(".p-far button")
	s.choose(b, "ada")
	b.At(outside.URL + "/landed")
	s.signedInAs(b, "ada@example.com")

	b.Open(s.base + "/signout" + away)
	b.Click("#submitButton")
	b.At(outside.URL + "/landed")
	s.signedInAs(b, "")

	newVisitor(t, s.auth, s.base).post("/signin/email", "email", "mary@acme.test", "callbackUrl", outside.URL+"/landed")
	b.Open(s.mailTo("mary@acme.test"))
	b.Click("#submitButton")
	b.At(outside.URL + "/landed")
	s.signedInAs(b, "mary@acme.test")
	b.Quiet()
}
