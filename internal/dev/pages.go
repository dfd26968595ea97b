package dev

import (
	"embed"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"authsvc"
	"authsvc/internal/dev/devsite"
	"authsvc/internal/dev/idp"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
)

//go:embed pages
var files embed.FS

// handler returns the application of dev: a home page and an inbox in front of the
// service.
func (w *world) handler() (http.Handler, error) {
	frame := devsite.Frame{Brand: "authsvc dev", Foot: "Nothing here is part of authsvc serve.", Home: "/",
		SignIn: w.origin + "/api/auth/signin?callbackUrl=%2F", Issuer: w.issuer, Shared: w.Shared}
	pages, err := devsite.New(frame, w.mailbox.Box, w.Log, files)
	if err != nil {
		return nil, err
	}
	p := &site{world: w, Site: pages}
	mux := http.NewServeMux()
	pages.Handle(mux)
	if w.Upstream == "" {
		mux.HandleFunc("GET /{$}", p.home)
		mux.HandleFunc("/", p.missing)
	}
	if w.Shared {
		mux.Handle(idpPath+"/", w.idp)
		mux.HandleFunc("GET "+idpPath, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, idpPath+"/", http.StatusSeeOther) })
		return w.guardShared(w.guard(w.behind(mux))), nil
	}
	return w.guard(w.behind(mux)), nil
}

// behind serves the program of Upstream everywhere except at the pages of dev. Without
// Upstream, it serves only the pages.
func (w *world) behind(pages *http.ServeMux) http.Handler {
	if w.Upstream == "" {
		return pages
	}
	program := w.service.Guard(nil)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if _, of := pages.Handler(r); of != "" && of != "GET /favicon.ico" {
			pages.ServeHTTP(rw, r)
			return
		}
		program.ServeHTTP(rw, r)
	})
}

// otherName reports whether the user opened another name of this machine. Cookies would
// differ there.
func (w *world) otherName(r *http.Request) bool {
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	return get && w.ownName(r.Host) && strings.HasPrefix(r.URL.Path, "/") && !strings.HasPrefix(r.URL.Path, "//")
}

// ownName reports whether a host is a name of this machine with the port of dev.
func (w *world) ownName(host string) bool {
	u := url.URL{Host: host}
	return weburl.Loopback(u.Hostname()) && u.Port() == strconv.Itoa(w.Port)
}

// site renders the pages of dev.
type site struct {
	*world
	*devsite.Site
}

// frame holds the data that the home page needs.
type frame struct {
	devsite.Frame
	Origin string // of the application
	Local  string // of these pages
	Flags  string // that the command needs to start at the same place
}

func (p *site) frame(title string) frame {
	return frame{Frame: p.Frame(title), Origin: p.origin, Local: p.local, Flags: p.flags()}
}

// flags returns the flags for the address and the folder, unless they are the defaults.
func (p *site) flags() (text string) {
	if at := net.JoinHostPort(p.Host, strconv.Itoa(p.Port)); at != "localhost:3000" && !p.Shared {
		text += " --listen " + at
	}
	if p.Dir != ".authsvc" {
		text += " --dir " + p.Dir
	}
	return text
}

// maxShownPath limits the path on the page of missing, in bytes.
const maxShownPath = 200

// missing answers a path that dev does not have. It says where to sign in.
func (p *site) missing(rw http.ResponseWriter, r *http.Request) {
	view := struct {
		frame
		Path string
	}{p.frame("Not found"), strings.ToValidUTF8(r.URL.Path[:min(len(r.URL.Path), maxShownPath)], "")}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(rw, "authsvc dev has nothing at this path; sign in at "+view.SignIn, http.StatusNotFound)
		return
	}
	p.Show(rw, http.StatusNotFound, "missing.html", view)
}

// home shows the session, the ways to sign in and out, and how to use the session in
// code.
func (p *site) home(rw http.ResponseWriter, r *http.Request) {
	view := struct {
		frame
		Session *authsvc.Session
		JSON    string
		Signed  string // time of the sign-in
		With    string // provider of the sign-in
		Mails   int
		Program string // origin of the Go program
		Example string // example secret for the program
		Client  idp.Client
	}{frame: p.frame("authsvc dev"), JSON: "{}", Mails: len(p.mailbox.Messages()), Program: programOrigin, Example: seal.Token(), Client: p.client}
	s, err := p.service.Session(r)
	if err != nil {
		p.Log.Error("cannot read the session", "err", err)
		http.Error(rw, "cannot read the session, see the log", http.StatusServiceUnavailable)
		return
	}
	if s != nil {
		raw, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			p.Log.Error("cannot show the session", "err", err)
		}
		view.Session, view.JSON, view.Signed = s, string(raw), s.Began.Local().Format("15:04:05")
		if s.Provider != "" {
			view.With = p.wayIn(s.Provider)
		}
	}
	p.Show(rw, http.StatusOK, "home.html", view)
}
