package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/chromium"
	"authsvc/provider"
)

// A state is a page of the engine in one situation. reach brings a new tab there.
type state struct {
	name  string
	reach func(s *site, b *chromium.Tab)
	shows []string
	focus string // element that gets the focus; empty: not checked
	tune  func(s *site, c *authsvc.Config)
}

// at returns a state that has its own address.
func at(name, path, focus string, shows ...string) state {
	return state{name: name, focus: focus, shows: shows, reach: func(s *site, b *chromium.Tab) { b.Open(s.base + path) }}
}

const (
	banner    = `[role=alert]`
	requestID = "&request=0123456789ab"
	opened    = "/verify-request?provider=email&type=email&opened=true"
)

func states() []state {
	return append(append(plainStates(), accountStates()...),
		state{name: "signin-marks", shows: []string{"Sign in with GitHub", "Sign in with Google"}, tune: wellKnown,
			reach: func(s *site, b *chromium.Tab) { b.Open(s.base + "/signin") }},
		state{name: "signin-many", shows: []string{"Sign in with Email", "GitHub", "Microsoft Entra ID", "Amazon", "X"}, tune: many,
			reach: func(s *site, b *chromium.Tab) { b.Open(s.base + "/signin") }},
		state{name: "signin-signed-in", shows: []string{"You are signed in", "ada@example.com", "Continue", "Your account", "Add a way to sign in or switch accounts"},
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); b.Open(s.base + "/signin") }},
		state{name: "signin-signed-in-ways", shows: []string{"Add to this account", "Use another account", "Last used", "Email me a link"},
			reach: func(s *site, b *chromium.Tab) {
				s.signIn(b, "ada", "/")
				b.Open(s.base + "/signin")
				b.Click(".ways > summary")
			}},
		state{name: "account", shows: []string{"Your account", "ada@example.com", "Ways to sign in", "Example ID", "Where you are signed in", "This browser"},
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); b.Open(s.base + "/account") }},
		state{name: "account-renamed", shows: []string{"Your name has been changed.", "Countess"}, focus: "[role=status]", reach: rename},
		state{name: "account-bad-name", shows: []string{"This name cannot be used"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				s.signIn(b, "ada", "/")
				b.Open(s.base + "/account?error=Invalid" + requestID)
			}},
		state{name: "account-add", shows: []string{"Add a way to sign in"},
			reach: func(s *site, b *chromium.Tab) {
				s.signIn(b, "ada", "/")
				b.Open(s.base + "/account")
				b.Click("section[aria-labelledby=ways] > details > summary")
			}},
		state{name: "undo", shows: []string{"Undo this change?", "Example ID was added", "grace@acme.test"}, reach: openUndo},
		state{name: "undo-done", shows: []string{"The change has been undone", "You have been signed out everywhere"},
			reach: func(s *site, b *chromium.Tab) {
				openUndo(s, b)
				b.Click("#submitButton")
				b.At(s.base + "/account/undo?done=undone")
			}},
		state{name: "undo-spent", shows: []string{"This link no longer works"},
			reach: func(s *site, b *chromium.Tab) { b.Open(s.base + "/account/undo?token=" + strings.Repeat("A", 43)) }},
		state{name: "stepup", shows: []string{"Confirm it’s you", "Continue with Example ID"},
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); b.Open(s.base + "/confirm?callbackUrl=%2F") }},
		state{name: "stepup-other", shows: []string{"That was a different account"}, focus: banner, reach: confirmAsAnother},
		state{name: "signin-wrong-password", shows: []string{"Sign in failed"}, focus: banner, reach: wrongPassword},
		state{name: "signin-bad-address", shows: []string{"could not be sent"}, focus: banner, reach: badAddress},
		state{name: "link-used", shows: []string{"You are already signed in", "grace@acme.test"},
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				link := s.mailTo("grace@acme.test")
				b.Open(link)
				b.Open(link)
			}},
		state{name: "link-dead", shows: []string{"no longer valid", "Email me a new link"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				other := newTab(s.t)
				askForLink(s, other)
				link := s.mailTo("grace@acme.test")
				other.Open(link)
				b.Open(link)
				b.At(s.base + "/error?error=Verification")
			}},
		state{name: "signin-not-linked", shows: []string{"same account you used originally"}, focus: banner, reach: notLinked},
		state{name: "signin-denied-there", shows: []string{"You did not finish signing in", "Try again"}, reach: cancelled},
		state{name: "signout", shows: []string{"Sign out of Acme", "ada@example.com", "Are you sure"},
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); b.Open(s.base + "/signout") }},
		state{name: "signout-done", shows: []string{"You are signed out", "Sign in", "Back to Acme"},
			reach: func(s *site, b *chromium.Tab) { b.Open(s.base + "/signout") }},
		state{name: "signout-failed", shows: []string{"still signed in"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); b.Open(s.base + "/signout?csrf=true") }},
		state{name: "verify-request", shows: []string{"Check your email", "grace@acme.test", "Enter the code from the email", "Send another code", "Use a different address"}, focus: "#code", reach: askForLink},
		state{name: "verify-request-links", shows: []string{"Check your email", "grace@acme.test", "Send another link"}, reach: askForLink, tune: noCodes},
		state{name: "verify-request-opened", shows: []string{"This browser is not signed in.", "Send another code to sign in here."}, focus: banner,
			reach: func(s *site, b *chromium.Tab) { askForLink(s, b); b.Open(s.base + opened) }},
		state{name: "verify-request-links-opened", shows: []string{"This browser is not signed in.", "Send another link, and open it in this browser."}, focus: banner, tune: noCodes,
			reach: func(s *site, b *chromium.Tab) { askForLink(s, b); b.Open(s.base + opened) }},
		state{name: "verify-request-still", shows: []string{"This browser is still signed in as ada@example.com."}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				s.signIn(b, "ada", "/")
				b.Open(s.base + "/signin")
				b.Click(".ways > summary")
				requestLink(s, b)
				b.Click(".links > a:last-of-type")
				b.At(s.base + opened)
			}},
		state{name: "verify-request-used", shows: []string{"You are already signed in", "grace@acme.test", "Continue"},
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				b.Open(s.mailTo("grace@acme.test"))
				b.Open(s.base + "/verify-request")
			}},
		state{name: "signin-correct", shows: []string{"Sign in to Acme"}, focus: "input[name=email][value='grace@acme.test']",
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				b.Click(".links a[href*='change=true']")
				b.At(s.base + "/signin#input-email-for-email-provider")
			}},
		state{name: "error-code-used", shows: []string{"This code no longer works", "Email me a new code"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				code, other := s.codeTo("grace@acme.test"), newTab(s.t)
				askForLink(s, other)
				other.Open(s.mailTo("grace@acme.test"))
				other.At(s.origin)
				wrongCode(b, code)
			}},
		state{name: "verify-request-again", shows: []string{"We sent you another email"}, focus: "",
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				b.Click(".links form[action$='/signin/email'] button")
				b.Wait(`document.querySelector("[role=status]")`)
			}},
		state{name: "verify-request-wrong", shows: []string{"That code is not correct. 4 tries left."}, focus: "#code",
			reach: func(s *site, b *chromium.Tab) { askForLink(s, b); wrongCode(b, "0000 0000") }},
		state{name: "verify-request-digits", shows: []string{"A code has eight digits."}, focus: "#code",
			reach: func(s *site, b *chromium.Tab) { askForLink(s, b); wrongCode(b, "123") }},
		state{name: "verify-request-spent", shows: []string{"The link in the email still works", "Send another code"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				for range 5 {
					wrongCode(b, "0000 0000")
				}
			}},
		state{name: "error-code-elsewhere", shows: []string{"A code works only in the browser that requested it", "Email me a new code"}, focus: banner,
			reach: func(s *site, b *chromium.Tab) {
				askForLink(s, b)
				chromium.Eval[bool](b, `(() => { document.querySelector("form[action$='/callback/email'] [name=email]").value = "other@acme.test"; return true })()`)
				wrongCode(b, "0000 0000")
			}},
		state{name: "confirm", shows: []string{"Sign in as grace@acme.test?", "continue in this browser"}, reach: linkElsewhere},
		state{name: "confirm-signed-in", shows: []string{"grace@acme.test", "You are signed in here as ada@example.com"},
			reach: func(s *site, b *chromium.Tab) { s.signIn(b, "ada", "/"); linkElsewhere(s, b) }},
		state{name: "notice", shows: []string{"Your address is confirmed", "Removed", "Example ID"}, reach: firstProof},
		state{name: "error-limited", shows: []string{"Please wait a moment", "Try again in"}, focus: banner, reach: limited,
			tune: func(_ *site, c *authsvc.Config) { c.RateLimit.SignIn = authsvc.Rate{N: 1, Per: time.Minute} }},
		state{name: "repost", shows: []string{"Signing you in"}, tune: formPost,
			reach: func(s *site, b *chromium.Tab) {
				b.Scripts(false)
				b.Open(s.base + "/signin")
				b.Click(".p-post button")
				s.choose(b, "ada")
				b.Click("noscript button")
				b.At(s.base + "/callback/post")
				b.Scripts(true) // axe needs scripts; the page's own no longer run
			}},
		state{name: "signout-provider", shows: []string{"Signing you out"}, tune: endsThere,
			reach: func(s *site, b *chromium.Tab) {
				s.signIn(b, "ada", "/")
				b.Scripts(false)
				b.Open(s.base + "/signout")
				b.Click("#submitButton")
				b.At(s.base + "/signout/provider")
				b.Scripts(true)
			}})
}

func plainStates() []state {
	list := []state{
		at("signin", "/signin", "", "Sign in to Acme", "Sign in with Example ID", "Email me a link"),
		at("signin-csrf", "/signin?csrf=true", banner, "open for too long"),
		at("signin-required", "/signin?error=SessionRequired&callbackUrl=%2Fprivate", "", "Please sign in to access this page"),
		at("signin-unknown-word", "/signin?error=NoSuchWord", banner, "Unable to sign in"),
		at("verify-request-unknown", "/verify-request", "", "Check your email", "Enter your address again"),
		at("error", "/error", banner, "Something went wrong", "Unable to sign in"),
		at("error-in-path", "/error/AccessDenied", banner, "do not have permission"),
		at("error-configuration", "/error?error=Configuration"+requestID, banner, "The problem is on our side", "0123456789ab"),
		at("error-denied", "/error?error=AccessDenied"+requestID, banner, "do not have permission"),
		at("error-verification", "/error?error=Verification"+requestID, banner, "no longer valid"),
	}
	// The errors that the sign-in page explains; error redirects there.
	for code, text := range map[string]string{
		"OAuthSignin": "different account", "OAuthCallback": "different account", "OAuthCreateAccount": "different account",
		"EmailCreateAccount": "different account", "Callback": "different account",
	} {
		list = append(list, at("signin-"+code, "/error?error="+code+requestID, banner, text, "0123456789ab"))
	}
	return list
}

func wrongPassword(s *site, b *chromium.Tab) {
	b.Open(s.base + "/signin")
	b.Fill("input[name=username]", "ada")
	b.Fill("input[name=password]", "wrong")
	b.Click("form[action$='/callback/credentials'] button:not(.reveal)")
	b.At(s.base + "/signin?error=CredentialsSignin")
}

// badAddress enters an address that the browser accepts and the engine refuses.
func badAddress(s *site, b *chromium.Tab) {
	b.Open(s.base + "/signin")
	b.Fill("input[name=email]", "ada@localhost")
	b.Click("#submitButton")
	b.At(s.base + "/signin?error=EmailSignin")
}

// notLinked signs in at a provider with the address of an existing user.
func notLinked(s *site, b *chromium.Tab) {
	if _, err := s.store.CreateUser(s.t.Context(), authsvc.User{ID: "0192c9a4-0000-7000-8000-000000000001", Email: "ada@example.com"}, nil); err != nil {
		s.t.Fatal(err)
	}
	b.Open(s.base + "/signin")
	b.Click(".p-op button")
	s.choose(b, "ada")
	b.At(s.base + "/signin?error=OAuthAccountNotLinked")
}

func cancelled(s *site, b *chromium.Tab) {
	b.Open(s.base + "/signin")
	b.Click(".p-op button")
	b.At(s.op.Issuer())
	b.Click("button[name=cancel]")
	b.At(s.base + "/error?error=AccessDenied")
}

func askForLink(s *site, b *chromium.Tab) {
	b.Open(s.base + "/signin")
	requestLink(s, b)
}

// requestLink fills in the sign-in page that is open.
func requestLink(s *site, b *chromium.Tab) {
	b.Fill("input[name=email]", "grace@acme.test")
	b.Click("#submitButton")
	b.At(s.base + "/verify-request")
}

// openUndo adds a sign-in method to a user who signed in by mail, and opens the link
// in the notice.
func openUndo(s *site, b *chromium.Tab) {
	askForLink(s, b)
	b.Open(s.mailTo("grace@acme.test"))
	b.Open(s.base + "/signin")
	b.Click(".ways > summary")
	b.Click(".p-op button")
	s.choose(b, "ada")
	b.At(s.origin)
	b.Open(s.undoTo("grace@acme.test"))
}

func noCodes(_ *site, c *authsvc.Config) {
	for _, p := range c.Providers {
		if e, ok := p.(*authsvc.Email); ok {
			e.Codes = new(false)
		}
	}
}

// wrongCode enters a code and waits for the answer.
func wrongCode(b *chromium.Tab, code string) {
	b.Fill("#code", code)
	chromium.Eval[bool](b, `window.before = true`)
	b.Click("form[action$='/callback/email'] button")
	b.Wait(`!window.before && document.readyState === "complete"`)
}

// linkElsewhere opens a link that another browser requested.
func linkElsewhere(s *site, b *chromium.Tab) {
	askForLink(s, newTab(s.t))
	b.Open(s.mailTo("grace@acme.test"))
	b.At(s.base + "/callback/email")
}

// firstProof proves the address of an account that was created with a provider that
// had not verified it.
func firstProof(s *site, b *chromium.Tab) {
	s.signIn(newTab(s.t), "alan", "/")
	b.Open(s.base + "/signin")
	b.Fill("input[name=email]", "alan@example.com")
	b.Click("#submitButton")
	b.At(s.base + "/verify-request")
	b.Open(s.mailTo("alan@example.com"))
	b.At(s.base + "/callback/email")
}

func limited(s *site, b *chromium.Tab) {
	for range 2 {
		b.Open(s.base + "/signin")
		b.Fill("input[name=email]", "grace@acme.test")
		b.Click("#submitButton")
		b.Wait(`!location.pathname.endsWith("/signin") && document.readyState === "complete"`)
	}
}

// formPost adds a provider that answers with a cross-site POST.
func formPost(s *site, c *authsvc.Config) {
	c.Providers = append(c.Providers, &authsvc.OAuth{ID: "post", Name: "Post ID", OpenID: true, Issuer: s.op.Issuer(),
		ResponseMode: "form_post", Client: authsvc.Client{ID: "app", Secret: clientSecret}})
}

// endsThere makes a sign-out continue at the provider.
func endsThere(s *site, c *authsvc.Config) {
	for _, p := range c.Providers {
		if o, ok := p.(*authsvc.OAuth); ok && o.ID == "op" {
			o.LogoutAtProvider, o.Endpoints.EndSession = true, s.op.Issuer()+"/end"
		}
	}
}

// wellKnown adds providers with logos, as a product would have.
func wellKnown(s *site, c *authsvc.Config) {
	providers := []authsvc.Provider{c.Providers[1]}
	for _, name := range []string{"Google", "GitHub"} {
		id := strings.ToLower(name)
		providers = slices.Insert(providers, 0, authsvc.Provider(&authsvc.OAuth{ID: id, Name: name, OpenID: true, Issuer: s.op.Issuer(),
			Client: authsvc.Client{ID: "app", Secret: clientSecret}, Style: authsvc.Style{Logo: id}}))
	}
	c.Providers = providers
}

// many adds the built-in providers that need only a client, with their logos.
func many(_ *site, c *authsvc.Config) {
	for _, e := range provider.All() {
		p, err := e.New(authsvc.Client{ID: "app", Secret: clientSecret}, nil)
		if err == nil && e.Protocol == "oauth2" && !e.NoClient && len(c.Providers) < 44 || e.ID == "microsoft-entra-id" || e.ID == "twitter" {
			c.Providers = append(c.Providers, p)
		}
	}
}

// TestEveryPage checks every page in every state: accessibility, security policies,
// loaded origins, the narrow screen and the focus.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	for _, st := range states() {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(s *site, c *authsvc.Config) {
				if st.tune != nil {
					st.tune(s, c)
				}
			})
			b := newTab(t)
			st.reach(s, b)
			titled(t, b, st.shows...)
			if st.focus != "" {
				focused(t, b, st.focus)
			}
			own := []string{s.origin, s.op.Issuer()}
			inspect(t, b, st.name, own...)
		})
	}
}

// TestWaiting checks that the page after a mail request continues by itself, or
// without scripts with a link.
func TestWaiting(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newSite(t, nil), newTab(t)
			b.Scripts(scripts)
			walkWaiting(s, b, scripts)
			b.Quiet()
		})
	}
}

// TestShowPassword checks that the button shows the password. It exists only with
// scripts, and the field is a password field again when the form is sent.
func TestShowPassword(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	s, b := newSite(t, nil), newTab(t)
	const field, kind = "input[name=password]", `document.querySelector("input[name=password]").type`
	b.Open(s.base + "/signin")
	b.Fill("input[name=username]", "ada")
	b.Fill(field, "right")
	for _, want := range []string{"text", "password", "text"} {
		b.Click(".reveal")
		if got := chromium.Eval[string](b, kind); got != want {
			t.Errorf("the field is %s, want %s", got, want)
		}
	}
	b.Shows("Hide password")
	inspect(t, b, "signin-password-shown", s.origin)
	if got := chromium.Eval[string](b, `(() => { const f = document.querySelector("input[name=password]").form;
		f.addEventListener("submit", e => e.preventDefault()); f.requestSubmit(); return `+kind+` })()`); got != "password" {
		t.Errorf("while it is sent the field is %s", got)
	}
	plain := newTab(t)
	plain.Scripts(false)
	plain.Open(s.base + "/signin")
	if n := chromium.Eval[int](plain, `document.querySelectorAll(".reveal").length`); n != 0 {
		t.Errorf("%d buttons without scripts", n)
	}
}

// TestLanguage checks that pages use the person's language.
func TestLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := newTab(t)
	b.Open(s.base + "/signin?ui_locales=" + url.QueryEscape("de en"))
	titled(t, b, "anmelden")
	if got := chromium.Eval[string](b, `document.documentElement.lang`); got != "de" {
		t.Errorf("lang is %q", got)
	}
	inspect(t, b, "signin-german", s.origin)
}
