package pages

import "net/url"

// The views below are what actions hand to pages.render. Their strings are
// escaped by the templates; URLs in them have been checked by the caller.

// SignInView fills the sign-in page.
type SignInView struct {
	CSRFToken   string
	CallbackURL string
	Error       string // empty: no banner
	RequestID   string // shown in the banner
	Providers   []Provider
	Email       string // what the e-mail field starts with
	// SignedIn names the person of the live session. Each provider can then be
	// added to that account or be used to sign in as somebody else.
	SignedIn string
	// Again names, in place of SignedIn, the person whose session does not
	// suffice: the page offers the ways to sign in, and none to go on without.
	Again      string
	RetryAfter int // seconds, with RateLimited
}

// Provider is one way to sign in.
type Provider struct {
	ID, Name string
	Kind     string // wire type: oauth, oidc, email, credentials
	Form     string // button, email or fields
	Action   string // URL that its form posts to
	Style    Style
	Fields   []Field // of Form "fields"; a form without any is not shown
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
	RequestID  string
	BackURL    string
	SignInURL  string
	RetryAfter int // seconds, with RateLimited
}

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
}

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

// NoticeView names the sign-ins that the first proof of an address removed.
type NoticeView struct {
	Removed     []string // provider names
	ContinueURL string
	SignInURL   string
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
