// Package pages renders the built-in pages for sign-in, sign-out, errors and the steps
// in between. It does not handle HTTP or sessions: the view of a page holds everything
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
	"slices"
	"strings"
	"sync"
	"unicode"

	"authsvc/internal/text"
)

//go:embed templates/*.html templates/style.css
var pageFiles embed.FS

// A Name is the name of a template in templates/.
type Name string

// The built-in pages.
const (
	SignIn          Name = "signin"
	SignOut         Name = "signout"
	Error           Name = "error"
	VerifyRequest   Name = "verify-request"
	Confirm         Name = "confirm"
	Used            Name = "used"
	StepUp          Name = "stepup"
	Account         Name = "account"
	Address         Name = "address"         // asks for a new address and shows the state of its change
	AddressConfirm  Name = "address-confirm" // page that the mails about it link to
	Undo            Name = "undo"
	Delete          Name = "delete"
	Keep            Name = "keep"
	Notice          Name = "notice"
	Repost          Name = "repost"
	SignOutProvider Name = "signout-provider"
	NotFound        Name = "notfound"
	Forbidden       Name = "forbidden"   // gate
	Framed          Name = "framed"      // gate
	Unavailable     Name = "unavailable" // gate
)

// leadAway lists the pages whose form may lead to an identity provider or to a
// callbackUrl on another origin. Their policy has no form-action, because Chromium
// applies it to each redirect that answers the form.
var leadAway = []Name{SignIn, SignOut, VerifyRequest, Confirm, Repost, SignOutProvider, StepUp, Account, Delete, Keep, Address, Tokens}

// showMarks lists the pages that show marks of providers, which can be pictures at other
// origins.
var showMarks = []Name{SignIn, StepUp, Account}

// pageNames maps every page, by its template, to whether its policy has form-action.
func pageNames() map[Name]bool {
	all := map[Name]bool{}
	files, err := pageFiles.ReadDir("templates")
	if err != nil { // the folder is embedded
		panic(err)
	}
	for _, f := range files {
		if name, isPage := strings.CutSuffix(f.Name(), ".html"); isPage && name != "layout" {
			all[Name(name)] = !slices.Contains(leadAway, Name(name))
		}
	}
	return all
}

// Scripts returns the scripts of the pages. Each page works without its script. The
// policy of the page allows exactly that text.
func Scripts() map[Name]string {
	return map[Name]string{Repost: submitScript, SignOutProvider: submitScript, SignIn: revealScript, StepUp: revealScript, VerifyRequest: waitScript}
}

const (
	// submitScript submits the only form of a page. The prototype's method works
	// whatever the names of the fields.
	submitScript = `HTMLFormElement.prototype.submit.call(document.forms[0])`

	// revealScript adds a button to each password that shows it until the form is sent.
	revealScript = `for(const i of document.querySelectorAll("[type=password]")){const d=i.parentNode.dataset,b=document.createElement("button"),` +
		`set=s=>{i.type=s?"text":"password";b.textContent=s?d.hide:d.show};b.type="button";b.className="reveal";set(false);` +
		`b.addEventListener("click",()=>set(i.type=="password"));i.form.addEventListener("submit",()=>set(false));i.after(b)}`

	// waitScript polls the session of this browser while the page is visible. When there
	// is a session, it opens the next page. When the link has expired, it loads the page
	// again, which says so.
	waitScript = `{const d=document.currentScript.dataset,end=Date.now()+d.seconds*1e3;let last=0;` +
		`const ask=async()=>{const now=Date.now();if(document.hidden||now-last<4900)return;last=now;` +
		`try{const r=await fetch(d.session,{cache:"no-store"}),s=r.ok&&await r.json();if(s&&Object.keys(s).length)location.replace(d.next);else if(s&&now>end)location.reload()}catch{}};` +
		`setInterval(ask,5e3);document.addEventListener("visibilitychange",ask)}`
)

// A Theme adapts the pages; see authsvc.Theme.
type Theme struct {
	ColorScheme string
	BrandColor  string
	ButtonText  string
	Logo        string
	SiteName    string
}

// A Style sets the look of a provider's button; see authsvc.Style.
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

// A ProviderStyle is the style of one provider, for the style sheet.
type ProviderStyle struct {
	ID    string
	Style Style
}

// A Mistake describes an error of the operator in a theme or a style.
type Mistake struct {
	Field    string // field of Theme, or of the Style of Provider
	Provider string // provider with the Style, else empty
	Problem  string // description of the problem
	Fix      string // advice
}

// Error implements error.
func (m *Mistake) Error() string {
	return strings.TrimSpace(m.Provider + " " + m.Field + " " + m.Problem + "; " + m.Fix)
}

// Pages renders the built-in pages. It is immutable.
type Pages struct {
	policies  map[Name]string
	langs     *Chooser
	mailLook  MailLook
	site      site
	style     []byte
	icon      []byte
	StylePath string // style.<hash>.css, relative to the base URL
	IconPath  string // icon.<hash>.svg, relative to the base URL
	// ZippedStyle returns the asset at StylePath in gzip, which the first call makes.
	// Pages are never compressed: they hold CSRF tokens next to text that others chose
	// (BREACH).
	ZippedStyle func() []byte
}

// site holds the values that all pages of a service share.
type site struct {
	Site        string // name of the service
	Origin      string
	Base        string // absolute base URL, without a trailing slash
	Logo        template.URL
	ColorScheme string
	StyleURL    string
	IconURL     string
}

// New builds the pages of a service. base is its absolute base URL, such as
// https://app.example.com/api/auth; origin is the application's. The style sheet gets
// the colours of providers. The errors are all mistakes of the operator in theme and
// styles; with any error the pages are unusable.
func New(theme Theme, base, origin string, providers ...ProviderStyle) (*Pages, []error) {
	l, errs := newLook(theme)
	css, err := embeddedStyle()
	if err != nil {
		return nil, append(errs, fmt.Errorf("pages: %w", err))
	}
	p := &Pages{policies: map[Name]string{}}
	var styleErrs []error
	p.style, p.StylePath, styleErrs = styleSheet(l, css, providers)
	errs = append(errs, styleErrs...)
	p.ZippedStyle = sync.OnceValue(func() []byte { return zipped(p.style) })
	markOrigins, markErrs := checkMarks(providers)
	errs = append(errs, markErrs...)

	base = strings.TrimSuffix(base, "/")
	name := shownName(theme, origin)
	p.icon = l.icon(name)
	p.IconPath = hashed("icon", p.icon, "svg")
	p.site = site{
		Site: name, Origin: origin, Base: base, IconURL: base + "/" + p.IconPath,
		Logo: template.URL(l.logo), ColorScheme: l.metaScheme(), StyleURL: base + "/" + p.StylePath, // #nosec G203 -- the operator's
	}
	p.mailLook = l.mailLook()
	if p.langs, err = NewChooser(); err != nil {
		return nil, append(errs, fmt.Errorf("pages: %w", err))
	}
	script := Scripts()
	for name, formAction := range pageNames() {
		origins := []string{l.logoOrigin}
		if slices.Contains(showMarks, name) {
			origins = append(origins, markOrigins...)
		}
		p.policies[name] = policy(origins, formAction, script[name])
	}
	p.policies[VerifyRequest] += "; connect-src 'self'"
	p.policies[Framed] = strings.Replace(p.policies[Framed], "frame-ancestors 'none'", "frame-ancestors 'self'", 1)
	if len(errs) > 0 {
		return nil, errs
	}
	return p, nil
}

// shownName returns the name of the application for people.
func shownName(t Theme, origin string) string {
	if t.SiteName != "" {
		return t.SiteName
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		return u.Host
	}
	return origin
}

const ownPictures = "img-src 'self' data:"

// policy returns a Content-Security-Policy (CSP level 3).
func policy(logoOrigins []string, formAction bool, script string) string {
	img := ownPictures
	for i, origin := range logoOrigins {
		if origin != "" && !slices.Contains(logoOrigins[:i], origin) {
			img += " " + origin
		}
	}
	parts := []string{"default-src 'none'", "style-src 'self'", img, "base-uri 'none'", "frame-ancestors 'none'"}
	if formAction {
		parts = append(parts, "form-action 'self'")
	}
	if script != "" {
		sum := sha256.Sum256([]byte(script))
		parts = append(parts, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(parts, "; ")
}

// templates holds the pages of all services. Each page is parsed on its first use,
// because most processes show few pages.
var templates = func() map[Name]func() (*template.Template, error) {
	all := map[Name]func() (*template.Template, error){}
	for name := range pageNames() {
		all[name] = sync.OnceValues(func() (*template.Template, error) {
			return template.New("layout.html").Funcs(pageFuncs()).ParseFS(pageFiles, "templates/layout.html", "templates/"+string(name)+".html")
		})
	}
	return all
}()

// pageFuncs returns the functions of the templates.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"mark": mark, "known": knownMark, "coloured": colouredMark, "markURL": markURL, "letter": letter, "initials": initials,
		"address": address, "addressField": AddressField, "inputType": inputType, "autocomplete": autocomplete,
		"script": func(name Name) template.JS { return template.JS(Scripts()[name]) }, // #nosec G203 -- compiled in
	}
}

// inputType returns t if it is a harmless input type, else "text".
func inputType(t string) string {
	switch t {
	case "password", "email", "number", "tel":
		return t
	}
	return "text"
}

// autocomplete returns the autofill token of a field (HTML, autofill detail tokens).
func autocomplete(f Field) string {
	if f.Autocomplete == "" && f.Type == "password" {
		return "current-password"
	}
	return f.Autocomplete
}

// Render returns a whole document. lang must be a result of Language; anything else
// means English. v is the view of the page, such as SignInView for SignIn.
func (p *Pages) Render(name Name, lang string, v any) ([]byte, error) {
	parsed, ok := templates[name]
	if !ok {
		return nil, fmt.Errorf("pages: no page %q", name)
	}
	t, err := parsed()
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	d := document{site: p.site, Name: name, words: wordsOf(lang), V: v}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return b.Bytes(), nil
}

// AtAnyHost returns the pages for other hosts than the host of the base URL, if its
// path leads to the same service there. The pages load their assets below that path,
// and the name of the site links to the root of the host.
func (p *Pages) AtAnyHost() *Pages {
	c := *p
	c.site.Origin = "/"
	for _, u := range []*string{&c.site.StyleURL, &c.site.IconURL} {
		if parsed, err := url.Parse(*u); err == nil {
			*u = parsed.EscapedPath()
		}
	}
	return &c
}

// Policy returns the Content-Security-Policy of a page. For an unknown page, the policy
// allows nothing. Pictures may come from the site and, if pictures is not empty, from
// that origin: scheme://host[:port].
func (p *Pages) Policy(name Name, pictures string) string {
	if c, ok := p.policies[name]; ok {
		if pictures != "" {
			c = strings.Replace(c, ownPictures, ownPictures+" "+pictures, 1)
		}
		return c
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Asset returns the file at {base}/name. The name contains a hash of the content, so
// the file may be cached for ever.
func (p *Pages) Asset(name string) (body []byte, contentType string, ok bool) {
	switch name {
	case p.StylePath:
		return p.style, "text/css; charset=utf-8", true
	case p.IconPath:
		return p.icon, "image/svg+xml", true
	}
	return nil, "", false
}

// document is the data of a template: the site, the words of one language, and the view
// V.
type document struct {
	site
	words
	Name Name
	V    any
}

// With returns the document with another view, for a part of the page.
func (d document) With(v any) document {
	d.V = v
	return d
}

// Title returns the title of the browser tab.
func (d document) Title() (string, error) {
	t, err := d.T("title." + string(d.Name))
	return t + " · " + d.Site, err
}

// Rich returns T as HTML. It sets off the arguments, names or addresses, from the text.
func (d document) Rich(key string, args ...string) (template.HTML, error) {
	marked := make([]any, len(args))
	for i, a := range args {
		marked[i] = address(a)
	}
	s, err := d.format(html.EscapeString, key, marked...)
	return template.HTML(s), err // #nosec G203 -- format escapes every argument
}

// Beside returns T as HTML with one argument. Only the argument is visible; screen
// readers get the whole text.
func (d document) Beside(key, arg string) (template.HTML, error) {
	const seen = "\x00"
	s, err := d.T(key, seen)
	before, after, _ := strings.Cut(s, seen)
	hidden := func(s string) string {
		if s == "" {
			return ""
		}
		return `<span class="vh">` + html.EscapeString(s) + `</span>`
	}
	return template.HTML(hidden(before) + html.EscapeString(arg) + hidden(after)), err // #nosec G203 -- escaped
}

// initials returns the first letters of the first and the last word of name, or the
// first letter of who if name has none.
func initials(name, who string) string {
	words := slices.DeleteFunc(strings.Fields(name), func(w string) bool { return !strings.ContainsFunc(w, unicode.IsLetter) })
	switch {
	case len(words) == 0:
		return letter(who)
	case len(words) == 1:
		return letter(words[0])
	}
	return letter(words[0]) + letter(words[len(words)-1])
}

// address returns a name or an address as HTML. It is isolated from the text around it
// (bdi), because it may run in the other direction, and has places to break a long one.
// It is cut to 255 characters, because a table of another program may hold any name.
func address(s string) template.HTML {
	const oneLine = 24 // fits the narrowest screen
	s = text.Name(s)
	escaped := html.EscapeString(s)
	if len(s) > oneLine {
		escaped = strings.NewReplacer("@", "<wbr>@", ".", ".<wbr>").Replace(escaped)
	}
	return template.HTML("<bdi>" + escaped + "</bdi>") // #nosec G203 -- escaped
}
