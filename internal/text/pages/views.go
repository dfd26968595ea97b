package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The views below are what actions hand to pages.render. Their strings are
// escaped by the templates; URLs in them have been checked by the caller.

// SignInView fills the sign-in page.
type SignInView struct {
	CSRFToken   string
	CallbackURL string
	Error       string // empty: no banner
	Reason      string // adds to Error: cancelled, unavailable, stale
	Provider    string // the name of the one that Reason is about
	RequestID   string // shown in the banner
	Providers   []Provider
	Email       string // what the e-mail field starts with
	// SignedIn names the person of the live session. Each provider can then be
	// added to that account or be used to sign in as somebody else.
	SignedIn string
	Name     string // the person's, as far as it is known
	Picture  string // https address of the person's; see Policy
	Fresh    string // of the form that adds a way to sign in
	Home     bool   // CallbackURL leads back to this page: there is nothing to go on to
	// SignOutPage is the application's own page for signing out, if it has one.
	SignOutPage string
	// Again names, in place of SignedIn, the person whose session does not
	// suffice: the page offers the ways to sign in, and none to go on without.
	Again      string
	RetryAfter int // seconds, with RateLimited
	// UILocales are the languages that the page was asked in, if not by the
	// browser's header: the form for a link repeats them, for the mail.
	UILocales string
}

// Provider is one way to sign in.
type Provider struct {
	ID, Name string
	Kind     string // wire type: oauth, oidc, email, credentials
	Form     string // button, email or fields
	Action   string // URL that its form posts to
	Style    Style
	Fields   []Field // of Form "fields"; a form without any is not shown
	Typed    string  // what the first of them starts with, if that is no password
	Forgot   string  // where a forgotten password is replaced; empty: nowhere
	LastUsed bool
}

// Buttons are the providers that need no input, in their order.
func (v SignInView) Buttons() []Provider {
	var list []Provider
	for _, p := range v.Providers {
		if p.Form == "button" {
			list = append(list, p)
		}
	}
	return list
}

// Forms are the providers that ask for something, in their order.
func (v SignInView) Forms() []Provider {
	var list []Provider
	for _, p := range v.Providers {
		if p.Form == "email" || p.Form == "fields" && len(p.Fields) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// Above these numbers of buttons, forms stand above them, where a telephone
// shows them without scrolling, and the buttons stand side by side.
const (
	maxButtonsAboveForms = 6
	maxButtonsInColumn   = 10
)

// FormsFirst says whether the forms stand above the buttons.
func (v SignInView) FormsFirst() bool {
	return v.SignedIn == "" && len(v.Buttons()) > maxButtonsAboveForms && len(v.Forms()) > 0
}

// Tiles says whether the buttons stand side by side.
func (v SignInView) Tiles() bool { return v.SignedIn == "" && len(v.Buttons()) > maxButtonsInColumn }

// Distinct returns the providers with names that can be told apart: where
// several have one name, their ids follow it.
func Distinct(providers []Provider) []Provider {
	list := slices.Clone(providers)
	for i := range list {
		same := func(p Provider) bool { return p.ID != list[i].ID && strings.EqualFold(p.Name, providers[i].Name) }
		if slices.ContainsFunc(providers, same) {
			list[i].Name += " (" + list[i].ID + ")"
		}
	}
	return list
}

// LastUsedFirst marks the provider with this id, if there is one, and puts it
// in front. The rest keeps its order.
func LastUsedFirst(providers []Provider, id string) []Provider {
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		return slices.Clone(providers)
	}
	last := providers[i]
	last.LastUsed = true
	return append(append([]Provider{last}, providers[:i]...), providers[i+1:]...)
}

// HasPassword says whether a form asks for one.
func (v SignInView) HasPassword() bool {
	return slices.ContainsFunc(v.Forms(), func(p Provider) bool {
		return slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Type == "password" })
	})
}

// Required says whether the page is only shown because something needs a
// session, which is no error.
func (v SignInView) Required() bool { return v.Error == "SessionRequired" }

// Overtaken says whether an attempt is stale because another one, in another tab,
// signed the person in, which is no reason for alarm.
func (v SignInView) Overtaken() bool { return v.SignedIn != "" && v.Reason == "stale" }

// FirstForm says whether p's button carries the id that NextAuth gives to the
// e-mail button; ids are unique, so only the first does.
func (v SignInView) FirstForm(p Provider) bool {
	for _, f := range v.Forms() {
		if f.Form == "email" {
			return f.ID == p.ID
		}
	}
	return false
}

// Blames says whether the error is about what was typed into a kind of form.
func (v SignInView) Blames(form string) bool {
	return v.Error == "EmailSignin" && form == "email" || v.Error == "CredentialsSignin" && form == "fields"
}

// Fill puts the name or address that was typed before into the form of a
// provider.
func (v *SignInView) Fill(provider, name string) {
	for i, p := range v.Providers {
		switch {
		case p.ID != provider:
		case p.Form == "email":
			v.Email = cmp.Or(v.Email, name)
		case p.Form == "fields":
			v.Providers[i].Typed = name
		}
	}
}

// SignOutView asks whether to sign out.
type SignOutView struct {
	CSRFToken   string
	CallbackURL string // where "stay signed in" leads, and the form's callbackUrl
	Who         string // name or address of the person
	Error       bool   // the last try was refused
	RequestID   string
}

// ErrorView fills the error page. Its status is errorStatus(Code).
type ErrorView struct {
	Code       string
	Reason     string // adds to Code: cancelled, unavailable, stale
	Provider   string // the name of the one that Reason is about
	RequestID  string
	BackURL    string
	SignInURL  string
	RetryAfter int // seconds, with RateLimited
	// The form for another link; without LinkAction there is none.
	LinkAction  string // POST signin/email
	Email       string // what its field starts with
	CSRFToken   string
	CallbackURL string
}

// Cancelled says whether the person turned back at the provider.
func (v ErrorView) Cancelled() bool { return v.Code == "AccessDenied" && v.Reason == "cancelled" }

// VerifyRequestView follows the request for an e-mail link.
type VerifyRequestView struct {
	Email         string // from the sealed cookie; empty: not known here
	CSRFToken     string
	ResendAction  string // POST signin/email
	CallbackURL   string
	MaxAgeMinutes int    // life of a link; 0: not said
	SignInURL     string // to correct the address
	Resent        bool   // this is the answer to "send again"
	InboxURL      string // where the mailbox can be read; empty: not known
	LinksPerHour  int    // to one address; 0: the default of 5; negative: no limit
	Sent          int    // how many links this browser asked for
	NextURL       string // goes on once the link was opened in this browser; empty: not waited for
	WaitSeconds   int    // how long the page looks for that by itself; 0: it does not
	UILocales     string // as in SignInView
	CodeAction    string // POST callback/email with the code of the mail; empty: it has none
	WrongCode     bool   // this is the answer to a code that was not right
	CodeTries     string // how many more may be tried, a digit; empty: as many as before
}

// CodeLeft is CodeTries as a number.
func (v VerifyRequestView) CodeLeft() int {
	n, _ := strconv.Atoi(v.CodeTries)
	return n
}

// CodeSpent says whether no code can be tried any more.
func (v VerifyRequestView) CodeSpent() bool {
	return v.CodeAction != "" && v.WrongCode && v.CodeTries == "0"
}

// LimitReached says whether no more links go to the address for now.
func (v VerifyRequestView) LimitReached() bool { return v.Limit() > 0 && v.Sent >= v.Limit() }

// Limit is the number of links an hour that the page names; 0 for none.
func (v VerifyRequestView) Limit() int {
	if v.LinksPerHour == 0 {
		return 5
	}
	return max(v.LinksPerHour, 0)
}

// ConfirmView asks before an e-mail link signs somebody in here.
type ConfirmView struct {
	Email       string
	Token       string
	CallbackURL string
	CSRFToken   string
	Action      string // POST callback/email
	Current     string // who is signed in now, if it is somebody else
}

// UsedView answers a link that was used or has expired, opened by somebody who
// is signed in with its address.
type UsedView struct {
	Email       string
	ContinueURL string
}

// NoticeView names the sign-ins that the first proof of an address removed.
type NoticeView struct {
	Removed     []string // provider names
	ContinueURL string
	SignInURL   string
}

// UndoView is about the link in a notice: State is asks, done, spent or taken.
type UndoView struct {
	State     string
	What      string // linked or address
	Name      string // of the provider that was linked, or the address to restore
	Who       string // whose account it is
	Token     string
	CSRFToken string
	Action    string // POST account/undo
	Error     string // why the last try did nothing
	RequestID string
	SignInURL string
}

// ForbiddenView answers a request that the rules of the gate refuse.
type ForbiddenView struct {
	Who       string // is signed in; empty: nobody may pass
	SwitchURL string // where to sign in as somebody else
	RequestID string
}

// FramedView stands in a frame of a page, where nobody signs in.
type FramedView struct {
	SignInURL string
}

// UnavailableView says why a program behind the gate does not answer: Case is
// upstream (it cannot be reached), timeout, sessions (they cannot be read), cookies
// (what checks requests does not get them), kept (the browser does not send the cookie
// back), entry (a hand-over was refused), or what is wrong with the proxy in front:
// proxy (it may not ask), headers (it does not say about what), host (that is not
// configured), routes (ours do not lead here) or login (Host, where people sign in,
// leads here under another name).
type UnavailableView struct {
	Case      string
	Host      string
	RetryURL  string // empty if trying again does not help
	RequestID string
}

// NotFoundView answers an address that has no page.
type NotFoundView struct {
	SignInURL string
}

// RepostView repeats a form_post answer as a same-origin POST. The field
// repost=1 is added by the page.
type RepostView struct {
	Action string
	Fields [][2]string // name, value
}

// SignOutProviderView posts a sign-out to the provider.
type SignOutProviderView struct {
	Action string     // end-session endpoint
	Fields url.Values // with the ID token
}
