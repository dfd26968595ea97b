// Package mailtext writes the texts of mails: mails with a sign-in link, notices of
// changes to an account, and mails about a pending change of address.
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

// Templates holds the templates of mails, by kind.
type Templates struct {
	SignIn  Set // mails with a sign-in link
	Notice  Set // notices of changes to an account
	Address Set // mails about a pending change of address
	// Languages holds the templates of mails in one language, by its tag. A nil
	// template there means the one above.
	Languages map[string]Templates
}

// A Set holds the templates of one kind of mail; nil means the default.
type Set struct {
	Subject *template.Template     // one line
	Text    *template.Template     // text/plain
	HTML    *htmltemplate.Template // text/html; values are escaped
}

// Data holds the values that templates can use. In JSON it lacks the values that are set
// when the mail is composed.
type Data struct {
	URL      string `json:"url,omitempty"`  // the sign-in link; in a notice: the account page
	Code     string `json:"code,omitempty"` // the code to enter instead, such as 1234 5678; "": the mail has none
	Host     string `json:"-"`              // host of the service
	Site     string `json:"-"`              // name of the service
	Email    string `json:"email"`
	Minutes  int    `json:"minutes,omitempty"` // lifetime of the link; in a notice: of UndoURL
	Lifetime string `json:"-"`                 // Minutes in words of the language, such as "10 minutes"
	Language string `json:"lang,omitempty"`    // BCP 47
	Device   string `json:"device,omitempty"`  // requesting device in words of the language, such as "Firefox on Linux"; "" in a notice: not a browser
	Network  string `json:"network,omitempty"` // network of the request, such as 203.0.113.0/24; "": unknown
	Invited  bool   `json:"invited,omitempty"` // the mail is an invitation, which the recipient did not request
	Sender   string `json:"sender,omitempty"`  // sender of an invitation
	Confirm  bool   `json:"confirm,omitempty"` // the link is a fresh proof of a person who is signed in
	// Notice is a word of pages.News, or "" for a sign-in mail. What describes the
	// change in words of the language; Compose fills it in. When is its time in UTC.
	// UndoURL is the link that undoes the change, or "".
	Notice  string `json:"notice,omitempty"`
	What    string `json:"-"`
	Where   string `json:"-"` // Site with Host in brackets, or Host alone if they are the same; Compose fills it in
	When    string `json:"when,omitempty"`
	UndoURL string `json:"undo,omitempty"`
	// Change is one of the words below and marks a mail about a change of address,
	// which also has What. NewEmail is the new address. StopURL stops the change and is
	// set only with ChangeOld. Waits is true if the change waits for the old address.
	Change   string `json:"change,omitempty"`
	NewEmail string `json:"new,omitempty"`
	StopURL  string `json:"stop,omitempty"`
	Waits    bool   `json:"waits,omitempty"`
	// BrandColor and ButtonText are Look.Colours.Brand and OnBrand, Logo is Look.Logo.
	BrandColor string         `json:"-"`
	ButtonText string         `json:"-"`
	Logo       string         `json:"-"`
	Look       pages.MailLook `json:"-"`
	About      string         `json:"about,omitempty"` // detail for What, such as the name of a provider; may be ""
}

// Values of Data.Change.
const (
	ChangeNew   = "new"   // to the new address: confirm that it is yours
	ChangeTaken = "taken" // to the new address, which another account already has
	ChangeOld   = "old"   // to the old address: allow the change or stop it
)

//go:embed *.txt *.html
var builtIn embed.FS

// defaults returns the built-in templates of one kind of mail in one language and theme.
// Actions in [[ ]] depend on these alone and are executed here, those in {{ }} for each
// mail.
func (k *kind) defaults(lang string, look pages.MailLook) (t Set, err error) {
	translate := map[string]any{"T": func(key string, args ...any) (string, error) { return pages.Text(lang, key, args...) }}
	var errs []error
	executed := func(first executor, err error) (source string) {
		if err == nil {
			source, err = fill(first, Data{Language: lang, Look: look})
		}
		errs = append(errs, err)
		return source
	}
	text := func(file string) *template.Template {
		source := executed(template.New(file).Delims("[[", "]]").Funcs(translate).ParseFS(builtIn, file))
		t, err := template.New(file).Funcs(translate).Parse(source)
		errs = append(errs, err)
		return t
	}
	html := func(into *htmltemplate.Template, file string) *htmltemplate.Template {
		source := executed(htmltemplate.New(file).Delims("[[", "]]").Funcs(translate).ParseFS(builtIn, file))
		t, err := into.Parse(source)
		errs = append(errs, err)
		return t
	}
	t.Subject, t.Text = text(k.subject), text(k.text)
	layout := htmltemplate.New(layoutFile).Funcs(translate)
	t.HTML = html(html(layout, layoutFile), k.html)
	return t, errors.Join(errs...)
}

// A Composer fills the templates of one provider.
type Composer struct {
	custom    Templates
	languages *pages.Chooser
	mu        sync.Mutex
	defaults  map[defaultKey]themed // parsed on first use, and when the theme changes
}

// themed is a Set with the theme that it was made for.
type themed struct {
	look pages.MailLook
	Set
}

type defaultKey struct {
	lang string
	kind *kind
}

// New returns a composer for the templates. It fails with Mistakes if a template cannot
// be filled or makes a mail without its link.
func New(t Templates) (*Composer, error) {
	c := &Composer{custom: t, defaults: map[defaultKey]themed{}}
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

// ShowsCode reports whether all sign-in mails show their code, in both forms.
func (c *Composer) ShowsCode() bool {
	all := append([]Templates{c.custom}, slices.Collect(maps.Values(c.custom.Languages))...)
	return !slices.ContainsFunc(all, func(t Templates) bool {
		return t.SignIn.Text != nil && !hasCode(t.SignIn.Text) || t.SignIn.HTML != nil && !hasCode(t.SignIn.HTML)
	})
}

// hasCode reports whether a template shows the code. check has filled it before.
func hasCode(t executor) bool {
	d := signInSamples()[0]
	s, err := fill(t, d)
	return err == nil && strings.Contains(s, d.Code)
}

// Language chooses the language of a mail in the same way as the language of a page.
func (c *Composer) Language(uiLocales, acceptLanguage string) string {
	return c.languages.Choose(uiLocales, acceptLanguage)
}

// Compose writes a mail and returns its subject, in one line, and both its forms. It
// sets Lifetime, What, BrandColor, ButtonText and Logo in d.
func (c *Composer) Compose(d Data) (subject, text, html string, err error) {
	if d.Lifetime, err = pages.Minutes(d.Language, d.Minutes); err != nil {
		return "", "", "", err
	}
	if d.What, err = d.what(); err != nil {
		return "", "", "", err
	}
	if d.Where = d.Host; !strings.EqualFold(d.Site, d.Host) {
		d.Where = d.Site + " (" + d.Host + ")"
	}
	d.BrandColor, d.ButtonText, d.Logo = d.Look.Colours.Brand, d.Look.Colours.OnBrand, d.Look.Logo
	t, err := c.templates(d)
	if err != nil {
		return "", "", "", err
	}
	var values any = d
	if subject, err = fill(t.Subject, values); err != nil {
		return "", "", "", err
	}
	text, err = fill(t.Text, values)
	html, htmlErr := fill(t.HTML, values)
	return oneLine(subject), text, html, errors.Join(err, htmlErr)
}

// what returns one sentence about a notice or a change of address, and "" for a sign-in
// mail.
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

// Asked returns a sentence about the browser that requested the mail.
func (d Data) Asked() (string, error) {
	unknown, err := pages.Text(d.Language, "device.unknown")
	device := d.Device
	if err == nil && device == unknown { // in a sentence
		device, err = pages.Text(d.Language, "mail.unknown")
	}
	switch {
	case err != nil:
		return "", err
	case d.Network != "":
		return pages.Text(d.Language, "mail.place", device, d.Network)
	}
	return pages.Text(d.Language, "mail.asked", device)
}

// templates returns the templates for a mail of d, none of them nil.
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
	if !ok || built.look != d.Look {
		set, err := key.kind.defaults(d.Language, d.Look)
		if err != nil {
			return t, err
		}
		built = themed{d.Look, set}
		c.defaults[key] = built
	}
	return merged(t, built.Set), nil
}

// merged returns first, with the templates of second where first has none.
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

// An executor is a text or HTML template.
type executor interface {
	Execute(w io.Writer, data any) error
}

func fill(t executor, d any) (string, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	err := t.Execute(b, d)
	return b.String(), err
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
