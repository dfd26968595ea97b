package idp

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
)

//go:embed pages
var pageFiles embed.FS

// pagePolicy has no form-action, because browsers also apply it to redirects after a
// form, and these lead to the application.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"

// submitScript is the only script. It is on the page that posts an answer.
const submitScript = "document.forms[0].submit()"

// pages renders the HTML.
type pages struct {
	base      string // path of the issuer
	templates *template.Template
	style     []byte
	stylePath string // below the issuer; contains a hash, so that it can be cached forever
}

func newPages(base string, style []byte) *pages {
	if len(style) == 0 {
		style, _ = pageFiles.ReadFile("pages/style.css") // embedded, cannot be missing
	}
	sum := sha256.Sum256(style)
	return &pages{
		base:      base,
		templates: template.Must(template.ParseFS(pageFiles, "pages/*.html")),
		style:     slices.Clone(style),
		stylePath: "/style-" + hex.EncodeToString(sum[:6]) + ".css",
	}
}

func (pg *pages) serveStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Write(pg.style)
}

// render writes a page. It renders into memory first, so that a failure gives a plain
// 500 instead of half a page.
func (pg *pages) render(w http.ResponseWriter, status int, name string, data map[string]any) {
	data["Style"] = pg.base + pg.stylePath
	var buf bytes.Buffer
	if err := pg.templates.ExecuteTemplate(&buf, name, data); err != nil {
		http.Error(w, "cannot render the page", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(buf.Bytes())
}

// row is a person on the page.
type row struct {
	Person
	Avatar    string
	Suggested bool
}

// showPicker lists the people. The person that login_hint names comes first.
func (p *Provider) showPicker(w http.ResponseWriter, status int, req *authRequest, form newcomer) {
	hinted, _ := p.personByHint(req.loginHint)
	var rows []row
	for _, person := range p.People() {
		r := row{Person: person, Avatar: p.base + avatarPath(person), Suggested: person.Sub == hinted.Sub}
		if r.Suggested {
			rows = slices.Insert(rows, 0, r)
		} else {
			rows = append(rows, r)
		}
	}
	p.pages.render(w, status, "choose.html", map[string]any{
		"Title":  "Choose a person",
		"Client": req.client.displayName(),
		"Action": p.base + req.face.prefix + "/authorize/choose?" + req.params.Encode(),
		"People": rows,
		"Form":   form,
		"Open":   form.Tried || len(rows) == 0,
	})
}

// index shows the page for a person who comes without an application.
func (p *Provider) index(w http.ResponseWriter, _ *http.Request) {
	var rows []row
	for _, person := range p.People() {
		rows = append(rows, row{Person: person, Avatar: p.base + avatarPath(person)})
	}
	p.pages.render(w, http.StatusOK, "index.html", map[string]any{
		"Title": "People", "Issuer": p.issuer, "Base": p.base, "People": rows,
	})
}

// showError shows an error that the client must not see.
func (p *Provider) showError(w http.ResponseWriter, status int, err *pageError) {
	p.pages.render(w, status, "error.html", map[string]any{
		"Title": "This sign-in cannot continue", "Message": err.message, "Detail": err.detail,
	})
}

// showFormPost writes the page that posts an answer to the client (OAuth 2.0 Form Post
// Response Mode §2), by script or otherwise by button.
func (pg *pages) showFormPost(w http.ResponseWriter, a Answer) {
	type field struct{ Name, Value string }
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(a.Params)) {
		for _, value := range a.Params[name] {
			fields = append(fields, field{name, value})
		}
	}
	sum := sha256.Sum256([]byte(submitScript))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	w.Header().Set("Content-Security-Policy", strings.Replace(pagePolicy, ";", "; script-src 'sha256-"+hash+"';", 1))
	pg.render(w, http.StatusOK, "formpost.html", map[string]any{
		"Title": "Back to the application", "Action": a.RedirectURI, "Fields": fields,
		"Script": template.JS(submitScript), // #nosec G203 -- compiled-in text
	})
}
