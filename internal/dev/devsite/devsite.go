// Package devsite implements the development pages that `authsvc dev` and package
// devidp share: their frame and the inbox.
package devsite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc/internal/dev/inbox"
	"authsvc/internal/text/pages"
)

//go:embed pages
var files embed.FS

// Frame holds the data of every page. Links are URLs or paths.
type Frame struct {
	Title  string
	Brand  string // at the top of every page
	Foot   string // last sentence of every page
	Home   string
	SignIn string
	Issuer string // the identity provider
	Shared bool   // other machines may connect
	// Refresh is the number of seconds after which a page without scripts reloads. 0
	// means never.
	Refresh int
	Style   string // set by Site
	Script  string // set by Site; the pages also work without it
}

// A Site renders the pages.
type Site struct {
	frame     Frame
	box       *inbox.Box
	log       *slog.Logger
	templates *template.Template
	css, js   []byte
	policy    string
}

// New returns a site with the inbox of box. If more is not nil, its pages/*.html
// contain further templates, which use "top" and "bottom" of the frame.
func New(frame Frame, box *inbox.Box, log *slog.Logger, more fs.FS) (*Site, error) {
	look, errs := pages.New(pages.Theme{}, "http://localhost", "http://localhost")
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	base, _, _ := look.Asset(look.StylePath)
	own, err := files.ReadFile("pages/dev.css")
	if err != nil {
		return nil, err
	}
	s := &Site{frame: frame, box: box, log: log, css: bytes.Join([][]byte{base, own}, []byte("\n"))}
	if s.js, err = files.ReadFile("pages/dev.js"); err != nil {
		return nil, err
	}
	s.frame.Style, s.frame.Script = "/dev."+hashed(s.css)+".css", "/dev."+hashed(s.js)+".js"
	images := "img-src 'self' data: https:"
	if u, err := url.Parse(frame.Issuer); err == nil && u.Scheme == "http" { // pictures of people
		images += " " + u.Scheme + "://" + u.Host
	}
	s.policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; " + images + "; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	if s.templates, err = template.ParseFS(files, "pages/*.html"); err == nil && more != nil {
		s.templates, err = s.templates.ParseFS(more, "pages/*.html")
	}
	return s, err
}

// hashed returns a hash of a file for its name.
func hashed(file []byte) string {
	sum := sha256.Sum256(file)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// Frame returns the data of a page with this title.
func (s *Site) Frame(title string) Frame {
	f := s.frame
	f.Title = title
	return f
}

// Handle adds the routes of the inbox and of the files that the pages load.
func (s *Site) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET /inbox", s.inbox)
	mux.HandleFunc("GET /inbox/{id}", s.inbox)
	mux.HandleFunc("POST /inbox/clear", s.clear)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /inbox/{id}/html", s.mailHTML)
	mux.HandleFunc("GET "+inboxState, s.state)
	mux.HandleFunc("GET "+s.frame.Style, asset("text/css; charset=utf-8", s.css))
	mux.HandleFunc("GET "+s.frame.Script, asset("text/javascript; charset=utf-8", s.js))
}

// Show writes a page.
func (s *Site) Show(w http.ResponseWriter, status int, name string, view any) {
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, name, view); err != nil {
		s.log.Error("cannot render a dev page", "page", name, "err", err)
		http.Error(w, "this page is broken, see the log", http.StatusInternalServerError)
		return
	}
	setHeaders(w.Header(), "strict-origin", s.policy)
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the browser is gone
}

// setHeaders sets the headers of a page.
func setHeaders(h http.Header, referrer, policy string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", referrer)
	h.Set("Content-Security-Policy", policy)
}

// inbox lists the mails and opens one: the newest, or the one in the path. An empty
// inbox waits briefly, because a mail is usually on its way.
func (s *Site) inbox(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if id == "" && len(s.box.Messages()) == 0 {
		s.awaitMail(r)
	}
	view := struct {
		Frame
		List   []inbox.Message
		Open   *inbox.Message
		Link   string
		More   []string // further links of the mail
		Follow string   // path that the page polls to show the newest mail; empty: it does not
		State  string
	}{Frame: s.Frame("Inbox"), List: s.box.Messages()}
	if view.State = stateOf(view.List); id == "" {
		view.Follow, view.Refresh = inboxState, 10
	}
	for i := range view.List {
		if m := &view.List[i]; id == m.ID || id == "" && i == 0 {
			view.Open, view.Link = m, m.Link()
			if len(m.Links) > 1 {
				view.More = m.Links[1:min(len(m.Links), maxShownLinks)]
			}
		}
	}
	status := http.StatusOK
	if id != "" && view.Open == nil {
		status = http.StatusNotFound
	}
	s.Show(w, status, "inbox.html", view)
}

func (s *Site) awaitMail(r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	_, _ = s.box.Wait(ctx, func(inbox.Message) bool { return true })
}

// clear deletes all mails.
func (s *Site) clear(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, "requests from another site are refused", http.StatusForbidden)
		return
	}
	if err := s.box.Clear(); err != nil {
		s.log.Error("cannot empty the inbox", "err", err)
	}
	http.Redirect(w, r, "/inbox", http.StatusSeeOther)
}

// maxShownLinks limits the links of a mail that have a button.
const maxShownLinks = 5

// inboxState is the path where a page asks whether there is more mail than it shows.
const inboxState = "/inbox-state"

// stateOf returns a text that changes with the list.
func stateOf(list []inbox.Message) string {
	var ids strings.Builder
	for _, m := range list {
		ids.WriteString(m.ID + " ")
	}
	return hashed([]byte(ids.String()))
}

func (s *Site) state(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	io.WriteString(w, stateOf(s.box.Messages())) //nolint:errcheck // the browser is gone
}

// mailPolicy lets a mail show only itself. A mail has no origin, runs no scripts and
// sends no forms. It loads nothing from the network except https images. Links that the
// user clicks open in the whole window.
const mailPolicy = "sandbox allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; img-src data: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// mailHTML serves the HTML part of a mail, for the frame on the inbox page.
func (s *Site) mailHTML(w http.ResponseWriter, r *http.Request) {
	m, ok := s.box.Message(r.PathValue("id"))
	if !ok || m.HTML == "" {
		http.NotFound(w, r)
		return
	}
	setHeaders(w.Header(), "no-referrer", mailPolicy)
	io.WriteString(w, `<!doctype html><base target="_top">`+m.HTML) //nolint:errcheck // the browser is gone
}

func asset(kind string, file []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(file) //nolint:errcheck // the browser is gone
	}
}
