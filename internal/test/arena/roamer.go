package arena

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"authsvc/engine"
	"authsvc/internal/test/browser"
)

// A Roamer is a person with one browser who visits several hosts of the gate.
type Roamer struct {
	*World
	Trace   []string // of the last Walk
	program http.Handler
	front   http.Handler
	at      map[string]*Browser // by origin
}

// Roam returns a new roamer without cookies, in front of a program.
func (w *World) Roam(program http.Handler) *Roamer {
	p := &Roamer{World: w, program: program, at: map[string]*Browser{}}
	p.By(w.Service)
	return p
}

// By continues at another replica.
func (p *Roamer) By(s *engine.Service) {
	gate := s.Guard(p.program)
	p.front = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/auth/") {
			s.ServeHTTP(rw, r)
			return
		}
		gate.ServeHTTP(rw, r)
	})
}

// At returns the browser at an origin.
func (p *Roamer) At(origin string) *Browser {
	if p.at[origin] == nil {
		b := p.World.Browser()
		b.H = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { p.front.ServeHTTP(rw, r) })
		b.T, b.Origin = p.T, origin
		p.at[origin] = b
	}
	return p.at[origin]
}

// All returns the browser at every origin visited, by origin.
func (p *Roamer) All() map[string]*Browser { return p.at }

// Open visits an address as a person does, without following redirects.
func (p *Roamer) Open(address string, header ...string) *browser.Answer {
	p.T.Helper()
	p.Trace = append(p.Trace, address)
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	r.Header.Set("Accept", "text/html")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return p.At(OriginOf(p.T, address)).Do(r)
}

// Walk follows redirects, at most to the sign-in page.
func (p *Roamer) Walk(address string) *browser.Answer {
	p.T.Helper()
	p.Trace = nil
	for range 10 {
		a := p.Open(address)
		if a.StatusCode != http.StatusFound || strings.HasPrefix(a.Location(), Origin+"/api/auth/signin") {
			return a
		}
		address = a.Location()
	}
	p.T.Fatalf("it goes round in circles:\n%s", strings.Join(p.Trace, "\n"))
	return nil
}

// UpTo follows redirects until one leads to route, and returns that address.
func (p *Roamer) UpTo(route, address string) string {
	p.T.Helper()
	p.Trace = nil
	for range 6 {
		a := p.Open(address)
		if address = a.Location(); strings.Contains(address, "/api/auth/"+route+"?") {
			return address
		}
		if a.StatusCode != http.StatusFound {
			break
		}
	}
	p.T.Fatalf("no %s:\n%s", route, strings.Join(p.Trace, "\n"))
	return ""
}

// SignIn follows an address to the sign-in page, signs ada in and continues from
// there.
func (p *Roamer) SignIn(address string) *browser.Answer {
	p.T.Helper()
	to := MustURL(p.T, p.Walk(address).Location()).Query().Get("callbackUrl")
	b := p.At(Origin)
	if p.OP == nil {
		return p.Walk(b.Login("ada", "callbackUrl", to).Location())
	}
	return p.Walk(b.SignIn(p.OP, "ada", "callbackUrl", to).Location())
}
