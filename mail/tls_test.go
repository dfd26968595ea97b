package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/dev/mailbox"
)

const secretURL = "smtp://user:hunter2@mail.example.com"

// login returns the options of a server that requires TLS and a login.
func login(cert *tls.Certificate) mailbox.Options {
	return mailbox.Options{Certificate: cert, Username: "user", Password: "hunter2"}
}

// assertNothingInClear fails if the wire carried a login or a mail in clear text.
func assertNothingInClear(t *testing.T, w *wire) {
	t.Helper()
	for _, word := range []string{"AUTH", "MAIL", "RCPT", "DATA", "hunter2", "token="} {
		if strings.Contains(w.written(), word) {
			t.Errorf("%s went out in clear: %q", word, w.written())
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "mail.example.com", "localhost")
	other, otherPool := certificate(t, "other.example.com")
	tests := []struct {
		name string
		url  string
		box  mailbox.Options
		pool *x509.CertPool
		want string // in the error; empty: delivered
	}{
		{"STARTTLS", secretURL, login(cert), pool, ""},
		{"implicit", "smtps://user:hunter2@mail.example.com", mailbox.Options{
			Certificate: cert, ImplicitTLS: true, Username: "user", Password: "hunter2"}, pool, ""},
		{"loopback with STARTTLS", "smtp://user:hunter2@localhost", login(cert), pool, ""},
		{"loopback by address", "smtp://user:hunter2@127.0.0.1", login(cert), pool, ""},

		{"STARTTLS stripped", secretURL, login(nil), pool, "does not offer STARTTLS"},
		{"STARTTLS stripped, no login", "smtp://mail.example.com", mailbox.Options{}, pool, "does not offer STARTTLS"},
		{"unknown authority", secretURL, login(cert), otherPool, "unknown authority"},
		{"system roots", secretURL, login(cert), nil, "certificate"},
		{"wrong name", secretURL, login(other), otherPool, "not mail.example.com"},
		{"wrong name, implicit", "smtps://user:hunter2@mail.example.com", mailbox.Options{
			Certificate: other, ImplicitTLS: true, Username: "user", Password: "hunter2"}, otherPool, "not mail.example.com"},
		{"loopback, unknown authority", "smtp://user:hunter2@localhost", login(cert), otherPool, "unknown authority"},
		{"implicit at a STARTTLS port", "smtps://user:hunter2@mail.example.com", login(cert), pool, "TLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			box := listen(t, tt.box)
			w := &wire{addr: box.Addr()}
			err := sender(t, tt.url, Options{RootCAs: tt.pool, DialContext: w.dial})(t.Context(), testMessage())
			assertNothingInClear(t, w)
			if tt.want == "" {
				if err != nil || len(box.Messages()) != 1 {
					t.Errorf("%v, %d mails", err, len(box.Messages()))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, authsvc.ErrMailRefused) {
				t.Errorf("got %v, want a passing failure with %q", err, tt.want)
			}
			if len(box.Messages()) != 0 {
				t.Error("a mail was delivered")
			}
		})
	}
}

// TestInClear checks the opposite: clear text is used only where the operator permits
// it, or on the machine itself.
func TestInClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url       string
		dangerous bool
		ok        bool
	}{
		{"smtp://user:hunter2@localhost", false, true},
		{"smtp://user:hunter2@localhost?starttls=off", false, true},
		{"smtp://user:hunter2@mail.example.com?starttls=off", true, true},
		{"smtp://user:hunter2@mail.example.com", true, false},
	} {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			box := listen(t, login(nil))
			w := &wire{addr: box.Addr()}
			err := sender(t, tt.url, Options{DangerousNoTLS: tt.dangerous, DialContext: w.dial})(t.Context(), testMessage())
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
			if !tt.ok {
				assertNothingInClear(t, w)
			}
		})
	}
}

// elsewhere is a connection whose address is not on this machine.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 25} }

func TestLoopbackNameThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	s, err := newServer("smtp://localhost", Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	heard := make(chan []string, 1)
	go func() { heard <- play(server, acceptAll) }()
	c, err := s.greet(t.Context(), elsewhere{client}, "a@x.example")
	if !errors.Is(err, errNoSTARTTLS) || c != nil {
		t.Errorf("got %v", err)
	}
	_ = client.Close()
	if got := strings.Join(<-heard, "|"); got != "EHLO x.example|QUIT" {
		t.Errorf("said %s", got)
	}
}

// TestSTARTTLSInjection sends a clear-text reply directly after the reply to STARTTLS
// (RFC 3207 section 6): it must not count as a reply from the encrypted connection.
func TestSTARTTLSInjection(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "mail.example.com")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	encrypted := make(chan []string, 1)
	go func() {
		server, err := l.Accept()
		if err != nil {
			encrypted <- nil
			return
		}
		defer server.Close()
		buf := make([]byte, 1000)
		for _, reply := range []string{
			"220 hi\r\n", "250-hello\r\n250 STARTTLS\r\n", "220 go\r\n250-hello\r\n250 AUTH PLAIN\r\n",
		} {
			_, _ = server.Write([]byte(reply))
			if !strings.HasPrefix(reply, "220 go") {
				_, _ = server.Read(buf)
			}
		}
		encrypted <- play(&afterFirst{Conn: tls.Server(server, &tls.Config{Certificates: []tls.Certificate{*cert}})},
			[]string{"", "250 no login here", "221 bye"})
	}()
	w := &wire{addr: l.Addr().String()}
	err = sender(t, secretURL, Options{RootCAs: pool, DialContext: w.dial})(t.Context(), testMessage())
	if !errors.Is(err, errNoAUTH) {
		t.Errorf("got %v, want what the encrypted side said", err)
	}
	for _, line := range <-encrypted {
		if strings.HasPrefix(line, "AUTH") {
			t.Error("logged in on the injected offer")
		}
	}
}

// afterFirst drops the greeting of play, which must not follow STARTTLS.
type afterFirst struct {
	net.Conn
	greeted bool
}

func (c *afterFirst) Write(p []byte) (int, error) {
	if !c.greeted {
		c.greeted = true
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func TestOldTLS(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "mail.example.com")
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true} {
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
			Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS10, MaxVersion: version,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				play(c, acceptAll)
			}
		}()
		w := &wire{addr: l.Addr().String()}
		err = sender(t, "smtps://mail.example.com", Options{RootCAs: pool, DialContext: w.dial})(t.Context(), testMessage())
		if (err == nil) != ok {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}
