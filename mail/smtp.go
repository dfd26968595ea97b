// Package mail delivers the messages of authsvc by SMTP. The functions that
// SMTP returns have the type of authsvc.Email.Send; each call sends one message to one
// recipient. If an error wraps authsvc.ErrMailRefused, another try is useless.
package mail

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"authsvc"
)

// Options configure SMTP and Check. The zero value is safe.
type Options struct {
	// HELO is the name for EHLO: a host name, or an address literal such as [192.0.2.1]
	// (RFC 5321 section 4.1.4). Default: the domain of the sender, so that the name of
	// the machine is not revealed.
	HELO string
	// RootCAs certify the server. Default: the system's.
	RootCAs *x509.CertPool
	// DialContext opens the TCP connection, for example through a proxy. It must return
	// within 10 seconds. Default: a net.Dialer.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// DangerousNoTLS allows URLs with ?starttls=off. Anyone on the network path can
	// then read and use the password and every sign-in link. In the configuration file:
	// insecure_no_tls.
	DangerousNoTLS bool
}

// SMTP returns a function that sends through the server that a URL names:
//
//	smtp://user:pass@host:587    STARTTLS (RFC 3207), the default port is 587
//	smtps://user:pass@host:465   TLS from the start (RFC 8314), default port 465
//
// The user is optional. Characters such as / ? # @ in a password must be
// percent-encoded. With smtp://, a server that does not offer STARTTLS gets neither the
// password nor the mail. The exception is loopback (localhost, 127.0.0.0/8, ::1), where
// STARTTLS is used only if it is offered. ?starttls=off turns STARTTLS off; it is
// accepted for a loopback server, and for others only with Options.DangerousNoTLS. TLS
// must be at least version 1.2, and the certificate must be valid for the host.
//
// SMTP reports all mistakes in the URL and the options together. No error, of SMTP or
// of the function, contains the password.
//
// Domains of addresses travel as A-labels (RFC 5890), in the envelope and in the header,
// so a mail to info@bücher.example needs no SMTPUTF8. If the part before the @ is not
// ASCII, the server must offer SMTPUTF8; otherwise the error is final.
//
// The function ends after 60 seconds or when its context ends. After a message it keeps
// the connection for 10 seconds in case another one follows: at most 4 connections, and
// 100 messages over one of them. It is safe for concurrent use. It returns nil once the
// server has accepted the message. An error that Is authsvc.ErrMailRefused is final: the server
// answered MAIL, RCPT or DATA with 5xx, or the message cannot be sent safely (see
// authsvc.Message), for example because a field has a misplaced line break or an
// address could be read as another or as several. An error that Is
// authsvc.ErrMailUnconfirmed means that the answer to the whole message was lost, so
// the caller should try one more time at most. After any other error the caller should
// keep trying. A message that is sent again keeps its Message-ID, in case the
// server accepted it and the answer was lost (RFC 1047). Errors quote the server,
// shortened and without control characters; they are for the log, not for the browser.
func SMTP(rawURL string, o Options) (func(ctx context.Context, m authsvc.Message) error, error) {
	s, err := newServer(rawURL, o)
	if err != nil {
		return nil, err
	}
	return s.send, nil
}

// Check tests that the server can be used, without sending a mail. It connects,
// encrypts and logs in as SMTP would. It then gives the address in from (RFC 5322)
// as the sender of a mail, and cancels that mail (MAIL, RSET, QUIT). If from is empty, it does not
// check the sender. The error says what is wrong and how to fix it.
func Check(ctx context.Context, rawURL, from string, o Options) error {
	s, err := newServer(rawURL, o)
	if err != nil {
		return err
	}
	var sender string
	if from != "" {
		addr, err := parseSender(from)
		if err != nil {
			return fmt.Errorf("mail: from: %w", err)
		}
		sender = addr.Address
	}
	err = s.converse(ctx, sender, func(c *session) error { return s.probe(c, sender) })
	var f *failure
	if errors.As(err, &f) {
		return f.withFix(s)
	}
	return err
}

// send delivers one message.
func (s *server) send(ctx context.Context, m authsvc.Message) error {
	e, err := compose(m)
	if err != nil {
		return &failure{step: "message", cause: err, final: true}
	}
	ctx, cancel := context.WithTimeout(ctx, conversationTimeout)
	defer cancel()
	deliver := func(c *session) error { return s.deliver(c, e) }
	if c := s.waiting.take(s.helo(e.from)); c != nil {
		// Whatever precedes the text may fail because of the session: it has ended, its
		// login is no longer valid, or it has had enough mails. Only the answers in a new
		// session count.
		if err := s.use(ctx, c, true, deliver); ctx.Err() != nil || !early(err) {
			return err
		}
	}
	c, err := s.open(ctx, e.from)
	if err != nil {
		return err
	}
	return s.use(ctx, c, true, deliver)
}
