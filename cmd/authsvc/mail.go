package main

import (
	"context"
	"net/url"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/mail"
)

// configureMail sets the Send function of every e-mail provider. It connects to no
// server.
func configureMail(s *config.Settings) error {
	var mistakes config.Mistakes
	for _, m := range s.Mail {
		if m.Server == "" { // the engine reports it
			continue
		}
		send, err := mail.SMTP(m.Server, mailOptions(m))
		if err != nil {
			mistakes = append(mistakes, s.Mistake(m.Key+".server", "cannot be used: "+oneLine(err), "write smtp://user:password@host:587, the password percent-encoded"))
			continue
		}
		m.Provider.Send = send
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// checkMail talks to the mail server without sending anything.
func checkMail(ctx context.Context, m config.Mail) error {
	return mail.Check(ctx, m.Server, m.Provider.From, mailOptions(m))
}

func mailOptions(m config.Mail) mail.Options {
	return mail.Options{HELO: m.HELO, DangerousNoTLS: m.InsecureNoTLS}
}

// mailHost returns the URL of the server without user and password.
func mailHost(m config.Mail) string {
	u, err := url.Parse(m.Server)
	if err != nil {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}
