package mailbox

import (
	"io"
	"net"
	"slices"
	"sync"

	"github.com/emersion/go-smtp"
)

// session is the conversation with one client.
type session struct {
	server *Server
	conn   net.Conn

	// BDAT delivers the body in another goroutine than RSET.
	mu            sync.Mutex
	from          string
	to            []string
	authenticated bool
}

func (s *Server) newSession(c *smtp.Conn) (smtp.Session, error) {
	s.pause()
	return &session{server: s, conn: c.Conn()}, nil
}

// Mail starts a transaction (RFC 5321 section 4.1.1.2).
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	c.server.pause()
	if err := c.server.faults.next(Mail); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.options.Username != "" && !c.authenticated {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "Authentication required"}
	}
	c.from, c.to = from, nil
	return nil
}

// Rcpt adds a recipient (RFC 5321 section 4.1.1.3).
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.server.pause()
	if err := c.server.faults.next(Rcpt); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = append(c.to, to)
	return nil
}

// Data receives the mail itself (RFC 5321 section 4.1.1.4).
func (c *session) Data(r io.Reader) error {
	max := c.server.options.MaxMessage
	raw, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return err
	}
	if int64(len(raw)) > max {
		return smtp.ErrDataTooLarge
	}
	c.server.pause()
	if err := c.server.faults.next(Data); err != nil {
		return err
	}
	c.mu.Lock()
	from, to := c.from, slices.Clone(c.to)
	c.mu.Unlock()
	if err := c.server.Add(from, to, string(raw)); err != nil {
		// The client keeps the mail and may try again.
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Cannot store the mail"}
	}
	if c.server.faults.dropNow() {
		_ = c.conn.Close()
	}
	return nil
}

// Reset discards the transaction.
func (c *session) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from, c.to = "", nil
}

// Logout ends the session. It has nothing to free.
func (c *session) Logout() error { return nil }
