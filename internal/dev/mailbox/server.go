// Package mailbox is an SMTP server inside the process. It listens on loopback
// only, accepts every mail and keeps the newest ones for reading, which serves
// two purposes: the inbox of "authsvc dev", and tests, for which it can also
// misbehave on request.
package mailbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"

	"authsvc/internal/dev/inbox"
)

const (
	defaultAddr       = "127.0.0.1:0"
	defaultMaxMessage = 1 << 20
	maxConnections    = 32
	maxRecipients     = 100
	ioTimeout         = 30 * time.Second
)

// Options of Listen; the zero value is good for tests.
type Options struct {
	// Addr to listen on, an IP address and port; it must be loopback.
	// Default 127.0.0.1:0, where the system chooses the port.
	Addr string
	// Dir keeps each mail as a .eml file with mode 0600, so that a restart
	// does not lose them. It is made when missing. Default: memory only.
	Dir string
	// MaxMessage is the size in bytes above which a mail is refused with 552.
	// Default 1 MiB.
	MaxMessage int64

	// Certificate lets clients use STARTTLS; without one it is not advertised,
	// just as if somebody on the path had stripped it.
	Certificate *tls.Certificate
	// ImplicitTLS speaks TLS from the first byte (RFC 8314 section 3.3). It
	// needs a Certificate.
	ImplicitTLS bool

	// Username and Password, when set, must be presented before a mail.
	// With a Certificate, AUTH is offered on encrypted connections only.
	Username, Password string
	// AuthMechanisms to offer: PLAIN and LOGIN are known. Default PLAIN.
	AuthMechanisms []string
}

// A Message is a received mail; see [inbox.Message].
type Message = inbox.Message

// ErrClosed is what Wait returns once the server is closed.
var ErrClosed = inbox.ErrClosed

// A Server is a listening mailbox. Its methods may be called concurrently.
type Server struct {
	options  Options
	smtp     *smtp.Server
	listener *listener
	faults   faults
	*inbox.Box

	done    chan struct{} // closed by Close
	served  chan struct{} // closed when no connection is accepted any more
	closing sync.Once
}

// Listen starts a mailbox; Close ends it. All mistakes in o are reported
// together.
func Listen(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	box, err := inbox.Open(o.Dir, o.MaxMessage)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		box.Close()
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	s := &Server{
		options:  o,
		listener: &listener{Listener: netutil.LimitListener(l, maxConnections), open: make(map[net.Conn]bool)},
		Box:      box,
		done:     make(chan struct{}),
		served:   make(chan struct{}),
	}
	s.smtp = s.newSMTP()
	go s.serve()
	return s, nil
}

// complete fills the defaults in and checks the rest.
func (o *Options) complete() error {
	if o.Addr == "" {
		o.Addr = defaultAddr
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if len(o.AuthMechanisms) == 0 {
		o.AuthMechanisms = []string{mechPlain}
	}
	var errs []error
	if addr, err := netip.ParseAddrPort(o.Addr); err != nil || !addr.Addr().IsLoopback() {
		errs = append(errs, fmt.Errorf("mailbox: address %q is not a loopback IP address and port", o.Addr))
	}
	if o.MaxMessage < 0 {
		errs = append(errs, errors.New("mailbox: MaxMessage is negative"))
	}
	if o.ImplicitTLS && o.Certificate == nil {
		errs = append(errs, errors.New("mailbox: ImplicitTLS needs a Certificate"))
	}
	if (o.Username == "") != (o.Password == "") {
		errs = append(errs, errors.New("mailbox: Username and Password belong together"))
	}
	for _, m := range o.AuthMechanisms {
		if !slices.Contains([]string{mechPlain, mechLogin}, m) {
			errs = append(errs, fmt.Errorf("mailbox: unknown AUTH mechanism %q", m))
		}
	}
	return errors.Join(errs...)
}

func (s *Server) newSMTP() *smtp.Server {
	srv := smtp.NewServer(smtp.BackendFunc(s.newSession))
	srv.Domain = "localhost"
	srv.MaxMessageBytes = s.options.MaxMessage
	srv.MaxRecipients = maxRecipients
	srv.ReadTimeout = ioTimeout
	srv.WriteTimeout = ioTimeout
	srv.EnableSMTPUTF8 = true
	// The default logger writes what clients send to the standard error.
	srv.ErrorLog = log.New(io.Discard, "", 0)
	if s.options.Certificate == nil {
		srv.AllowInsecureAuth = true
		return srv
	}
	srv.TLSConfig = &tls.Config{
		Certificates: []tls.Certificate{*s.options.Certificate},
		MinVersion:   tls.VersionTLS12,
	}
	return srv
}

func (s *Server) serve() {
	defer close(s.served)
	var l net.Listener = s.listener
	if s.options.ImplicitTLS {
		l = tls.NewListener(l, s.smtp.TLSConfig)
	}
	_ = s.smtp.Serve(l) // ends with the listener
}

// Addr is the listening address, such as 127.0.0.1:40123.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Conversations is the number of connections that clients have made so far.
func (s *Server) Conversations() int { return s.listener.accepted() }

// Close ends the server and its connections, and waits for them. Files in
// Options.Dir stay. Calls after the first do nothing.
func (s *Server) Close() error {
	s.closing.Do(func() {
		close(s.done)
		_ = s.listener.shut()
		<-s.served
		// No connection is left to shut down gently: this only waits for the
		// goroutines that served them.
		_ = s.smtp.Shutdown(context.Background())
		s.Box.Close()
	})
	return nil
}
