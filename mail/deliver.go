package mail

import (
	"errors"
	"io"
	"net/textproto"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// deliver sends one mail to one recipient (RFC 5321 section 3.3).
func (s *server) deliver(over *session, e envelope) error {
	c := over.client
	if over.messages > 1 { // the connection may be dead
		_ = over.conn.SetDeadline(time.Now().Add(resumeTimeout))
	}
	w, err := s.announce(c, e)
	if err != nil {
		err.early = true
		return err
	}
	_ = over.conn.SetDeadline(time.Time{})
	if _, err := w.Write(e.data); err != nil {
		// QUIT, the next command, would end the data with its dot, and half a mail
		// would be delivered.
		_ = c.Close()
		return s.failure("DATA", err)
	}
	if err := w.Close(); err != nil {
		f := s.failure("DATA", err)
		var reply *textproto.Error
		f.unconfirmed = !errors.As(err, &reply) // the whole message was sent, but got no answer
		return f
	}
	return nil
}

// announce does everything that precedes the text of a mail.
func (s *server) announce(c *smtp.Client, e envelope) (io.WriteCloser, *failure) {
	if f := s.mailFrom(c, e.from, e.isASCII()); f != nil {
		return nil, f
	}
	if err := c.Rcpt("<" + e.to + ">"); err != nil {
		return nil, s.failure("RCPT", err)
	}
	w, err := c.Data()
	if err != nil {
		return nil, s.failure("DATA", err)
	}
	return w, nil
}

// mailFrom sends MAIL. It requests SMTPUTF8 only if the mail needs it, because a later
// server without it would return the mail.
func (s *server) mailFrom(c *smtp.Client, from string, ascii bool) *failure {
	if offered, _ := c.Extension("SMTPUTF8"); !offered && !ascii {
		return &failure{server: s.addr, step: "MAIL", cause: errNoUTF8, final: true}
	}
	c.SkipSMTPUTF8(ascii)
	if err := c.Mail("<" + from + ">"); err != nil {
		return s.failure("MAIL", err)
	}
	return nil
}

// probe does the part of Check that needs an open session; it sends no mail.
func (s *server) probe(over *session, sender string) error {
	c := over.client
	if sender == "" {
		if err := c.Noop(); err != nil {
			return s.failure("NOOP", err)
		}
		return nil
	}
	if f := s.mailFrom(c, sender, isASCII(sender)); f != nil {
		return f
	}
	if err := c.Reset(); err != nil {
		return s.failure("RSET", err)
	}
	return nil
}
