package authtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"authsvc"
)

// transportTo returns a transport that connects to server for the host of base, and to
// the real address for all other hosts.
func transportTo(server *httptest.Server, base *url.URL) *http.Transport {
	addr := server.Listener.Addr().String()
	host := net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), map[string]string{"http": "80", "https": "443"}[base.Scheme]))
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == host {
			to = addr
		}
		return dialer.DialContext(ctx, network, to)
	}}
	if base.Scheme == "https" {
		trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		transport.DialTLSContext = func(ctx context.Context, network, to string) (net.Conn, error) {
			d := tls.Dialer{}
			if to == host { // the certificate of httptest is for this name
				to, d.Config = addr, &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: tls.VersionTLS12}
			}
			return d.DialContext(ctx, network, to)
		}
	}
	return transport
}

// newClient returns a client of the server with the cookies of jar.
func (s *Service) newClient(jar http.CookieJar) *http.Client {
	return &http.Client{Transport: s.transport, Jar: jar, Timeout: 30 * time.Second}
}

// Client returns a client that is signed in as the user; see [SignedIn]. It keeps
// cookies and follows redirects, as a browser does: set CheckRedirect to see the
// redirects. Each call returns a separate browser with a new session.
func (s *Service) Client(t testing.TB, user authsvc.User) *http.Client {
	t.Helper()
	v := s.signIn(t, s.Service, user)
	v.mustBeIn(t)
	return s.newClient(v.jar)
}

// Guest returns a client that is not signed in.
func (s *Service) Guest(t testing.TB) *http.Client {
	t.Helper()
	return s.newClient(newJar(t))
}

func newJar(t testing.TB) http.CookieJar {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatalf("authtest: %v", err)
	}
	return jar
}
