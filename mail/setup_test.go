package mail

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"
)

func listen(t *testing.T, o mailbox.Options) *mailbox.Server {
	t.Helper()
	s, err := mailbox.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func sender(t *testing.T, url string, o Options) func(context.Context, authsvc.Message) error {
	t.Helper()
	send, err := SMTP(url, o)
	if err != nil {
		t.Fatal(err)
	}
	return send
}

func testMessage() authsvc.Message {
	return authsvc.Message{
		From:    "Acme <no-reply@acme.example>",
		To:      "ann@example.com",
		Subject: "Sign in to acme.example",
		Text:    "Open https://acme.example/callback/email?token=abc\n",
		HTML:    `<a href="https://acme.example/callback/email?token=abc">Sign in</a>`,
	}
}

// certificate returns a self-signed certificate for names, and the pool that trusts it.
func certificate(t *testing.T, names ...string) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	return certificateUntil(t, time.Now().Add(time.Hour), names...)
}

func certificateUntil(t *testing.T, end time.Time, names ...string) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    end.Add(-24 * time.Hour),
		NotAfter:     end,
		DNSNames:     names,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// A wire sends every connection to one address, whatever host the URL names, and
// records the bytes that the client writes below TLS.
type wire struct {
	addr string
	mu   sync.Mutex
	sent strings.Builder
}

func (w *wire) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, w.addr)
	if err != nil {
		return nil, err
	}
	return &tappedConn{Conn: c, wire: w}, nil
}

func (w *wire) written() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent.String()
}

type tappedConn struct {
	net.Conn
	wire *wire
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.wire.mu.Lock()
	c.wire.sent.Write(p)
	c.wire.mu.Unlock()
	return c.Conn.Write(p)
}

// acceptAll is the script of a server that accepts a mail.
var acceptAll = []string{"220 hi", "250 hello", "250 ok", "250 ok", "354 go", "250 taken", "221 bye"}

// replacing returns acceptAll with another reply at one place.
func replacing(i int, reply string) []string {
	s := append([]string(nil), acceptAll...)
	s[i] = reply
	return s
}

// play sends the client the greeting, then one reply for each of its lines; the body of
// a mail counts as one. It returns the client's lines.
func play(c net.Conn, replies []string) (heard []string) {
	defer c.Close()
	r := bufio.NewReader(c)
	for i, reply := range replies {
		if i > 0 {
			inData := strings.HasPrefix(replies[i-1], "354")
			line, err := r.ReadString('\n')
			for err == nil && inData && line != ".\r\n" {
				line, err = r.ReadString('\n')
			}
			if err != nil {
				return heard
			}
			heard = append(heard, strings.TrimRight(line, "\r\n"))
		}
		if _, err := c.Write([]byte(strings.ReplaceAll(reply, "\n", "\r\n") + "\r\n")); err != nil {
			return heard
		}
	}
	return heard
}

// scripted serves one connection with play. It returns its address, and a function that
// waits for the end and returns the client's lines.
func scripted(t *testing.T, replies []string) (addr string, heard func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if last := len(replies) - 1; last > 0 && replies[last-1] == acceptAll[5] {
		replies = replies[:last] // after an accepted mail, QUIT would be long in coming
	}
	result := make(chan []string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			result <- nil
			return
		}
		result <- play(c, replies)
	}()
	return l.Addr().String(), sync.OnceValue(func() []string { return <-result })
}
