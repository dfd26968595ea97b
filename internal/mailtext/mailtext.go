// Package mailtext writes the text of sign-in mails.
package mailtext

import (
	"bytes"
	_ "embed" // the default templates
	"errors"
	htmltemplate "html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"

	"authsvc/internal/pages"
)

// Templates are those of a mail; nil stands for the default.
type Templates struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
	// Languages has those of mails in one language, by its tag. What is nil
	// there is as above.
	Languages map[string]Templates
}

// Data is what a mail is made from.
type Data struct {
	URL      string // the sign-in link
	Code     string // the same in digits, such as 1234 5678; "": the mail has none
	Host     string // of the service
	Site     string // its name
	Email    string
	Minutes  int    // how long the link lives
	Lifetime string // the same in words of the language, such as "10 minutes"
	Language string // BCP 47
	Device   string // that asked for the mail, in words of the language, such as "Firefox on Linux"
	Network  string // that it asked from, such as 203.0.113.0/24; "" is not known
	// The theme. BrandColor and ButtonText are Look.Colours.Brand and OnBrand,
	// Logo is Look.Logo.
	BrandColor, ButtonText, Logo string
	Look                         pages.MailLook
}

//go:embed subject.txt
var defaultSubject string

//go:embed mail.txt
var defaultText string

//go:embed mail.html
var defaultHTML string

// defaults are the built-in templates in one language, parsed when they are
// first needed.
func defaults(lang string) (Templates, error) {
	translate := func(key string, args ...any) (string, error) { return pages.Text(lang, key, args...) }
	var t Templates
	var errs [3]error
	t.Subject, errs[0] = template.New("subject").Funcs(template.FuncMap{"T": translate}).Parse(defaultSubject)
	t.Text, errs[1] = template.New("text").Funcs(template.FuncMap{"T": translate}).Parse(defaultText)
	t.HTML, errs[2] = htmltemplate.New("html").Funcs(htmltemplate.FuncMap{"T": translate}).Parse(defaultHTML)
	return t, errors.Join(errs[:]...)
}

// A Composer fills the templates of one provider.
type Composer struct {
	custom    Templates
	languages *pages.Chooser
	mu        sync.Mutex
	defaults  map[string]Templates // by language
}

// New fails with Mistakes if one of the templates cannot be filled, or would
// make a mail without the link.
func New(t Templates) (*Composer, error) {
	c := &Composer{custom: t, defaults: map[string]Templates{}}
	var tags []string
	for lang := range t.Languages {
		tags = append(tags, lang)
	}
	slices.Sort(tags)
	var err error
	if c.languages, err = pages.NewChooser(tags...); err != nil {
		return nil, Mistakes{{File: "", Problem: err.Error(), Fix: languageFix}}
	}
	found := check(t)
	for _, lang := range tags {
		found = append(found, check(t.Languages[lang])...)
	}
	if len(found) > 0 {
		return nil, found
	}
	return c, nil
}

// Device names the browser and the system of a User-Agent header in a language.
func (c *Composer) Device(lang, userAgent string) (string, error) {
	return pages.Device(lang, userAgent)
}

// ShowsCode reports whether all mails have their code, in both forms.
func (c *Composer) ShowsCode() bool {
	all := append([]Templates{c.custom}, slices.Collect(maps.Values(c.custom.Languages))...)
	return !slices.ContainsFunc(all, func(t Templates) bool {
		return t.Text != nil && !hasCode(t.Text) || t.HTML != nil && !hasCode(t.HTML)
	})
}

// hasCode reports whether a template, which check has filled before, shows the
// code.
func hasCode(t executor) bool {
	d := sample()
	s, err := fill(t, d)
	return err == nil && strings.Contains(s, d.Code)
}

// Language chooses the language of a mail, as that of a page is chosen.
func (c *Composer) Language(uiLocales, acceptLanguage string) string {
	return c.languages.Choose(uiLocales, acceptLanguage)
}

// Compose writes a mail: its subject, in one line, and both its forms. It fills
// in Lifetime and the parts of Look.
func (c *Composer) Compose(d Data) (subject, text, html string, err error) {
	if d.Lifetime, err = pages.Minutes(d.Language, d.Minutes); err != nil {
		return "", "", "", err
	}
	d.BrandColor, d.ButtonText, d.Logo = d.Look.Colours.Brand, d.Look.Colours.OnBrand, d.Look.Logo
	t, err := c.templates(d.Language)
	if err != nil {
		return "", "", "", err
	}
	if subject, err = fill(t.Subject, d); err != nil {
		return "", "", "", err
	}
	text, err = fill(t.Text, d)
	html, htmlErr := fill(t.HTML, d)
	return oneLine(subject), text, html, errors.Join(err, htmlErr)
}

// templates are those of a language, none of them nil.
func (c *Composer) templates(lang string) (Templates, error) {
	t := merged(c.custom.Languages[lang], c.custom)
	if t.Subject != nil && t.Text != nil && t.HTML != nil {
		return t, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.defaults[lang]
	if !ok {
		var err error
		if d, err = defaults(lang); err != nil {
			return t, err
		}
		c.defaults[lang] = d
	}
	return merged(t, d), nil
}

// merged has the templates of first and, where it has none, those of second.
func merged(first, second Templates) Templates {
	if first.Subject == nil {
		first.Subject = second.Subject
	}
	if first.Text == nil {
		first.Text = second.Text
	}
	if first.HTML == nil {
		first.HTML = second.HTML
	}
	return first
}

// An executor is a template of either kind.
type executor interface {
	Execute(w io.Writer, data any) error
}

func fill(t executor, d Data) (string, error) {
	var b bytes.Buffer
	err := t.Execute(&b, d)
	return b.String(), err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
