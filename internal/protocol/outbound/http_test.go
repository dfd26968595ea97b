package outbound

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := map[addressClass][]string{
		publicAddress: {
			"8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "11.0.0.1", "169.253.255.255",
			"2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808",
		},
		internalAddress: {
			"127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
			"::1", "fd00::1", "fc00::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1",
			"64:ff9b::7f00:1", "64:ff9b:1::1", "198.18.0.1", "192.0.0.1", "fd00::1%eth0",
		},
		forbiddenAddress: {
			"169.254.169.254", "169.254.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1", "fe80::1%eth0",
			"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.0.0.0", "0.1.2.3",
			"::", "::ffff:0.0.0.0", "224.0.0.1", "239.1.1.1", "ff02::1", "255.255.255.255", "240.0.0.1",
			"2002:7f00:1::", "2001:0:1::", "::127.0.0.1", "::a9fe:a9fe",
			"::ffff:0:7f00:1", "::ffff:0:10.0.0.1", "::ffff:0:169.254.169.254", "::ffff:0:8.8.8.8",
		},
	}
	for want, addresses := range tests {
		for _, a := range addresses {
			if got := classify(netip.MustParseAddr(a)); got != want {
				t.Errorf("classify(%s) = %d, want %d", a, got, want)
			}
		}
	}
	if got := classify(netip.Addr{}); got != forbiddenAddress {
		t.Errorf("classify(zero) = %d", got)
	}
}

func TestDialRule(t *testing.T) {
	t.Parallel()
	lan := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("169.254.0.0/16")}
	tests := []struct {
		rule           dialRule
		host, resolved string
		ok             bool
	}{
		{dialRule{}, "idp.example", "8.8.8.8:443", true},
		{dialRule{}, "idp.example", "10.1.0.1:443", false},
		{dialRule{}, "idp.example", "[::ffff:127.0.0.1]:443", false},
		{dialRule{allow: lan}, "idp.example", "10.1.0.1:443", true},
		{dialRule{allow: lan}, "idp.example", "[::ffff:10.1.0.1]:443", true},
		{dialRule{allow: lan}, "idp.example", "10.2.0.1:443", false},
		{dialRule{allow: lan, internal: true}, "idp.example", "169.254.169.254:80", false},
		{dialRule{internal: true}, "idp.example", "10.2.0.1:443", true},
		{dialRule{internal: true}, "idp.example", "[fe80::1%eth0]:443", false},
		{dialRule{internal: true}, "localhost", "127.0.0.1:80", true},
		{dialRule{internal: true}, "localhost", "8.8.8.8:80", false},
		{dialRule{internal: true}, "idp.example", "not an address", false},
	}
	for _, tt := range tests {
		if err := tt.rule.check(tt.host, tt.resolved); (err == nil) != tt.ok {
			t.Errorf("%+v: %s at %s: %v", tt.rule, tt.host, tt.resolved, err)
		}
	}
}

// TestConfiguredHostOnly checks that only a configured host may be internal, even if a
// connection to the same host is already open.
func TestConfiguredHostOnly(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(reply(200, "text/plain", "hello"))
	t.Cleanup(srv.Close)
	base := NewHTTPClient(HTTPOptions{})
	t.Cleanup(base.CloseIdleConnections)
	trusting := configured(base, "", srv.URL)
	for range 2 {
		resp, err := trusting.Get(srv.URL)
		if err != nil {
			t.Fatalf("configured host: %v", err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close() // back into the pool
		if _, err := base.Get(srv.URL); !errors.Is(err, errAddress) {
			t.Fatalf("discovered host: %v", err)
		}
	}
	port := srv.URL[strings.LastIndex(srv.URL, ":"):]
	for _, discovered := range []string{
		"http://localhost" + port, "http://127.0.0.2" + port, "https://[::ffff:127.0.0.1]" + port, "https://169.254.169.254/",
		"https://[fd00:ec2::254]/", "https://0.0.0.0" + port, "https://10.255.255.1/",
	} {
		if _, err := trusting.Get(discovered); !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", discovered, err)
		}
	}
	allowing := NewHTTPClient(HTTPOptions{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(allowing.CloseIdleConnections)
	resp, err := allowing.Get(srv.URL)
	if err != nil {
		t.Fatalf("allowed network: %v", err)
	}
	resp.Body.Close()
}

func TestClientRefusesSchemes(t *testing.T) {
	t.Parallel()
	c := NewHTTPClient(HTTPOptions{})
	for _, raw := range []string{
		"http://idp.example/", "http://127.0.0.1.example/", "http://10.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://localhost/",
	} {
		req := &http.Request{Method: "POST", URL: mustURL(t, raw), Body: io.NopCloser(strings.NewReader("secret"))}
		if _, err := c.Do(req); !errors.Is(err, ErrScheme) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestClientBounds(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/exact", reply(200, "text/plain", strings.Repeat("x", 1000)))
	mux.HandleFunc("/over", reply(200, "text/plain", strings.Repeat("x", 1001)))
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/exact", http.StatusTemporaryRedirect)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	within := func(d time.Duration) *http.Client {
		c := configured(NewHTTPClient(HTTPOptions{MaxBody: 1000, Timeout: d}), "", srv.URL)
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	patient, hasty := within(time.Minute), within(300*time.Millisecond)
	for path, want := range map[string]error{"/exact": nil, "/over": errTooLarge, "/endless": errTooLarge, "/slow": ErrUnavailable, "/redirect": errRedirect} {
		c := patient
		if path == "/slow" {
			c = hasty
		}
		resp, err := c.Get(srv.URL + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err != nil {
			err = TransportError(err)
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

func TestClientTLS(t *testing.T) {
	t.Parallel()
	serve := func(maxVersion uint16) *httptest.Server {
		srv := httptest.NewUnstartedServer(reply(200, "text/plain", "hello"))
		srv.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: maxVersion}
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return srv
	}
	modern, old := serve(tls.VersionTLS13), serve(tls.VersionTLS11)
	roots := x509.NewCertPool()
	roots.AddCert(modern.Certificate())
	roots.AddCert(old.Certificate())
	otherName := strings.Replace(modern.URL, "127.0.0.1", "localhost", 1)
	tests := []struct {
		name, url string
		roots     *x509.CertPool
		ok        bool
	}{
		{"trusted", modern.URL, roots, true},
		{"untrusted", modern.URL, nil, false},
		{"other name", otherName, roots, false},
		{"TLS 1.1", old.URL, roots, false},
	}
	for _, tt := range tests {
		c := configured(NewHTTPClient(HTTPOptions{RootCAs: tt.roots}), "", modern.URL, old.URL, otherName)
		resp, err := c.Get(tt.url)
		if err == nil {
			resp.Body.Close()
		} else if !errors.Is(TransportError(err), ErrUnavailable) {
			t.Errorf("%s: %v", tt.name, TransportError(err))
		}
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		c.CloseIdleConnections()
	}
}

// TestTransportErrorsQuoteNothing checks that text from the other side never gets into
// an error, wherever it occurs.
func TestTransportErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	const leak = "s3cret-echo"
	for _, raw := range []string{leak + "\r\n\r\n", "HTTP/1.1 " + leak + "\r\n\r\n", "HTTP/1.1 200 OK\r\n" + leak + "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: " + leak + "\r\n\r\n", ""} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 4096))
				io.WriteString(conn, raw)
				conn.Close()
			}
		}()
		at := "http://" + l.Addr().String() + "/token?q=" + leak
		c, err := New(Config{URLs: map[string]string{"token url": at}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Fetch(t.Context(), Call{URL: at, Form: url.Values{"code": {"code"}}})
		wantError(t, err, "identity provider unavailable")
		if strings.Contains(err.Error(), leak) {
			t.Errorf("%q: error quotes it: %v", raw, err)
		}
		l.Close()
	}
}

// TestConnectionsStay checks that the connections of concurrent calls serve as many
// later ones.
func TestConnectionsStay(t *testing.T) {
	t.Parallel()
	const calls = 16
	var opened atomic.Int64
	arrived, answer := make(chan struct{}), make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answer
		_, _ = io.WriteString(w, "{}")
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	client, err := New(Config{URLs: map[string]string{"token url": srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var all sync.WaitGroup
		for range calls {
			all.Go(func() {
				if _, err := client.Call(t.Context(), Call{URL: srv.URL, Form: url.Values{}}); err != nil {
					t.Error(err)
				}
			})
		}
		for range calls {
			<-arrived
		}
		for range calls {
			answer <- struct{}{}
		}
		all.Wait()
	}
	if n := opened.Load(); n != calls {
		t.Errorf("%d connections for two times %d concurrent calls", n, calls)
	}
}

func mustURL(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestTLSStall checks a server that accepts the connection and sends nothing.
func TestTLSStall(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // with it, the backlog of connections
	at := "https://" + l.Addr().String()
	c, err := New(Config{URLs: map[string]string{"issuer": at}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Document(ctx, at+"/doc"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// TestNames checks a name that does not exist and a resolver that does not answer.
func TestNames(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, r *net.Resolver) error {
		c := NewHTTPClient(HTTPOptions{})
		c.Transport = &http.Transport{DialContext: dialRule{resolver: r}.dial}
		client, err := New(Config{HTTP: c})
		if err != nil {
			return err
		}
		_, err = client.Document(ctx, "https://idp.example/doc")
		return err
	}
	none := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}}
	wantError(t, call(t.Context(), none), "identity provider unavailable: name not resolved")
	silent := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wantError(t, call(ctx, silent), "identity provider unavailable: timed out")
}

// TestExpiredCertificate checks that the right name and a trusted issuer are not
// enough.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]time.Duration{"expired": -time.Hour, "good": time.Hour} {
		srv := httptest.NewUnstartedServer(reply(200, "text/plain", "hello"))
		cert := selfSigned(t, time.Now().Add(end))
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		roots := x509.NewCertPool()
		roots.AddCert(cert.Leaf)
		c := configured(NewHTTPClient(HTTPOptions{RootCAs: roots}), "", srv.URL)
		t.Cleanup(c.CloseIdleConnections)
		resp, err := c.Get(srv.URL)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != (name == "good") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(TransportError(err).Error(), "certificate is not trusted") {
			t.Errorf("%s: %v", name, TransportError(err))
		}
	}
}

func selfSigned(t *testing.T, end time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "idp"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public().(*ecdsa.PublicKey), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}
