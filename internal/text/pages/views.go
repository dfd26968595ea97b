package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The views below are the data of the pages for Pages.Render. The templates escape
// their strings. The caller must have checked the URLs in them.

// SignInView fills the sign-in page.
type SignInView struct {
	CSRFToken   string
	CallbackURL string
	Error       string // empty: no banner
	Reason      string // adds to Error: cancelled, unavailable, stale, misconfigured
	Provider    string // name of the provider that Reason is about; empty: of this service
	RequestID   string // shown in the banner
	Providers   []Provider
	Email       string // initial value of the email field
	// SignedIn names the person of the live session. Each provider can then be added to
	// that account or be used to sign in as someone else.
	SignedIn string
	Name     string // name of the person, if known
	Picture  string // https URL of the person's picture; see Policy
	Fresh    string // proof of a fresh sign-in, for the form that adds a way to sign in
	Home     bool   // CallbackURL leads back to this page: there is no page to continue to
	// SignOutPage is the application's own sign-out page, if it has one.
	SignOutPage string
	AccountURL  string // of the account page; empty: there is none
	// Again replaces SignedIn and names the person whose session is not sufficient. The
	// page offers the ways to sign in, and none to continue without.
	Again      string
	RetryAfter int // seconds, with RateLimited
	// UILocales holds the languages of the request, unless they come from the browser's
	// header. The form for a link repeats them, for the mail.
	UILocales string
}

// Provider is one way to sign in.
type Provider struct {
	ID, Name string
	Kind     string // wire type: oauth, oidc, email, credentials
	Form     string // button, email or fields
	Action   string // URL that the form posts to
	Style    Style
	Fields   []Field // with Form "fields"; a form without fields is not shown
	Typed    string  // initial value of the first field, unless that is a password
	Forgot   string  // URL for a forgotten password; empty: none
	LastUsed bool
}

// Buttons returns the providers that need no input, in their order.
func (v SignInView) Buttons() []Provider {
	var list []Provider
	for _, p := range v.Providers {
		if p.Form == "button" {
			list = append(list, p)
		}
	}
	return list
}

// Forms returns the providers that need input, in their order.
func (v SignInView) Forms() []Provider {
	var list []Provider
	for _, p := range v.Providers {
		if p.Form == "email" || p.Form == "fields" && len(p.Fields) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// With more than maxButtonsAboveForms buttons, the forms come first, so that a phone
// shows them without scrolling. With more than maxButtonsInColumn, the buttons stand
// side by side.
const (
	maxButtonsAboveForms = 6
	maxButtonsInColumn   = 10
)

// FormsFirst reports whether the forms stand above the buttons.
func (v SignInView) FormsFirst() bool {
	return v.SignedIn == "" && len(v.Buttons()) > maxButtonsAboveForms && len(v.Forms()) > 0
}

// Tiles reports whether the buttons stand side by side.
func (v SignInView) Tiles() bool { return v.SignedIn == "" && len(v.Buttons()) > maxButtonsInColumn }

// Distinct returns the providers with distinct names: if several have the same name,
// their ids follow it.
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

// LastUsedFirst marks the provider with this id, if there is one, and moves it to the
// front. The others keep their order.
func LastUsedFirst(providers []Provider, id string) []Provider {
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		return slices.Clone(providers)
	}
	last := providers[i]
	last.LastUsed = true
	return append(append([]Provider{last}, providers[:i]...), providers[i+1:]...)
}

// HasPassword reports whether a form asks for a password.
func (v SignInView) HasPassword() bool {
	return slices.ContainsFunc(v.Forms(), func(p Provider) bool {
		return slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Type == "password" })
	})
}

// Required reports whether the page is shown only because a page needs a session, which
// is not an error.
func (v SignInView) Required() bool { return v.Error == "SessionRequired" }

// Overtaken reports whether an attempt is stale because another attempt, in another
// tab, signed the person in, which is not a reason for alarm.
func (v SignInView) Overtaken() bool { return v.SignedIn != "" && v.Reason == "stale" }

// AddressField returns the id of the address field of an email provider.
func AddressField(provider string) string { return "input-email-for-" + provider + "-provider" }

// Failed reports whether the page shows an error of an attempt to sign in.
func (v SignInView) Failed() bool { return v.Error != "" && !v.Required() && !v.Overtaken() }

// FirstForm reports whether p's button has the id that NextAuth gives to the email
// button. Ids must be unique, so only the first form has it.
func (v SignInView) FirstForm(p Provider) bool {
	for _, f := range v.Forms() {
		if f.Form == "email" {
			return f.ID == p.ID
		}
	}
	return false
}

// Blames reports whether the error is about the input of a kind of form.
func (v SignInView) Blames(form string) bool {
	return v.Error == "EmailSignin" && v.Reason == "" && form == "email" || v.Error == "CredentialsSignin" && form == "fields"
}

// Fill puts the name or address that was typed before into the form of a provider.
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

// SignOutView asks whether to sign out or, with SignInURL, says that no one is signed
// in.
type SignOutView struct {
	CSRFToken   string
	CallbackURL string // target of "stay signed in" and of the way back, and the form's callbackUrl
	Who         string // name or address of the person
	SignInURL   string
	Error       bool // the last try was refused
	RequestID   string
}

// ErrorView fills the error page. Code determines its status.
type ErrorView struct {
	Code       string
	Reason     string // adds to Code: cancelled, unavailable, stale, misconfigured, elsewhere, expired, used
	Provider   string // name of the provider that Reason is about; empty: of this service
	RequestID  string
	BackURL    string
	SignInURL  string
	RetryAfter int // seconds, with RateLimited
	// LinkAction, Email, CSRFToken and CallbackURL make the form for another link.
	// Without LinkAction there is none.
	LinkAction  string // POST signin/email
	Email       string // initial value of the address field
	CSRFToken   string
	CallbackURL string
}

// Cancelled reports whether the person cancelled at the provider.
func (v ErrorView) Cancelled() bool { return v.Code == "AccessDenied" && v.Reason == "cancelled" }

// AboutCode reports whether the error is about a mailed code.
func (v ErrorView) AboutCode() bool { return slices.Contains(codeReasons, v.Reason) }

// VerifyRequestView is the page after the request for an email link.
type VerifyRequestView struct {
	Email         string // from the sealed cookie; empty: unknown here
	CSRFToken     string
	ResendAction  string // POST signin/email
	CallbackURL   string
	MaxAgeMinutes int    // lifetime of a link; 0: not shown
	SignInURL     string // to enter or correct the address
	Resent        bool   // this page answers "send again"
	InboxURL      string // URL of the mailbox; empty: unknown
	LinksPerHour  int    // to one address; 0: the default of 5; negative: no limit
	Sent          int    // number of links that this browser requested
	NextURL       string // next page once the link was opened in this browser; empty: do not wait
	WaitSeconds   int    // seconds for which the page polls for that; 0: it does not poll
	Opened        bool   // the person opened the link, but not in this browser
	Expired       bool   // the link has expired
	SignedIn      string // person who was signed in before the request, and still is
	Confirms      bool   // the mail is a fresh proof of SignedIn
	AccountURL    string // of the account page, if Confirms; empty: there is none
	UILocales     string // as in SignInView
	CodeAction    string // POST callback/email with the code of the mail; empty: the mail has none
	WrongCode     bool   // this page answers a wrong code
	CodeTries     string // remaining tries, a digit; empty: the input did not count as a try
}

// CodeLeft returns CodeTries as a number.
func (v VerifyRequestView) CodeLeft() int {
	n, _ := strconv.Atoi(v.CodeTries)
	return n
}

// AsksCode reports whether the page has the field for a code.
func (v VerifyRequestView) AsksCode() bool { return v.CodeAction != "" && !v.CodeSpent() && !v.Expired }

// SendsNext reports whether another mail is the next step.
func (v VerifyRequestView) SendsNext() bool {
	return (v.CodeSpent() || v.Opened || v.Expired) && !v.LimitReached()
}

// CodeSpent reports whether no tries remain for a code.
func (v VerifyRequestView) CodeSpent() bool {
	return v.CodeAction != "" && v.WrongCode && v.CodeTries == "0"
}

// LimitReached reports whether the address gets no more links for now.
func (v VerifyRequestView) LimitReached() bool { return v.Limit() > 0 && v.Sent >= v.Limit() }

// Limit returns the number of links an hour that the page names, or 0 for no limit.
func (v VerifyRequestView) Limit() int {
	if v.LinksPerHour == 0 {
		return 5
	}
	return max(v.LinksPerHour, 0)
}

// ConfirmView asks before an email link signs the person in here.
type ConfirmView struct {
	Email       string
	Token       string
	CallbackURL string
	CSRFToken   string
	Action      string // POST callback/email
	Current     string // the person who is signed in now, if it is another one
}

// UsedView answers a used or expired link or code if the person is signed in with its address.
type UsedView struct {
	Email       string
	ContinueURL string
	Waited      bool // no link was opened: it answers the page that waits for one
}

// NoticeView names the sign-ins that the first proof of an address removed.
type NoticeView struct {
	Removed     []string // provider names
	ContinueURL string
	SignInURL   string
}

// UndoView is the page for the undo link in a notice. State is asks, done, spent or
// taken.
type UndoView struct {
	State     string
	What      string // linked or address
	Name      string // the provider that was linked, or the address to restore
	Who       string // owner of the account
	Token     string
	CSRFToken string
	Action    string // POST account/undo
	Error     string // the word for the error of the last try
	RequestID string
	SignInURL string
}

// ForbiddenView answers a request that the rules of the gate refuse.
type ForbiddenView struct {
	Who       string // the person who is signed in; empty: the gate lets no one pass
	SwitchURL string // where to sign in as someone else
	RequestID string
}

// FramedView is shown in a frame of another page, where no one can sign in.
type FramedView struct {
	SignInURL string
}

// UnavailableView says why a program behind the gate, or the service itself, does not
// answer. Case is one of:
//
//   - upstream: the program cannot be reached
//   - timeout: the program did not answer in time
//   - sessions: the sessions cannot be read
//   - cookies: the endpoint that checks requests does not receive the cookies
//   - kept: the browser does not send the cookie back
//   - entry: a hand-over was refused
//   - proxy: the proxy in front is not permitted to ask authsvc
//   - headers: the proxy in front does not name the request
//   - host: the host is not configured
//   - routes: the proxy does not pass requests for our routes on to authsvc
//   - login: requests for Host, where people sign in, arrive with another host's name
//   - plain: the browser used http or another port, and Host is an origin with https
//   - other: the browser used another name of this machine than Host, an origin
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

// RepostView repeats a form_post answer as a same-origin POST. The page adds the field
// repost=1.
type RepostView struct {
	Action string
	Fields [][2]string // name, value
}

// SignOutProviderView posts a sign-out to the provider.
type SignOutProviderView struct {
	Action string     // end-session endpoint
	Fields url.Values // contain the ID token
}
