// Package sites is a small internet for browsers in tests: https and http
// sites by name, on the usual ports, behind a proxy that knows no others.
package sites

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Sites are the hosts of one test.
type Sites struct {
	proxy, secure *httptest.Server

	mu    sync.Mutex
	hosts map[string]http.Handler // by origin
	asked []string                // origins that are not there
}

// Start serves nothing yet, until t ends.
func Start(t testing.TB) *Sites {
	s := &Sites{hosts: map[string]http.Handler{}}
	s.secure = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve("https://", w, r) }))
	s.proxy = httptest.NewServer(http.HandlerFunc(s.forward))
	t.Cleanup(func() {
		s.secure.CloseClientConnections()
		s.proxy.CloseClientConnections()
		s.proxy.Close()
		s.secure.Close()
	})
	return s
}

// Serve answers for an origin, such as "https://app.test". A new handler takes
// the place of an earlier one.
func (s *Sites) Serve(origin string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[origin] = h
}

// Proxy is the address that leads there, "host:port".
func (s *Sites) Proxy() string { return s.proxy.Listener.Addr().String() }

// Asked are the origins, so far, that somebody wanted and that are not there.
func (s *Sites) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// Key is the base64 SHA-256 digest of the public key of every certificate
// here.
func Key() string {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	sum := sha256.Sum256(server.Certificate().RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s *Sites) serve(scheme string, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h, ok := s.hosts[scheme+r.Host]
	if !ok {
		s.asked = append(s.asked, scheme+r.Host)
	}
	s.mu.Unlock()
	if !ok {
		http.Error(w, "no such site", http.StatusBadGateway)
		return
	}
	h.ServeHTTP(w, r)
}

// forward is the proxy. What is on loopback it passes on as it is.
func (s *Sites) forward(w http.ResponseWriter, r *http.Request) {
	switch host := r.URL.Hostname(); {
	case r.Method == http.MethodConnect:
		s.tunnel(w, r)
	case host == "127.0.0.1" || host == "localhost":
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: r.URL.Host})
			p.Out.Host = r.Host
		}}).ServeHTTP(w, r)
	default:
		// A proxy is asked for an address; a site, for a path.
		r.URL.Scheme, r.URL.Host = "", ""
		r.RequestURI = r.URL.RequestURI()
		s.serve("http://", w, r)
	}
}

// tunnel joins the client with the one TLS server, which finds the site by the
// name that it is asked for.
func (s *Sites) tunnel(w http.ResponseWriter, r *http.Request) {
	host := strings.TrimSuffix(r.Host, ":443")
	s.mu.Lock()
	_, known := s.hosts["https://"+host]
	if !known {
		s.asked = append(s.asked, "https://"+host)
	}
	s.mu.Unlock()
	if !known {
		http.Error(w, "no such site", http.StatusBadGateway)
		return
	}
	there, err := net.Dial("tcp", s.secure.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		there.Close()
		return
	}
	io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { io.Copy(there, here); there.Close() }()
	io.Copy(here, there)
	here.Close()
}
