package dev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/mailbox"
)

//go:embed pages
var files embed.FS

// handler is the application of dev: a home page and an inbox in front of the
// service.
func (w *world) handler() http.Handler {
	templates := template.Must(template.ParseFS(files, "pages/*.html"))
	css, err := files.ReadFile("pages/dev.css")
	if err != nil { // embedded
		panic(err)
	}
	sum := sha256.Sum256(css)
	p := &site{world: w, templates: templates, css: css, cssPath: "/dev." + base64.RawURLEncoding.EncodeToString(sum[:6]) + ".css"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.home)
	mux.HandleFunc("GET /inbox", p.inbox)
	mux.HandleFunc("GET /inbox/{id}", p.inbox)
	mux.HandleFunc("POST /inbox/clear", p.clear)
	mux.HandleFunc("GET /favicon.ico", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET "+p.cssPath, p.style)
	return w.guard(mux)
}

// guard sends the routes of the service to it, as they came, and answers only
// to the host that dev is for: a name that somebody points at 127.0.0.1 must
// not reach the inbox (DNS rebinding).
func (w *world) guard(next http.Handler) http.Handler {
	hosts := []string{strings.TrimPrefix(w.origin, "http://"), strings.TrimPrefix(w.local, "http://")}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case !slices.Contains(hosts, r.Host):
			http.Error(rw, "open "+w.local, http.StatusMisdirectedRequest)
		case r.URL.Path == "/api/auth" || strings.HasPrefix(r.URL.Path, "/api/auth/"):
			w.service.ServeHTTP(rw, r)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// site renders the pages of dev.
type site struct {
	*world
	templates *template.Template
	css       []byte
	cssPath   string
}

// frame is what every page needs.
type frame struct {
	Title, Style, DevStyle string
	Origin                 string // of the application
	Local                  string // of these pages
	Issuer                 string
}

func (p *site) frame(title string) frame {
	return frame{Title: title, Style: strings.TrimPrefix(p.service.StyleURL(), p.origin), DevStyle: p.cssPath, Origin: p.origin, Local: p.local, Issuer: p.issuer}
}

func (p *site) show(rw http.ResponseWriter, name string, view any) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, view); err != nil {
		p.Log.Error("dev page cannot be rendered", "page", name, "err", err)
		http.Error(rw, "this page is broken, see the log", http.StatusInternalServerError)
		return
	}
	h := rw.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "strict-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data: https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	rw.Write(b.Bytes()) //nolint:errcheck // the browser is gone
}

// home shows the session, the ways in and out, and how to use it from code.
func (p *site) home(rw http.ResponseWriter, r *http.Request) {
	view := struct {
		frame
		Session *authsvc.Session
		JSON    string
		Signed  string // when
		With    string // by which provider
		Mails   int
	}{frame: p.frame("authsvc dev"), JSON: "{}", Mails: len(p.mailbox.Messages())}
	s, err := p.service.Session(r)
	if err != nil {
		p.Log.Error("session cannot be read", "err", err)
		http.Error(rw, "the session cannot be read, see the log", http.StatusServiceUnavailable)
		return
	}
	if s != nil {
		raw, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			p.Log.Error("session cannot be shown", "err", err)
		}
		view.Session, view.JSON, view.Signed = s, string(raw), s.AuthTime.Local().Format("15:04:05")
		switch view.With = s.Provider; s.Provider {
		case providerID:
			view.With = providerName
		case "email":
			view.With = "a mailed link"
		}
	}
	p.show(rw, "home.html", view)
}

// inbox lists the mails and opens one: the newest, or the one in the path. An
// empty inbox waits a moment, since a mail is usually on its way.
func (p *site) inbox(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if id == "" && len(p.mailbox.Messages()) == 0 {
		p.awaitMail(r)
	}
	view := struct {
		frame
		List []mailbox.Message
		Open *mailbox.Message
		Link string
	}{frame: p.frame("Inbox"), List: p.mailbox.Messages()}
	for i := range view.List {
		if m := &view.List[i]; id == m.ID || id == "" && i == 0 {
			view.Open, view.Link = m, m.Link()
		}
	}
	if id != "" && view.Open == nil {
		rw.WriteHeader(http.StatusNotFound)
	}
	p.show(rw, "inbox.html", view)
}

func (p *site) awaitMail(r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	_, _ = p.mailbox.Wait(ctx, func(mailbox.Message) bool { return true })
}

// clear empties the inbox.
func (p *site) clear(rw http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(rw, "not from another site", http.StatusForbidden)
		return
	}
	if err := p.mailbox.Clear(); err != nil {
		p.Log.Error("inbox cannot be emptied", "err", err)
	}
	http.Redirect(rw, r, "/inbox", http.StatusSeeOther)
}

func (p *site) style(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/css; charset=utf-8")
	rw.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	rw.Write(p.css) //nolint:errcheck
}
