// Package pages renders the built-in pages: sign-in, sign-out, errors and what
// lies between. It knows nothing of HTTP or of sessions: a page's view has all
// that the page shows.
package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"strings"

	"golang.org/x/text/language"
)

//go:embed templates/*.html templates/style.css
var pageFiles embed.FS

// A Name is a template in pages/.
type Name string

// The built-in pages.
const (
	SignIn          Name = "signin"
	SignOut         Name = "signout"
	Error           Name = "error"
	VerifyRequest   Name = "verify-request"
	Confirm         Name = "confirm"
	Notice          Name = "notice"
	Repost          Name = "repost"
	SignOutProvider Name = "signout-provider"
)

// pageNames lists every page and says whether its policy has form-action.
// Chromium applies form-action to each redirect that answers the form, so it
// cannot stand on a page whose form may lead to an identity provider or to a
// callbackUrl on another origin.
func pageNames() map[Name]bool {
	return map[Name]bool{
		SignIn: false, SignOut: false, Confirm: false, Repost: false, SignOutProvider: false,
		Error: true, VerifyRequest: true, Notice: true,
	}
}

// submitsItself reports whether the page's only form is submitted by a script.
func (n Name) submitsItself() bool { return n == Repost || n == SignOutProvider }

// submitScript submits the only form of a page. It is allowed by its hash; the
// prototype's method works whatever the fields are called.
const submitScript = `HTMLFormElement.prototype.submit.call(document.forms[0])`

// A Theme adapts the pages; see authsvc.Theme.
type Theme struct {
	ColorScheme string
	BrandColor  string
	ButtonText  string
	Logo        string
	SiteName    string
}

// A Style is how a provider's button looks; see authsvc.Style.
type Style struct {
	Logo       string
	Background string
	Text       string
}

// A Field is one input of a form; see authsvc.Field.
type Field struct {
	Name         string
	Label        string
	Type         string
	Placeholder  string
	Autocomplete string
}

// A ProviderStyle is what the style sheet has of a provider.
type ProviderStyle struct {
	ID    string
	Style Style
}

// A Mistake is one of the operator's, in a theme or a style.
type Mistake struct {
	Field    string // of Theme
	Provider string // whose Style it is, else empty
	Problem  string // what is wrong
	Fix      string // what to do
}

// Error implements error.
func (m *Mistake) Error() string { return m.Field + m.Provider + " " + m.Problem + "; " + m.Fix }

// Pages renders the built-in pages. It is immutable.
type Pages struct {
	templates map[Name]*template.Template
	policies  map[Name]string
	langs     []string // index of matcher
	matcher   language.Matcher
	site      site
	style     []byte
	StylePath string // style.<hash>.css, relative to the base URL
}

// site is what all pages of a service share.
type site struct {
	Site        string // name
	Origin      string
	Base        string // absolute base URL, without a slash at the end
	Logo        template.URL
	ColorScheme string
	StyleURL    string
}

// newPages builds the pages of a service. base is its absolute base URL, such
// as https://app.example.com/api/auth, origin that of the application. The
// style sheet gets the colours of providers. The errors are mistakes of the
// operator in theme and styles, all at once; the pages are then unusable.
func New(theme Theme, base, origin string, providers ...ProviderStyle) (*Pages, []error) {
	l, errs := newLook(theme)
	css, err := pageFiles.ReadFile("templates/style.css")
	if err != nil {
		return nil, append(errs, fmt.Errorf("pages: %w", err))
	}
	p := &Pages{templates: map[Name]*template.Template{}, policies: map[Name]string{}}
	var styleErrs []error
	p.style, p.StylePath, styleErrs = styleSheet(l, string(css), providers)
	errs = append(errs, styleErrs...)

	base = strings.TrimSuffix(base, "/")
	p.site = site{
		Site: shownName(theme, origin), Origin: origin, Base: base,
		Logo: template.URL(l.logo), ColorScheme: l.metaScheme(), StyleURL: base + "/" + p.StylePath, // #nosec G203 -- the operator's
	}
	p.langs, p.matcher = newMatcher()
	for name, formAction := range pageNames() {
		t, err := template.New("layout.html").Funcs(pageFuncs()).ParseFS(pageFiles, "templates/layout.html", "templates/"+string(name)+".html")
		if err != nil {
			return nil, append(errs, fmt.Errorf("pages: %w", err))
		}
		p.templates[name] = t
		p.policies[name] = policy(l.logoOrigin, formAction, name.submitsItself())
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return p, nil
}

// shownName is what people know the application as.
func shownName(t Theme, origin string) string {
	if t.SiteName != "" {
		return t.SiteName
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		return u.Host
	}
	return origin
}

// policy is a Content-Security-Policy (CSP level 3).
func policy(logoOrigin string, formAction, script bool) string {
	img := "img-src 'self' data:"
	if logoOrigin != "" {
		img += " " + logoOrigin
	}
	parts := []string{"default-src 'none'", "style-src 'self'", img, "base-uri 'none'", "frame-ancestors 'none'"}
	if formAction {
		parts = append(parts, "form-action 'self'")
	}
	if script {
		sum := sha256.Sum256([]byte(submitScript))
		parts = append(parts, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(parts, "; ")
}

// pageFuncs are the functions of the templates.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"mark": mark, "known": knownMark, "letter": letter,
		"address": address, "inputType": inputType, "autocomplete": autocomplete,
		"submitScript": func() template.JS { return submitScript },
	}
}

// inputType lets only harmless types of input through.
func inputType(t string) string {
	switch t {
	case "password", "email", "number", "tel":
		return t
	}
	return "text"
}

// autocomplete is a field's autofill token (HTML, autofill detail tokens).
func autocomplete(f Field) string {
	if f.Autocomplete == "" && f.Type == "password" {
		return "current-password"
	}
	return f.Autocomplete
}

// render makes a whole document. lang is a result of language; anything else
// means English. v is the view of the page, such as SignInView for SignIn.
func (p *Pages) Render(name Name, lang string, v any) ([]byte, error) {
	t, ok := p.templates[name]
	if !ok {
		return nil, fmt.Errorf("pages: no page %q", name)
	}
	d := document{site: p.site, Name: name, words: wordsOf(lang), V: v}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return b.Bytes(), nil
}

// csp is the Content-Security-Policy of a page; of one that does not exist, a
// policy that allows nothing.
func (p *Pages) Policy(name Name) string {
	if c, ok := p.policies[name]; ok {
		return c
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// asset is the file behind {base}/name. Its name holds a hash of its content,
// so it may be cached for ever.
func (p *Pages) Asset(name string) (body []byte, contentType string, ok bool) {
	if name != p.StylePath {
		return nil, "", false
	}
	return p.style, "text/css; charset=utf-8", true
}

// document is what a template sees: the site, the words of one language, and
// the view V.
type document struct {
	site
	words
	Name Name
	V    any
}

// Title is the text of the browser's tab.
func (d document) Title() (string, error) {
	t, err := d.T("title." + string(d.Name))
	return t + " · " + d.Site, err
}

// Rich is T as HTML, with the arguments, names or addresses, set off from the
// text.
func (d document) Rich(key string, args ...string) (template.HTML, error) {
	marked := make([]any, len(args))
	for i, a := range args {
		marked[i] = address(a)
	}
	s, err := d.format(html.EscapeString, key, marked...)
	return template.HTML(s), err // #nosec G203 -- format escapes every argument
}

// address shows a name or an address: isolated from the text around it (bdi),
// as it may run in the other direction, and with places to break a long one.
func address(s string) template.HTML {
	const oneLine = 24 // fits the narrowest screen
	text := html.EscapeString(s)
	if len(s) > oneLine {
		text = strings.NewReplacer("@", "<wbr>@", ".", ".<wbr>").Replace(text)
	}
	return template.HTML("<bdi>" + text + "</bdi>") // #nosec G203 -- text is escaped
}
