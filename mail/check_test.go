package mail

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev/mailbox"
)

const from = "Acme <no-reply@acme.example>"

func TestCheck(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "mail.example.com", "localhost")
	old, oldPool := certificateUntil(t, time.Now().Add(-time.Hour), "mail.example.com")
	tests := []struct {
		name string
		url  string
		from string
		box  mailbox.Options
		pool *x509.CertPool
		mail int      // reply to MAIL, if not 250
		want []string // the problem and the fix; empty: no error
	}{
		{name: "STARTTLS and login", url: secretURL, from: from, box: login(cert), pool: pool},
		{name: "no sender given", url: secretURL, box: login(cert), pool: pool},
		{name: "loopback in clear", url: "smtp://localhost", from: from},
		{
			name: "sender is not an address", url: secretURL, from: "Acme", box: login(cert), pool: pool,
			want: []string{"from", "Acme <no-reply@example.com>"},
		},
		{name: "bad URL", url: "mail.example.com", want: []string{"not a URL"}},
		{
			name: "wrong password", url: "smtp://user:guess@mail.example.com", from: from, box: login(cert), pool: pool,
			want: []string{"AUTH at mail.example.com:587", "535", "app password"},
		},
		{
			name: "login missing", url: "smtp://mail.example.com", from: from, box: login(cert), pool: pool,
			want: []string{"530", "smtp://user:password@host"},
		},
		{
			name: "login not offered", url: secretURL, from: from, box: mailbox.Options{Certificate: cert}, pool: pool,
			want: []string{"does not offer to log in", "remove user and password"},
		},
		{
			name: "sender refused", url: "smtp://localhost", from: from, mail: 553,
			want: []string{"MAIL", "553", "have the mail provider verify"},
		},
		{name: "no STARTTLS", url: secretURL, from: from, box: login(nil), want: []string{"STARTTLS", "smtps://"}},
		{
			name: "TLS port without TLS", url: "smtps://mail.example.com", from: from, box: login(cert), pool: pool,
			want: []string{"TLS at mail.example.com:465", "write smtp://"},
		},
		{
			name: "wrong name", url: "smtp://mx.example.com", from: from, box: login(cert), pool: pool,
			want: []string{"not mx.example.com", "a host name that the certificate names"},
		},
		{
			name: "unknown CA", url: secretURL, from: from, box: login(cert),
			want: []string{"certificate", "issuing CA"},
		},
		{
			name: "unknown CA on loopback", url: "smtp://localhost", from: from, box: login(cert),
			want: []string{"certificate", "?starttls=off"},
		},
		{
			name: "expired", url: secretURL, from: from, box: login(old), pool: oldPool,
			want: []string{"expired", "new certificate"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			box := listen(t, tt.box)
			if tt.mail != 0 {
				box.Fail(mailbox.Mail, tt.mail, 1)
			}
			w := &wire{addr: box.Addr()}
			err := Check(t.Context(), tt.url, tt.from, Options{RootCAs: tt.pool, DialContext: w.dial})
			if len(tt.want) == 0 && err != nil || len(tt.want) > 0 && err == nil {
				t.Fatalf("got %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
			if len(box.Messages()) != 0 || strings.Contains(w.written(), "RCPT") {
				t.Error("a mail was sent")
			}
		})
	}
}

func TestCheckConversation(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"":               "EHLO localhost|NOOP|QUIT",
		"a@acme.example": "EHLO acme.example|MAIL FROM:<a@acme.example>|RSET|QUIT",
	} {
		addr, heard := scripted(t, []string{"220 hi", "250 hello", "250 ok", "250 ok", "221 bye"})
		if err := Check(t.Context(), "smtp://"+addr, from, Options{}); err != nil {
			t.Error(err)
		}
		if got := strings.Join(heard(), "|"); got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	}
}

func TestCheckUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	err = Check(t.Context(), "smtp://"+addr, from, Options{})
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "587 for smtp://") {
		t.Errorf("closed port: %v", err)
	}

	w := &wire{addr: silentTLS(t)}
	err = Check(t.Context(), "smtp://mail.example.com:465", from, Options{DialContext: w.dial})
	if err == nil || !strings.Contains(err.Error(), "write smtps://") {
		t.Errorf("smtp:// at port 465: %v", err)
	}

	addr, _ = scripted(t, []string{"554 not you"})
	err = Check(t.Context(), "smtp://"+addr, from, Options{})
	if err == nil || !strings.Contains(err.Error(), "refuses this machine") {
		t.Errorf("unwelcome: %v", err)
	}
}

// silentTLS returns a port that expects TLS, and gives up on a client that waits.
func silentTLS(t *testing.T) string {
	t.Helper()
	cert, _ := certificate(t, "mail.example.com")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*cert}}).Handshake()
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}
