package authsvc

import (
	"bytes"
	_ "embed" // the default templates
	"errors"
	htmltemplate "html/template"
	"strings"
	"text/template"
)

// MailTemplates replaces the texts of the sign-in mail. The data of all three
// is {URL, Host, Site, Email, Minutes}.
type MailTemplates struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
}

// mailData is what a mail is made from.
type mailData struct {
	URL      string // the sign-in link
	Host     string // of the service
	Site     string // its name
	Email    string
	Minutes  int // how long the link lives
	Language string
}

//go:embed mailtext/mail.txt
var mailText string

//go:embed mailtext/mail.html
var mailHTML string

const mailSubject = "Sign in to {{.Site}}"

// A composer writes the mails of one provider.
type composer struct{ t MailTemplates }

func newComposer(t MailTemplates) (composer, error) {
	var errs []error
	keep := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	if t.Subject == nil {
		t.Subject, err = template.New("subject").Parse(mailSubject)
		keep(err)
	}
	if t.Text == nil {
		t.Text, err = template.New("text").Parse(mailText)
		keep(err)
	}
	if t.HTML == nil {
		t.HTML, err = htmltemplate.New("html").Parse(mailHTML)
		keep(err)
	}
	c := composer{t}
	if len(errs) == 0 {
		_, err = c.message(mailData{URL: "https://host.example/", Host: "host.example", Site: "Site", Email: "a@b.example", Minutes: 10})
		keep(err)
	}
	return c, errors.Join(errs...)
}

// message fills the templates.
func (c *composer) message(d mailData) (Message, error) {
	var subject, text, html bytes.Buffer
	err := errors.Join(c.t.Subject.Execute(&subject, d), c.t.Text.Execute(&text, d), c.t.HTML.Execute(&html, d))
	line := strings.Join(strings.Fields(subject.String()), " ")
	return Message{Subject: line, Text: text.String(), HTML: html.String()}, err
}
