// Package mailtext writes the texts of mails: those with a sign-in link, notices of
// what changed on an account, and those about a change of address that waits.
package mailtext

import (
	"bytes"
	"embed"
	"errors"
	htmltemplate "html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"

	"authsvc/internal/text/pages"
)

// Templates are those of mails, by kind.
type Templates struct {
	SignIn  Set // with a link that signs in
	Notice  Set // of what changed on an account
	Address Set // about a change of address that waits
	// Languages has those of mails in one language, by its tag. What is nil
	// there is as above.
	Languages map[string]Templates
}

// A Set are the templates of one kind of mail; nil stands for the default.
type Set struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
}

// Data is what a mail is made from.
type Data struct {
	URL      string // the sign-in link; of a notice: the account page
	Code     string // the same in digits, such as 1234 5678; "": the mail has none
	Host     string // of the service
	Site     string // its name
	Email    string
	Minutes  int    // how long the link lives; of a notice: that of UndoURL
	Lifetime string // the same in words of the language, such as "10 minutes"
	Language string // BCP 47
	Device   string // that asked for the mail, in words of the language, such as "Firefox on Linux"; "" in a notice: no browser did it
	Network  string // that it asked from, such as 203.0.113.0/24; "" is not known
	Invited  bool   // nobody asked for it: it is an invitation
	Sender   string // of an invitation: who the mail is from
	// Of notices: a word of pages.News, or "" for a mail that signs in; what
	// happened, in words of the language, which Compose fills in; when, in UTC; and the
	// link that takes it back, "" if none does.
	Notice, What, When, UndoURL string
	// Of mails about a change of address, which have What, too: one of the words
	// below, the new address, the link that stops the change, in ChangeOld alone,
	// and whether the change waits for the old address.
	Change, NewEmail, StopURL string
	Waits                     bool
	// The theme. BrandColor and ButtonText are Look.Colours.Brand and OnBrand,
	// Logo is Look.Logo.
	BrandColor, ButtonText, Logo string
	Look                         pages.MailLook
	About                        string // what What is about, such as the name of a provider; may be ""
}

// Words for mails about a change of address.
const (
	ChangeNew   = "new"   // to the new address: confirm that it is yours
	ChangeTaken = "taken" // to the new address, which is somebody's already
	ChangeOld   = "old"   // to the old address: allow the change or stop it
)

//go:embed *.txt *.html
var builtIn embed.FS

// defaults are the built-in templates of one kind of mail in one language.
func (k *kind) defaults(lang string) (t Set, err error) {
	translate := map[string]any{"T": func(key string, args ...any) (string, error) { return pages.Text(lang, key, args...) }}
	var errs [3]error
	t.Subject, errs[0] = template.New(k.subject).Funcs(translate).ParseFS(builtIn, k.subject)
	t.Text, errs[1] = template.New(k.text).Funcs(translate).ParseFS(builtIn, k.text)
	t.HTML, errs[2] = htmltemplate.New(layoutFile).Funcs(translate).ParseFS(builtIn, layoutFile, k.html)
	return t, errors.Join(errs[:]...)
}

// A Composer fills the templates of one provider.
type Composer struct {
	custom    Templates
	languages *pages.Chooser
	mu        sync.Mutex
	defaults  map[defaultKey]Set // parsed when they are first needed
}

type defaultKey struct {
	lang string
	kind *kind
}

// New fails with Mistakes if one of the templates cannot be filled, or would
// make a mail without the link.
func New(t Templates) (*Composer, error) {
	c := &Composer{custom: t, defaults: map[defaultKey]Set{}}
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

// ShowsCode reports whether all sign-in mails have their code, in both forms.
func (c *Composer) ShowsCode() bool {
	all := append([]Templates{c.custom}, slices.Collect(maps.Values(c.custom.Languages))...)
	return !slices.ContainsFunc(all, func(t Templates) bool {
		return t.SignIn.Text != nil && !hasCode(t.SignIn.Text) || t.SignIn.HTML != nil && !hasCode(t.SignIn.HTML)
	})
}

// hasCode reports whether a template, which check has filled before, shows the
// code.
func hasCode(t executor) bool {
	d := signInSamples()[0]
	s, err := fill(t, d)
	return err == nil && strings.Contains(s, d.Code)
}

// Language chooses the language of a mail, as that of a page is chosen.
func (c *Composer) Language(uiLocales, acceptLanguage string) string {
	return c.languages.Choose(uiLocales, acceptLanguage)
}

// Compose writes a mail: its subject, in one line, and both its forms. It fills
// in Lifetime, What and the parts of Look.
func (c *Composer) Compose(d Data) (subject, text, html string, err error) {
	if d.Lifetime, err = pages.Minutes(d.Language, d.Minutes); err != nil {
		return "", "", "", err
	}
	if d.What, err = d.what(); err != nil {
		return "", "", "", err
	}
	d.BrandColor, d.ButtonText, d.Logo = d.Look.Colours.Brand, d.Look.Colours.OnBrand, d.Look.Logo
	t, err := c.templates(d)
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

// what says in a sentence what a mail is about that signs nobody in.
func (d *Data) what() (string, error) {
	switch {
	case d.Change == ChangeOld:
		return pages.Text(d.Language, "mail.old.lead", d.Host, d.Email, d.NewEmail)
	case d.Change != "":
		return pages.Text(d.Language, "mail."+d.Change+".lead", d.NewEmail, d.Host)
	case d.Notice != "" && d.About != "":
		return pages.Text(d.Language, "news."+d.Notice, d.About)
	case d.Notice != "":
		return pages.Text(d.Language, "news."+d.Notice)
	}
	return "", nil
}

// templates are those for a mail of d, none of them nil.
func (c *Composer) templates(d Data) (Set, error) {
	key := defaultKey{d.Language, kindOf(&d)}
	own := c.custom.Languages[d.Language]
	t := merged(*key.kind.of(&own), *key.kind.of(&c.custom))
	if t.Subject != nil && t.Text != nil && t.HTML != nil {
		return t, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	built, ok := c.defaults[key]
	if !ok {
		var err error
		if built, err = key.kind.defaults(d.Language); err != nil {
			return t, err
		}
		c.defaults[key] = built
	}
	return merged(t, built), nil
}

// merged has the templates of first and, where it has none, those of second.
func merged(first, second Set) Set {
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
