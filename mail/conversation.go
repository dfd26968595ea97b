package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

const (
	dialTimeout         = 10 * time.Second
	conversationTimeout = 60 * time.Second
	quitTimeout         = 5 * time.Second
)

// Features that the server does not offer.
var (
	errNoSTARTTLS = errors.New("the server does not offer STARTTLS")
	errNoAUTH     = errors.New("the server does not offer to log in with PLAIN, LOGIN or CRAM-MD5")
	errNoUTF8     = errors.New("the server takes only addresses of ASCII characters before the @ (it lacks SMTPUTF8)")
)

// converse opens an SMTP session, calls do and closes the session. sender is an address
// or empty. converse does not use go-mail's own Client, because that checks the context
// only while dialing, leaves connections open when TLS or AUTH fails, and reports an
// error for a mail that was delivered before QUIT failed.
func (s *server) converse(ctx context.Context, sender string, do func(*session) error) error {
	ctx, cancel := context.WithTimeout(ctx, conversationTimeout)
	defer cancel()
	c, err := s.open(ctx, sender)
	if err != nil {
		return err
	}
	return s.use(ctx, c, false, do)
}

// connect opens the TCP connection.
func (s *server) connect(ctx context.Context) (*boundedConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dial := s.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", s.addr)
	if err != nil {
		return nil, err
	}
	return &boundedConn{Conn: conn, left: maxFromServer}, nil
}

// greet does everything that precedes a mail: greeting, EHLO, STARTTLS and AUTH.
func (s *server) greet(ctx context.Context, conn net.Conn, sender string) (*smtp.Client, error) {
	if s.policy == implicitTLS {
		tlsConn := tls.Client(conn, s.tlsConfig())
		if err := tlsConn.HandshakeContext(ctx); err != nil {
			return nil, s.failed(ctx, "TLS", err)
		}
		conn = tlsConn
	}
	c, err := smtp.NewClient(conn, s.host)
	if err != nil {
		return nil, s.failed(ctx, "greeting", err)
	}
	if err := c.Hello(s.helo(sender)); err != nil {
		return nil, s.failed(ctx, "EHLO", err)
	}
	if err := s.encrypt(c, conn); err != nil {
		return nil, s.failed(ctx, "STARTTLS", err)
	}
	if err := s.logIn(c); err != nil {
		s.quit(conn, c)
		return nil, s.failed(ctx, "AUTH", err)
	}
	return c, nil
}

// helo returns the name for EHLO.
func (s *server) helo(sender string) string {
	if s.HELO != "" {
		return s.HELO
	}
	return asciiDomain(sender)
}

// encrypt returns nil only if the connection may now carry secrets. StartTLS discards
// anything the server sent in clear text (RFC 3207 section 4.2).
func (s *server) encrypt(c *smtp.Client, conn net.Conn) error {
	policy := s.policy
	if policy == opportunistic && !isLoopbackAddr(conn.RemoteAddr()) {
		policy = startTLS // the name is a loopback name, but the address is not
	}
	if policy == implicitTLS || policy == noTLS {
		return nil
	}
	if offered, _ := c.Extension("STARTTLS"); !offered {
		if policy == opportunistic {
			return nil
		}
		s.quit(conn, c)
		return errNoSTARTTLS
	}
	return c.StartTLS(s.tlsConfig())
}

func (s *server) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.host, RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12}
}

func isLoopbackAddr(a net.Addr) bool {
	ap, err := netip.ParseAddrPort(a.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// quit sends QUIT. The outcome is already known, so the answer does not matter.
func (s *server) quit(conn net.Conn, c *smtp.Client) {
	_ = conn.SetDeadline(time.Now().Add(quitTimeout))
	_ = c.Quit()
}
