package authsvc

import (
	"context"
	htmltemplate "html/template"
	"io/fs"
	"text/template"
	"time"

	"authsvc/internal/text/mailtext"
)

// Email signs in with a link that is mailed to the user. It needs an Adapter.
type Email struct {
	ID   string // default "email"
	Name string // default "Email"
	From string // RFC 5322 address, such as "Acme <no-reply@example.com>"
	// MaxAge is how long a link is valid, default 10 minutes, at most 24 hours.
	MaxAge time.Duration
	// Send delivers one message; package mail has senders. It is called from the mail
	// queue, never while a browser waits, by up to four goroutines at the same time. An
	// error that Is ErrMailRefused is final. After an error that Is ErrMailUnconfirmed
	// there is one more try. After any other error the message is tried again until the
	// link expires. ctx ends when the link expires, too.
	Send func(ctx context.Context, m Message) error
	// InboxURL is linked from the page that follows a request, such as
	// https://mail.google.com for teams that all use the same mail service.
	InboxURL string
	// Templates replaces the texts of the mail; nil fields keep the default.
	Templates MailTemplates
	// Codes puts a one-time code of eight digits into each mail, beside the link, and a
	// field for it on the page that follows: for people who read mail on another device
	// than the one they sign in on. Default: false in the compat modes,
	// if a text of Templates leaves out the code, or if Pages.VerifyRequest is set;
	// otherwise true.
	Codes *bool
	// NoSignIn uses the provider only for other mails: it is not a way to sign in, and
	// has no routes.
	NoSignIn bool
}

// A Message is a mail to one recipient.
type Message struct {
	From, To string // To is exactly the stored address
	Subject  string // one line
	Text     string // text/plain, UTF-8
	HTML     string // text/html, UTF-8
}

// MailTemplates replaces the texts of mails. Subject, Text and HTML make the sign-in
// mail. Their data is {URL, Code, Host, Site, Where, Email, Minutes, Lifetime, Language,
// Device, Network, Invited, Sender, Confirm, BrandColor, ButtonText, Logo}. Where is
// Site with Host in brackets, or Host alone. Code is empty if mails have no code. With Confirm, the mail asks a person who is signed in for
// a fresh proof. With Invited, the mail is an unrequested invitation from Sender,
// without Code, Device and Network. Device names the browser that asked, such as
// "Firefox on Linux". Network is the IPv4 /24 or IPv6 /48 that it asked from, and may
// be empty. Lifetime is Minutes in words, such as "1 hour". Logo is Theme.Logo if that
// is an https URL. Text and HTML must contain URL.
type MailTemplates struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
	// NoticeSubject, NoticeText and NoticeHTML make notices ([NoticeOptions]). Their
	// data is the same except Code, plus {Notice, What, When, UndoURL}. Notice is a
	// word for the event, What describes it, and When is its time in UTC. URL is the
	// account page. UndoURL is the link that undoes the change, valid for Minutes; it
	// may be empty. Device is empty if the change did not come from a browser. Text and
	// HTML must contain URL and, if there is one, UndoURL.
	NoticeSubject *template.Template
	NoticeText    *template.Template
	NoticeHTML    *htmltemplate.Template
	// AddressSubject, AddressText and AddressHTML make mails about a pending change of
	// address. Their data is the same as for Subject, Text and HTML, plus {Change,
	// What, NewEmail, StopURL, Waits}. Change is "new" in the mail that asks the new
	// address, where URL confirms the change; "taken" in the mail to a person who
	// already has that address, where URL leads to the sign-in page; and "old" in the
	// mail that asks the old address, where URL allows the change. What describes the
	// change in words. Only "new" has Code, and only "old" has StopURL. If Waits is set,
	// an unanswered change can be made after 7 days, else as soon as the new address is
	// confirmed. Text and HTML must contain URL, Code and StopURL if they are set.
	AddressSubject *template.Template
	AddressText    *template.Template
	AddressHTML    *htmltemplate.Template
	// Languages holds the templates of further languages by BCP 47 tag. Their nil
	// fields fall back to the fields above. A mail uses the language of the person's
	// request. A notice, or a mail without such a request, uses that of the person's
	// last sign-in.
	Languages map[string]MailTemplates
}

// ParseMailTemplates reads templates from the files subject.txt, mail.txt and
// mail.html, for notices notice-subject.txt, notice.txt and notice.html, and for
// changes of address address-subject.txt, address.txt and address.html. Each of them
// may be missing. Folders named after languages, such as de, hold the same files. The
// error gives the file and line of each mistake, and its fix.
func ParseMailTemplates(fsys fs.FS) (MailTemplates, error) {
	t, err := mailtext.Parse(fsys)
	if err != nil {
		return MailTemplates{}, err
	}
	m := publicTemplates(t)
	m.Languages = map[string]MailTemplates{}
	for lang, l := range t.Languages {
		m.Languages[lang] = publicTemplates(l)
	}
	return m, nil
}

// publicTemplates converts t without Languages.
func publicTemplates(t mailtext.Templates) MailTemplates {
	return MailTemplates{Subject: t.SignIn.Subject, Text: t.SignIn.Text, HTML: t.SignIn.HTML,
		NoticeSubject: t.Notice.Subject, NoticeText: t.Notice.Text, NoticeHTML: t.Notice.HTML,
		AddressSubject: t.Address.Subject, AddressText: t.Address.Text, AddressHTML: t.Address.HTML}
}

// NoticeOptions configure the mails that tell users about changes to their account: a
// way to sign in was added or removed, the address was changed or restored, an operator
// or the application ended the user's sessions or blocked the user, a new browser signed
// in, the account will be deleted or is kept after all. They go to the stored address
// through the first email provider. They need an Adapter; without an Adapter or an
// email provider there are no notices, and the log says so at start.
type NoticeOptions struct {
	// Disabled turns all notices off.
	Disabled bool
	// IgnoreNewBrowsers sends no notice about sign-ins from a browser that is new to
	// the account.
	IgnoreNewBrowsers bool
}
