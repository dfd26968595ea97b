package outbound

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A tunnels is a proxy that connects every host to one address, and records who asked
// for what.
type tunnels struct {
	to     string
	mu     sync.Mutex
	asked  []string // host:port
	logins []string
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked, p.logins = append(p.asked, r.Method+" "+r.Host), append(p.logins, r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		there.Close()
		return
	}
	io.WriteString(here, "HTTP/1.1 200 OK\r\nVia: 1.1 proxy\r\n\r\n")
	go func() {
		io.Copy(there, buffered)
		there.Close()
	}()
	io.Copy(here, there)
	here.Close()
}

func (p *tunnels) all() (asked, logins []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked), slices.Clone(p.logins)
}

// newTunnels starts such a proxy in front of a provider with TLS, whose certificate is
// for example.com. It returns the proxy's server, still to be started.
func newTunnels(t *testing.T) (*tunnels, *httptest.Server, *x509.CertPool) {
	t.Helper()
	provider := httptest.NewTLSServer(reply(200, "application/json", `{"a":1}`))
	t.Cleanup(provider.Close)
	p := &tunnels{to: provider.Listener.Addr().String()}
	server := httptest.NewUnstartedServer(p)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(provider.Certificate())
	return p, server, roots
}

func mustProxy(t *testing.T, raw string, direct ...string) *Proxy {
	t.Helper()
	p, err := ParseProxy(raw, direct)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProxy checks that documents, tokens and profiles come through the proxy, with and
// without TLS up to it, and that it gets its password and no request.
func TestProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tls         bool
		user, login string
	}{
		"plain":             {false, "", ""},
		"password":          {false, "ann:p%40ss%3Aword@", "Basic YW5uOnBAc3M6d29yZA=="},
		"TLS and user only": {true, "ann@", "Basic YW5uOg=="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, server, roots := newTunnels(t)
			if server.Start(); c.tls {
				server.Close()
				server = httptest.NewUnstartedServer(p)
				server.StartTLS()
				t.Cleanup(server.Close)
				roots.AddCert(server.Certificate())
			}
			scheme, address, _ := strings.Cut(server.URL, "://")
			client, err := New(Config{URLs: map[string]string{"issuer": "https://example.com"},
				HTTP: NewHTTPClient(HTTPOptions{RootCAs: roots, Proxy: mustProxy(t, scheme+"://"+c.user+address)})})
			wantError(t, err, "")
			t.Cleanup(client.CloseIdleConnections)
			_, err = client.Document(t.Context(), "https://example.com/.well-known/openid-configuration")
			wantError(t, err, "")
			wantError(t, profile(t, client, "https://example.com/me"), "")
			client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com:8443/token", strings.NewReader("code=x"))
			wantError(t, err, "")
			_, err = client.Do(req)
			wantError(t, err, "")
			asked, logins := p.all()
			if want := []string{"CONNECT example.com:443", "CONNECT example.com:8443"}; !slices.Equal(asked, want) {
				t.Errorf("%q, want %q", asked, want)
			}
			if slices.ContainsFunc(logins, func(l string) bool { return l != c.login }) {
				t.Errorf("logins %q, want %q", logins, c.login)
			}
		})
	}
}

func profile(t *testing.T, c *Client, at string) error {
	t.Helper()
	_, err := c.Call(t.Context(), Call{URL: at, Token: "at"})
	return err
}

// TestProxyRefused checks which hosts the proxy is never asked for, and beside them some
// for which it is.
func TestProxyRefused(t *testing.T) {
	t.Parallel()
	p, server, roots := newTunnels(t)
	server.Start()
	base := NewHTTPClient(HTTPOptions{RootCAs: roots, Proxy: mustProxy(t, server.URL), AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	trusting := configured(base, "", "https://10.2.0.1", "https://keycloak", "https://id.internal", "https://127.1", "https://169.254.169.254")
	t.Cleanup(base.CloseIdleConnections)
	tests := []struct {
		client *http.Client
		host   string
		asks   bool
	}{
		{base, "example.com", true}, {base, "8.8.8.8", true}, {base, "10.1.0.1", true}, {base, "0x7f.example", true}, {base, "localhost.example", true},
		{base, "10.2.0.1", false}, {trusting, "10.2.0.1", true}, {base, "[fd00::1]", false}, {base, "[::ffff:10.2.0.1]", false}, {base, "[fe80::1%25eth0]", false},
		{base, "169.254.169.254", false}, {trusting, "169.254.169.254", false}, {base, "[fd00:ec2::254]", false}, {base, "0.0.0.0", false},
		{base, "2130706433", false}, {base, "0x7f000001", false}, {base, "127.1", false}, {trusting, "127.1", false}, {base, "10.0x2.1", false}, {base, "0X7F.1", false}, {base, "127.1.", false}, {base, "a.0x7f", false},
		{base, "keycloak", false}, {trusting, "keycloak", true}, {base, "id.internal", false}, {base, "ID.Internal.", false}, {trusting, "id.internal", true},
		{base, "printer.local", false}, {base, "nas.home.arpa", false}, {base, "internal.example", true},
		{base, "[2606:4700::1111]", true}, {base, "[2606:4700::1111%25x%20y]", false}, {trusting, "[2606:4700::1111%25x%20y]", false}, {base, "a.example\"<>", false}, {base, "b\u00fc_cher.example", false}, {base, "b\u00fccher.example", true}, {base, "a_b.example.", true},
		{base, "localhost", false}, {base, "127.0.0.1", false}, {base, "a.localhost.", false},
	}
	for _, tt := range tests {
		before, _ := p.all()
		_, err := tt.client.Get("https://" + tt.host + "/")
		after, _ := p.all()
		if asks := len(after) > len(before); asks != tt.asks {
			t.Errorf("%s: asks the proxy: %v, want %v (%v)", tt.host, asks, tt.asks, err)
		}
		if !tt.asks && !errors.Is(err, errAddress) && !strings.Contains(tt.host, "localhost") {
			t.Errorf("%s: %v", tt.host, err)
		}
	}
}

// TestProxyAnswers checks what errors say about a proxy, that they quote nothing of it,
// and which of them may be temporary.
func TestProxyAnswers(t *testing.T) {
	t.Parallel()
	const leak = "s3cret-echo"
	for name, c := range map[string]struct {
		answer, want string
		later        bool
	}{
		"password":    {"HTTP/1.1 407 " + leak + "\r\nProxy-Authenticate: Basic\r\n\r\n", "the proxy refuses the user and password, or their absence (status 407)", false},
		"forbidden":   {"HTTP/1.1 403 " + leak + "\r\n\r\n" + leak, "the proxy does not connect to this host (status 403)", false},
		"no host":     {"HTTP/1.1 502 " + leak + "\r\n\r\n", "the proxy does not connect to this host (status 502)", true},
		"redirect":    {"HTTP/1.1 302 Found\r\nLocation: https://" + leak + "\r\n\r\n", "status 302", false},
		"continue":    {"HTTP/1.1 100 Continue\r\n\r\n", "status 100", false},
		"more":        {"HTTP/1.1 200 OK\r\n\r\n" + leak, "the proxy sent more than its answer", false},
		"no HTTP":     {leak + "\r\n\r\n", "the proxy did not answer with HTTP", true},
		"hangs up":    {"", "the proxy did not answer with HTTP", true},
		"long header": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxProxyAnswer) + "\r\n\r\n", "the proxy did not answer with HTTP", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := through(t.Context(), t, "http://"+answering(t, c.answer))
			wantError(t, err, c.want)
			if strings.Contains(err.Error(), leak) || errors.Is(err, ErrUnavailable) != c.later {
				t.Errorf("later %v: %v", errors.Is(err, ErrUnavailable), err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wantError(t, through(ctx, t, "http://"+answering(t, "silent")), "identity provider unavailable: ")
	wantError(t, through(t.Context(), t, "https://"+answering(t, "no TLS")), "no TLS connection to the proxy")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	wantError(t, err, "")
	l.Close()
	wantError(t, through(t.Context(), t, "http://"+l.Addr().String()), "identity provider unavailable: no connection: no connection to the proxy")
	wantError(t, through(t.Context(), t, "http://169.254.1.1:3128"), "no connection to the proxy")
}

// TestProxyLate checks that a GET is not tried again after a proxy has used up the time,
// as after any other timeout, and that it is if the proxy cannot be reached.
func TestProxyLate(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	wantError(t, err, "")
	l.Close()
	for address, want := range map[string]struct {
		text  string
		again bool
	}{
		answering(t, "silent"): {"identity provider unavailable: the proxy did not answer in time", false},
		l.Addr().String():      {"no connection to the proxy", true},
	} {
		wait := time.Minute
		if !want.again {
			wait = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := mustProxy(t, "http://"+address).connect(ctx, "example.com:443", nil)
		cancel()
		err = TransportError(err)
		wantError(t, err, want.text)
		if _, again := retryDelay(nil, err, 1); again != want.again || !errors.Is(err, ErrUnavailable) {
			t.Errorf("again %v: %v", again, err)
		}
	}
}

// answering starts a proxy with one answer, and returns its address.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	wantError(t, err, "")
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Read(make([]byte, 4096))
				if answer == "silent" {
					<-t.Context().Done()
				}
				io.WriteString(conn, answer)
			}()
		}
	}()
	return l.Addr().String()
}

func through(ctx context.Context, t *testing.T, proxy string) error {
	t.Helper()
	client, err := New(Config{HTTP: NewHTTPClient(HTTPOptions{Proxy: mustProxy(t, proxy)})})
	wantError(t, err, "")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://example.com/token", nil)
	wantError(t, err, "")
	_, err = client.Do(req)
	return err
}

// TestProxyReaches checks which hosts are called without the proxy.
func TestProxyReaches(t *testing.T) {
	t.Parallel()
	p := mustProxy(t, "http://proxy:3128", "keycloak.internal", "app.example:8443", "*.Corp.example", "*.eu.example:8080", "10.0.0.7", "[FD00:0::7]", "dot.example.", "b\u00fccher.example")
	for address, want := range map[string]bool{
		"example.com:443": true, "localhost:8080": false, "127.0.0.2:80": false, "[::1]:80": false,
		"keycloak.internal:443": false, "Keycloak.Internal.:8080": false, "x.keycloak.internal:443": true,
		"app.example:8443": false, "app.example:443": true, "id.corp.example:443": false, "a.b.corp.example:1": false, "corp.example:443": true, "evilcorp.example:443": true,
		"x.eu.example:8080": false, "x.eu.example:443": true, "10.0.0.7:443": false, "10.0.0.70:443": true, "[fd00::7]:443": false, "[fd00::8]:443": true, "[::ffff:10.0.0.7]:443": false,
		"dot.example:443": false, "dot.example.:443": false, "x.dot.example:443": true, "xn--bcher-kva.example:443": false, "bucher.example:443": true,
	} {
		host, port, err := net.SplitHostPort(address)
		wantError(t, err, "")
		if got := p.reaches(host, port); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if (*Proxy)(nil).reaches("example.com", "443") {
		t.Error("no proxy")
	}
}

// TestParseProxy checks that mistakes are found and never quote the password.
func TestParseProxy(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://proxy:3128": "", "https://ann:s3cret@proxy.example:443/": "", "http://[fd00::1]:3128": "",
		"http://proxy": "port", "http://proxy:0": "port", "http://proxy:65536": "port", "http://:3128": "address", "proxy:3128": "address", "//proxy:3128": "address",
		"socks5://proxy:1080": "address", "http://ann:s3cret@proxy:x": "address", "http://ann:s3c ret@proxy:3128": "address", "http://proxy:3128/s3cret": "address",
		"http://proxy:3128?s3cret": "address", "http://proxy:3128#s3cret": "address",
	} {
		_, err := ParseProxy(raw, nil)
		wantError(t, err, want)
		if err != nil && strings.Contains(err.Error(), "s3c") {
			t.Errorf("%v", err)
		}
	}
	if p, err := ParseProxy("", []string{"a.example"}); p != nil || err != nil {
		t.Error(p, err)
	}
}

// TestPlain checks that http leads to one host and port, inside only, and never through
// the proxy.
func TestPlain(t *testing.T) {
	t.Parallel()
	var calls int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		reply(200, "application/json", `{"a":1}`)(w, r)
	}))
	t.Cleanup(srv.Close)
	p, server, _ := newTunnels(t)
	server.Start()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	issuer := "http://keycloak.test:" + port + "/realms/x"
	base := NewHTTPClient(HTTPOptions{Proxy: mustProxy(t, server.URL)})
	base.Transport.(*transport).inside = newPool(nil, dialRule{internal: true, inside: true, resolver: loopbackResolver()})
	client, err := New(Config{URLs: map[string]string{"issuer": issuer}, Plain: issuer, HTTP: base})
	wantError(t, err, "")
	t.Cleanup(client.CloseIdleConnections)
	_, err = client.Document(t.Context(), issuer+"/doc")
	wantError(t, err, "")
	wantError(t, profile(t, client, "http://KEYCLOAK.test:"+port+"/me"), "")
	if asked, _ := p.all(); calls != 2 || len(asked) > 0 {
		t.Errorf("%d calls, through the proxy: %q", calls, asked)
	}
	for _, other := range []string{"http://keycloak.test/", "http://keycloak.test:1/", "http://idp.test:" + port, "http://keycloak.test.example:" + port, "ftp://keycloak.test:" + port} {
		if err := client.CheckURL(other); !errors.Is(err, ErrScheme) {
			t.Errorf("%s: %v", other, err)
		}
		if _, err := client.http.Get(other); !errors.Is(err, ErrScheme) {
			t.Errorf("%s: %v", other, err)
		}
	}
	wantError(t, CheckURLWith(issuer, issuer), "")
	for _, plain := range []string{"", "https://keycloak.test:" + port, "http://", "x"} {
		if err := CheckURLWith(issuer, plain); !errors.Is(err, ErrScheme) {
			t.Errorf("%q: %v", plain, err)
		}
	}
	_, err = New(Config{URLs: map[string]string{"issuer": issuer}})
	wantError(t, err, "issuer: only https")
}

// loopbackResolver resolves every name to 127.0.0.1.
func loopbackResolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerNames(there)
		return here, nil
	}}
}

// answerNames answers questions for addresses (RFC 1035, over a stream).
func answerNames(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		q := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(conn, q); err != nil {
			return
		}
		end := 12
		for q[end] != 0 {
			end += int(q[end]) + 1
		}
		end += 5
		a := slices.Concat(q[:2], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end])
		if q[end-3] == 1 { // type A
			a[7] = 1
			a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
		}
		if _, err := conn.Write(slices.Concat([]byte{byte(len(a) >> 8), byte(len(a))}, a)); err != nil {
			return
		}
	}
}

// TestPlainInside checks that a name that is called by http must not lead outside.
func TestPlainInside(t *testing.T) {
	t.Parallel()
	lan := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("169.254.0.0/16")}
	for resolved, want := range map[string]bool{
		"10.0.0.1:80": true, "127.0.0.1:80": true, "[fd00::1]:80": true, "198.51.100.7:80": true,
		"8.8.8.8:80": false, "[2606:4700::1111]:80": false, "169.254.169.254:80": false, "[::ffff:8.8.8.8]:80": false,
	} {
		if err := (dialRule{allow: lan, internal: true, inside: true}).check("keycloak.test", resolved); (err == nil) != want {
			t.Errorf("%s: %v", resolved, err)
		}
	}
}
