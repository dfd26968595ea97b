package mail

import (
	"errors"
	"net/textproto"

	"github.com/wneessen/go-mail/smtp"
)

// deliver sends one mail to one recipient (RFC 5321 section 3.3).
func (s *server) deliver(c *smtp.Client, e envelope) error {
	if err := s.mailFrom(c, e.from, e.isASCII()); err != nil {
		return err
	}
	if err := c.Rcpt("<" + e.to + ">"); err != nil {
		return s.failure("RCPT", err)
	}
	w, err := c.Data()
	if err != nil {
		return s.failure("DATA", err)
	}
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

// mailFrom sends MAIL. It requests SMTPUTF8 only if the mail needs it, because a later
// server without it would return the mail.
func (s *server) mailFrom(c *smtp.Client, from string, ascii bool) error {
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
func (s *server) probe(c *smtp.Client, sender string) error {
	if sender == "" {
		if err := c.Noop(); err != nil {
			return s.failure("NOOP", err)
		}
		return nil
	}
	if err := s.mailFrom(c, sender, isASCII(sender)); err != nil {
		return err
	}
	if err := c.Reset(); err != nil {
		return s.failure("RSET", err)
	}
	return nil
}
