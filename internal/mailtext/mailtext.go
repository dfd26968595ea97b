// Package mailtext writes the text of sign-in mails.
package mailtext

import (
	"bytes"
	_ "embed" // the default templates
	"errors"
	htmltemplate "html/template"
	"strings"
	"text/template"
)

// Templates are those of a mail; nil stands for the default.
type Templates struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
}

// Data is what a mail is made from.
type Data struct {
	URL      string // the sign-in link
	Host     string // of the service
	Site     string // its name
	Email    string
	Minutes  int // how long the link lives
	Language string
}

//go:embed mail.txt
var defaultText string

//go:embed mail.html
var defaultHTML string

const defaultSubject = "Sign in to {{.Site}}"

// A Composer fills the templates of one provider.
type Composer struct{ t Templates }

// New fails if one of the templates does not take a Data.
func New(t Templates) (*Composer, error) {
	var errs [4]error
	if t.Subject == nil {
		t.Subject, errs[0] = template.New("subject").Parse(defaultSubject)
	}
	if t.Text == nil {
		t.Text, errs[1] = template.New("text").Parse(defaultText)
	}
	if t.HTML == nil {
		t.HTML, errs[2] = htmltemplate.New("html").Parse(defaultHTML)
	}
	c := &Composer{t}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	_, _, _, err := c.Compose(Data{URL: "https://host.example/", Host: "host.example", Site: "Site", Email: "a@b.example", Minutes: 10})
	return c, err
}

// Compose writes a mail: its subject, in one line, and both its forms.
func (c *Composer) Compose(d Data) (subject, text, html string, err error) {
	var s, t, h bytes.Buffer
	err = errors.Join(c.t.Subject.Execute(&s, d), c.t.Text.Execute(&t, d), c.t.HTML.Execute(&h, d))
	return strings.Join(strings.Fields(s.String()), " "), t.String(), h.String(), err
}
