// Package mailbox is an SMTP server inside the process. It listens only on loopback,
// accepts every mail and keeps the newest ones. It serves as the inbox of "authsvc dev"
// and for tests, for which it can also misbehave on request.
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

// Options configures Listen. The zero value is suitable for tests.
type Options struct {
	// Addr is the IP address and port to listen on. It must be loopback. Default
	// 127.0.0.1:0, where the system chooses the port.
	Addr string
	// Dir keeps each mail as a .eml file with mode 0600, so that mails survive a
	// restart. It is created if it is missing. Default: memory only.
	Dir string
	// MaxMessage is the maximum size of a mail in bytes. Larger mails are refused with
	// 552. Default 1 MiB.
	MaxMessage int64

	// Certificate lets clients use STARTTLS. Without it, STARTTLS is not advertised, as
	// if an attacker on the path had stripped it.
	Certificate *tls.Certificate
	// ImplicitTLS uses TLS from the first byte (RFC 8314 section 3.3). It requires a
	// Certificate.
	ImplicitTLS bool

	// Username and Password, if set, must be presented before a mail. With a
	// Certificate, AUTH is offered only on encrypted connections.
	Username, Password string
	// AuthMechanisms are the mechanisms to offer: PLAIN and LOGIN. Default PLAIN.
	AuthMechanisms []string
}

// A Message is a received mail; see [inbox.Message].
type Message = inbox.Message

// ErrClosed is the error of Wait after the server is closed.
var ErrClosed = inbox.ErrClosed

// A Server is a listening mailbox. Its methods may be called concurrently.
type Server struct {
	options  Options
	smtp     *smtp.Server
	listener *listener
	faults   faults
	*inbox.Box

	done    chan struct{} // closed by Close
	served  chan struct{} // closed when no more connections are accepted
	closing sync.Once
}

// Listen starts a mailbox. Close stops it. Listen reports all mistakes in o together.
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

// complete sets the defaults and checks the options.
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
		errs = append(errs, errors.New("mailbox: MaxMessage must not be negative"))
	}
	if o.ImplicitTLS && o.Certificate == nil {
		errs = append(errs, errors.New("mailbox: ImplicitTLS requires a Certificate"))
	}
	if (o.Username == "") != (o.Password == "") {
		errs = append(errs, errors.New("mailbox: Username and Password must be set together"))
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
	// The default logger writes the clients' input to standard error.
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

// Addr returns the listening address, such as 127.0.0.1:40123.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Conversations returns how many connections clients have made so far.
func (s *Server) Conversations() int { return s.listener.accepted() }

// Close stops the server and its connections, and waits for them. It keeps the files in
// Options.Dir. Calls after the first do nothing.
func (s *Server) Close() error {
	s.closing.Do(func() {
		close(s.done)
		_ = s.listener.shut()
		<-s.served
		// All connections are closed. This only waits for the goroutines that served
		// them.
		_ = s.smtp.Shutdown(context.Background())
		s.Box.Close()
	})
	return nil
}
