package dev

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
)

// setSharedAddresses puts all pages at the one origin that the browser sees. The origin
// is localhost unless URL is set, because something on the way forwards a port.
func (w *world) setSharedAddresses() error {
	if _, err := netip.ParseAddr(w.Host); err != nil {
		return fmt.Errorf("--host %q is not an address to listen on, such as 0.0.0.0", w.Host)
	}
	w.origin = strings.TrimSuffix(cmp.Or(w.URL, "http://"+net.JoinHostPort("localhost", strconv.Itoa(w.Port))), "/")
	u, err := url.Parse(w.origin)
	if err != nil || weburl.Origin(u) != w.origin || u.Scheme != "https" && !loopbackOrigin(w.origin) {
		return fmt.Errorf("%q is not an origin for dev: use https, such as https://name-3000.app.github.dev, or http on this machine, such as http://localhost:3000", w.URL)
	}
	w.local, w.issuer = w.origin, w.origin+idpPath
	w.gate = newGate(strings.HasPrefix(w.origin, "https://"))
	return nil
}

// idpPath is the path of the identity provider when it has no port of its own.
const idpPath = "/dev-id"

func (w *world) welcomeShared() {
	fmt.Fprintf(w.Out, `authsvc dev — for development; other machines can connect

  Open            %s
                  (works once, for one browser)
  Kept in         %s
%s
Press Ctrl-C to stop.
`, w.invitation(), w.Dir, w.unread())
}

// invitation returns an address that lets one browser in.
func (w *world) invitation() string { return w.origin + "/?" + tokenParam + "=" + w.gate.token() }

// Names of the token in the address, and of the cookie that replaces it.
const (
	tokenParam = "token"
	gateCookie = "authsvc-dev-gate"
)

// A gate lets in browsers that presented a token, which is valid once. It keeps only
// hashes of tokens.
type gate struct {
	secure bool // the cookie is for https only
	cookie string

	mu     sync.Mutex
	unused *[sha256.Size]byte // hash of the unused token
}

func newGate(secure bool) *gate { return &gate{secure: secure, cookie: seal.Token()} }

// token returns a new token. The previous one becomes invalid.
func (g *gate) token() string {
	token := seal.Token()
	sum := sha256.Sum256([]byte(token))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unused = &sum
	return token
}

// redeem reports whether a token is valid, and invalidates it.
func (g *gate) redeem(token string) bool {
	sum := sha256.Sum256([]byte(token))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unused == nil || subtle.ConstantTimeCompare(sum[:], g.unused[:]) != 1 {
		return false
	}
	g.unused = nil
	return true
}

// knows reports whether a request comes from a browser that was let in.
func (g *gate) knows(r *http.Request) bool {
	want := sha256.Sum256([]byte(g.cookie))
	for _, c := range r.CookiesNamed(gateCookie) {
		if got := sha256.Sum256([]byte(c.Value)); subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			return true
		}
	}
	return false
}

// guardShared refuses all requests until the browser has presented the token.
func (w *world) guardShared(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		if query := r.URL.Query(); r.URL.Path == "/" && query.Has(tokenParam) {
			h.Set("Cache-Control", "no-store")
			h.Set("Referrer-Policy", "no-referrer")
			switch {
			case w.gate.knows(r): // the address was opened again
			case r.Method == http.MethodGet && w.gate.redeem(query.Get(tokenParam)):
				// #nosec G124 -- Secure depends on the address that the browser sees
				http.SetCookie(rw, &http.Cookie{Name: gateCookie, Value: w.gate.cookie, Path: "/", HttpOnly: true, Secure: w.gate.secure, SameSite: http.SameSiteLaxMode})
				fmt.Fprintf(w.Out, "\nA browser used the address. For another browser: %s\n\n", w.invitation())
			default:
				w.refuseVisitor(rw)
				return
			}
			http.Redirect(rw, r, "/", http.StatusSeeOther)
			return
		}
		if !w.gate.knows(r) {
			w.refuseVisitor(rw)
			return
		}
		r.Host = strings.TrimPrefix(strings.TrimPrefix(w.origin, "https://"), "http://") // a proxy may have changed it
		next.ServeHTTP(rw, r)
	})
}

func (w *world) refuseVisitor(rw http.ResponseWriter) {
	rw.Header().Set("Cache-Control", "no-store")
	http.Error(rw, "Open the address that authsvc dev printed: its token lets one browser in.", http.StatusForbidden)
}

// inProcess passes requests for the issuer to its handler directly, without the network:
// over the network, guardShared refuses clients that have not presented the token. Other
// requests use the default transport.
type inProcess struct {
	issuer string
	idp    http.Handler
}

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.String(), t.issuer+"/") {
		return http.DefaultTransport.RoundTrip(r)
	}
	in := r.Clone(context.WithoutCancel(r.Context()))
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	t.idp.ServeHTTP(a, in)
	return &http.Response{Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r}, nil
}

// An answer keeps a response in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
