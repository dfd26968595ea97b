package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/text/mailtext"
	"authsvc/mail"
)

// configureMail sets the Send function and the templates of each email provider. It
// does not connect to a server.
func configureMail(s *config.Settings) error {
	templates, mistakes := mailTemplates(s)
	for _, m := range s.Mail {
		m.Provider.Templates = templates
		if m.Server == "" { // the engine reports the missing server
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

// mailTemplates reads the templates in the folder mail.templates.
func mailTemplates(s *config.Settings) (authsvc.MailTemplates, config.Mistakes) {
	if s.MailTemplates == "" {
		return authsvc.MailTemplates{}, nil
	}
	t, err := authsvc.ParseMailTemplates(os.DirFS(s.MailTemplates))
	if err == nil {
		return t, nil
	}
	var found mailtext.Mistakes
	if !errors.As(err, &found) {
		found = mailtext.Mistakes{{Problem: oneLine(err), Fix: "correct the templates"}}
	}
	var mistakes config.Mistakes
	for _, m := range found {
		if m.File == "" {
			mistakes = append(mistakes, s.Mistake("mail.templates", "cannot be used: "+s.MailTemplates+" "+m.Problem, m.Fix))
			continue
		}
		mistakes = append(mistakes, config.Mistake{Place: filepath.Join(s.MailTemplates, filepath.FromSlash(m.File)), Problem: m.Problem, Fix: m.Fix})
	}
	return authsvc.MailTemplates{}, mistakes
}

// checkMail talks to the mail server but sends no mail.
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
