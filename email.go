package authsvc

import (
	"context"
	htmltemplate "html/template"
	"io/fs"
	"text/template"
	"time"

	"authsvc/internal/text/mailtext"
)

// Email signs in with a link that is sent to a mailbox. It needs an Adapter.
type Email struct {
	ID   string // default "email"
	Name string // default "Email"
	From string // RFC 5322 address, such as "Acme <no-reply@example.com>"
	// MaxAge of a link, default 10 minutes, at most 24 hours.
	MaxAge time.Duration
	// Send delivers one message; package mail has senders. It is called from
	// the mail queue, never while a browser waits, up to four times at once. An
	// error that Is ErrMailRefused is final. One that Is ErrMailUnconfirmed is
	// tried again once. Any other is tried again until the link expires, when
	// ctx ends.
	Send func(ctx context.Context, m Message) error
	// InboxURL is linked from the page that follows a request, for teams whose
	// mailboxes are all at one place, such as https://mail.google.com.
	InboxURL string
	// Templates replaces the texts of the mail; nil fields keep the default.
	Templates MailTemplates
	// Codes puts a one-time code of eight digits into each mail, beside the link,
	// and its field on the page that follows: for who reads mail on another device
	// than the one to sign in on. Default: true with CompatNone, if a text of
	// Templates does not leave the code out, else false.
	Codes *bool
	// NoSignIn keeps the provider for what else is mailed: it is not among the
	// ways to sign in, and has no routes.
	NoSignIn bool
}

// A Message is a mail to one recipient.
type Message struct {
	From, To string // To is exactly the stored address
	Subject  string // one line
	Text     string // text/plain, UTF-8
	HTML     string // text/html, UTF-8
}

// MailTemplates replaces the texts of mails. The data of the first three, which
// make the sign-in mail, is {URL, Code, Host, Site, Email, Minutes, Lifetime,
// Language, Device, Network, Invited, Sender, BrandColor, ButtonText, Logo}: Code
// is empty where mails have none; with Invited nobody asked for the mail, which is
// an invitation from Sender and has no Code, Device and Network; Device names the
// browser that asked, such as "Firefox on Linux", Network is where it did, an IPv4
// /24 or IPv6 /48, and may be empty; Lifetime is the minutes in words, such as "1 hour"; Logo is
// Theme.Logo if that is an https URL. Text and HTML have to contain URL.
type MailTemplates struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
	// Those of notices ([NoticeOptions]). Beside the above, but for Code, they have
	// {Notice, What, When, UndoURL}: Notice is a word for what happened, What says
	// it, When is in UTC. URL is the account page, UndoURL the link that takes it
	// back, for Minutes, and may be empty; Device is empty if no browser did it. Text
	// and HTML have to contain URL and, where there is one, UndoURL.
	NoticeSubject *template.Template
	NoticeText    *template.Template
	NoticeHTML    *htmltemplate.Template
	// Those of mails about a change of address that waits. Beside what the first
	// three have, there are {Change, What, NewEmail, StopURL, Waits}: Change is "new",
	// in the mail that has the new address confirmed, "taken", in that to the person
	// whose address it is already, or "old", in that which asks the old address; What
	// says it. URL confirms, leads to the sign-in page, or allows the change; Code is
	// in the first, StopURL in the last alone. Waits: without an answer the change
	// can be made after 7 days, else as soon as the new address is confirmed. Text and
	// HTML have to contain URL, Code and StopURL where there are any.
	AddressSubject *template.Template
	AddressText    *template.Template
	AddressHTML    *htmltemplate.Template
	// Languages has those of mails in one language, by its BCP 47 tag; nil
	// fields are as above. Mails have the language that the person asked in.
	Languages map[string]MailTemplates
}

// ParseMailTemplates reads templates from the files subject.txt, mail.txt and
// mail.html, for notices notice-subject.txt, notice.txt and notice.html, and for
// changes of address address-subject.txt, address.txt and address.html, each of which
// may be missing, and from folders that are named after languages, such as de, and
// hold the same. The error says of each mistake its file and line, and what to do.
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

// publicTemplates and internal leave Languages out.
func publicTemplates(t mailtext.Templates) MailTemplates {
	return MailTemplates{Subject: t.SignIn.Subject, Text: t.SignIn.Text, HTML: t.SignIn.HTML,
		NoticeSubject: t.Notice.Subject, NoticeText: t.Notice.Text, NoticeHTML: t.Notice.HTML,
		AddressSubject: t.Address.Subject, AddressText: t.Address.Text, AddressHTML: t.Address.HTML}
}

// NoticeOptions configure the mails that tell people what changed on their
// account: a way to sign in was added or removed, the address was changed, their
// sessions were ended by somebody else, a new browser signed in, the account is to
// be deleted or stays after all. They go to the stored address, by the
// first e-mail provider, and need an Adapter; without either there are none, which
// the start says.
type NoticeOptions struct {
	// Disabled: nobody is told anything.
	Disabled bool
	// IgnoreNewBrowsers: sign-ins from a browser that is new to the account are not
	// among them.
	IgnoreNewBrowsers bool
}
