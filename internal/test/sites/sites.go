// Package sites provides a small internet for browsers in tests: https and http sites
// by name, on the usual ports, behind a proxy that knows no other sites.
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

// Sites holds the hosts of one test.
type Sites struct {
	proxy, secure *httptest.Server

	mu    sync.Mutex
	hosts map[string]http.Handler // by origin
	asked []string                // unknown origins
}

// Start starts the proxy, without any site yet, until t ends.
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

// Serve answers for an origin, such as "https://app.test". A new handler replaces an
// earlier one.
func (s *Sites) Serve(origin string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[origin] = h
}

// Proxy returns the address of the proxy, "host:port".
func (s *Sites) Proxy() string { return s.proxy.Listener.Addr().String() }

// Asked returns the unknown origins requested so far.
func (s *Sites) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// Key returns the base64 SHA-256 digest of the public key of every certificate here.
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

// forward is the proxy. It passes requests for loopback addresses on unchanged.
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
		// A request to a proxy has an address; a request to a site has a path.
		r.URL.Scheme, r.URL.Host = "", ""
		r.RequestURI = r.URL.RequestURI()
		s.serve("http://", w, r)
	}
}

// tunnel connects the client with the only TLS server, which chooses the site by the
// requested name.
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
