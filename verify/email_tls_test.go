package verify

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/mail"
)

const emailSMTPPassword = "smtp-password-7d1k"

// emailCertificate returns a self-signed certificate for a name, and a pool that
// trusts it.
func emailCertificate(t testing.TB, name string, end time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: end,
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// email18 has an attacker between the service and the mail server.
func email18(t *T) {
	good, goodPool := emailCertificate(t, "mail.app.test", time.Now().Add(time.Hour))
	wrong, wrongPool := emailCertificate(t, "evil.test", time.Now().Add(time.Hour))
	old, oldPool := emailCertificate(t, "mail.app.test", time.Now().Add(-time.Hour))
	for name, c := range map[string]struct {
		certificate *tls.Certificate
		pool        *x509.CertPool
		reply       func(n int, verb string) string
		tls11       bool
		good        bool
	}{
		"nobody":                   {&good, goodPool, nil, false, true},
		"STARTTLS is not offered":  {nil, goodPool, nil, false, false},
		"EHLO is not known":        {&good, goodPool, emailSay("EHLO", "502 what"), false, false},
		"STARTTLS is refused":      {&good, goodPool, emailSay("STARTTLS", "454 not now"), false, false},
		"STARTTLS is not followed": {&good, goodPool, emailSay("STARTTLS", "250 ok"), false, false},
		"self-signed":              {&good, wrongPool, nil, false, false},
		"wrong name":               {&wrong, wrongPool, nil, false, false},
		"expired":                  {&old, oldPool, nil, false, false},
		"TLS 1.1":                  {&good, goodPool, nil, true, false},
	} {
		t.Run(name, func(t *T) {
			s := smtpfaultNew()
			if c.reply != nil {
				s.reply = c.reply
			}
			if c.certificate != nil {
				s.tls = &tls.Config{Certificates: []tls.Certificate{*c.certificate}, MinVersion: tls.VersionTLS10}
			}
			if c.tls11 {
				s.tls.MaxVersion = tls.VersionTLS11
			}
			address := s.listen(t, "")
			dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			send := s.sender(t, "smtp://user:"+emailSMTPPassword+"@mail.app.test", mail.Options{RootCAs: c.pool, DialContext: dial})
			done := make(chan error, 10)
			w := t.EnterOffline(func(config *authsvc.Config) {
				config.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: func(ctx context.Context, m authsvc.Message) error {
					err := send(ctx, m)
					done <- err
					return err
				}}
			})
			b := w.Browser()
			if a := b.Post("/api/auth/signin/email", "email", "ada@app.test"); !strings.Contains(a.Location(), "/verify-request") {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
			err := <-done
			if _, mails := s.attempts(); (err == nil) != c.good || (len(mails) == 1) != c.good {
				t.Errorf("sent %v, %d mails", err, len(mails))
			}
			s.mu.Lock()
			clear, received := s.inClear.String(), s.received.String()
			s.mu.Unlock()
			for _, word := range []string{"AUTH", "MAIL", "RCPT", "DATA", emailSMTPPassword, "token=", "ada@app.test"} {
				if strings.Contains(clear, word) {
					t.Errorf("%s went out in clear: %q", word, clear)
				}
				if c.good && word != emailSMTPPassword && !strings.Contains(strings.ReplaceAll(received, "=\r\n", ""), word) && word != "token=" {
					t.Errorf("twin: %s did not go out", word)
				}
			}
			if strings.Contains(w.Logs.String(), emailSMTPPassword) {
				t.Error("the password is in the log")
			}
		})
	}
}

func emailSay(at, reply string) func(int, string) string {
	return func(_ int, verb string) string {
		if verb == at {
			return reply
		}
		return ""
	}
}

func email19(t *T) {
	t.Run("injection", email19Injection)
	for name, text := range map[string]string{
		"lone dots":         ".\n..\n.dot\nend.\n.\n",
		"CR LF dot":         "a\r\n.\r\nMAIL FROM:<v@y.test>\r\nRCPT TO:<v@y.test>\r\nDATA\r\nx\r\n.\r\n",
		"LF dot LF":         "a\n.\nMAIL FROM:<v@y.test>\n",
		"LF dot CR LF":      "a\n.\r\nMAIL FROM:<v@y.test>\r\n",
		"CR LF dot LF":      "a\r\n.\nMAIL FROM:<v@y.test>\r\n",
		"CR dot CR":         "a\r.\rMAIL FROM:<v@y.test>\r",
		"CR LF dot CR":      "a\r\n.\rMAIL FROM:<v@y.test>\r\n",
		"CR LF NUL dot":     "a\r\n\x00.\r\nMAIL FROM:<v@y.test>\r\n",
		"a dot at the end":  "a\n.",
		"nothing but a dot": ".",
	} {
		t.Run(name, func(t *T) {
			s := smtpfaultNew()
			send := s.sender(t, "smtp://localhost", mail.Options{})
			// The text resembles the result of an operator's template with hostile
			// input.
			err := send(t.Context(), authsvc.Message{From: "no-reply@app.test", To: "ada@app.test", Subject: "Sign in", Text: text, HTML: "<p>" + text + "</p>"})
			if err != nil {
				t.Logf("not sent: %v", err)
			}
			s.mu.Lock()
			all := s.received.String()
			s.mu.Unlock()
			if len(s.mails) > 1 || len(s.mails) == 1 && len(s.mails[0].to) != 1 {
				t.Errorf("%d mails, %q", len(s.mails), s.mails)
			}
			if rest := strings.ReplaceAll(all, "\r\n", ""); strings.ContainsAny(rest, "\r\n") {
				t.Errorf("a bare CR or LF in %q", all)
			}
			if err == nil && (len(s.mails) != 1 || strings.Contains("\r\n"+s.mails[0].raw, "\r\n.\r\n")) {
				t.Errorf("a dot is not stuffed: %q", s.mails)
			}
		})
	}
	s := smtpfaultNew()
	w := smtpfaultWorld(t, s, nil)
	b := w.Browser()
	b.Post("/api/auth/signin/email", "email", "ada@app.test", "callbackUrl", "/a\r\n.\r\nMAIL FROM:<v@y.test>\r\n")
	if m := s.next(t); len(m.to) != 1 || strings.Contains(m.raw, "MAIL FROM") {
		t.Errorf("twin: %q %q", m.to, m.raw)
	}
}

// email19Injection sends a plaintext reply directly after the reply to STARTTLS (RFC
// 3207 §6). It must not count as a reply over TLS.
func email19Injection(t *T) {
	certificate, pool := emailCertificate(t, "mail.app.test", time.Now().Add(time.Hour))
	s := smtpfaultNew()
	s.tls = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.reply = emailSay("STARTTLS", "220 go\r\n250-mail.test\r\n250 AUTH PLAIN\r\n250 ok\r\n250 ok\r\n354 go\r\n250 taken")
	address := s.listen(t, "")
	options := mail.Options{RootCAs: pool, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	message := authsvc.Message{From: "no-reply@app.test", To: "ada@app.test", Subject: "Sign in", Text: "x"}
	if err := s.sender(t, "smtp://mail.app.test", options)(t.Context(), message); err == nil && len(s.mails) != 1 {
		t.Error("replies in clear counted as those of the encrypted side")
	}
	s.mu.Lock()
	if strings.Contains(s.inClear.String(), "MAIL") {
		t.Errorf("in clear: %q", s.inClear.String())
	}
	s.mu.Unlock()
	s.says(nil)
	if err := s.sender(t, "smtp://mail.app.test", options)(t.Context(), message); err != nil {
		t.Errorf("twin: %v", err)
	}
}
