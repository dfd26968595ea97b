package mail

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/textproto"
	"strings"
	"testing"
	"time"
	"unicode"

	"authsvc"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/quiet"
)

// TestReplies checks that a 5xx reply about the message is final, and that any other is
// worth another try.
func TestReplies(t *testing.T) {
	t.Parallel()
	for _, phase := range []mailbox.Phase{mailbox.Mail, mailbox.Rcpt, mailbox.Data} {
		for code, final := range map[int]bool{421: false, 450: false, 452: false, 499: false, 550: true, 552: true, 554: true} {
			t.Run(fmt.Sprintf("phase %d, %d", phase, code), func(t *testing.T) {
				t.Parallel()
				box := listen(t, mailbox.Options{})
				send := sender(t, "smtp://"+box.Addr(), Options{})
				box.Fail(phase, code, 1)
				err := send(t.Context(), testMessage())
				if err == nil || errors.Is(err, authsvc.ErrMailRefused) != final {
					t.Errorf("got %v, want final %v", err, final)
				}
				var reply *textproto.Error
				if !errors.As(err, &reply) || reply.Code != code {
					t.Errorf("%v does not carry the code", err)
				}
				if err := send(t.Context(), testMessage()); err != nil || len(box.Messages()) != 1 {
					t.Errorf("after the fault: %v", err)
				}
			})
		}
	}
}

// TestRepliesElsewhere checks that a refusal that is not about the message is worth
// another try, since an operator can fix its cause while the message waits.
func TestRepliesElsewhere(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string][]string{
		"greeting": {"554 go away"},
		"EHLO":     {"220 hi", "554 go away", "554 HELO neither", "221 bye"},
	} {
		addr, _ := scripted(t, replies)
		err := sender(t, "smtp://"+addr, Options{})(t.Context(), testMessage())
		if err == nil || errors.Is(err, authsvc.ErrMailRefused) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	addr, _ := scripted(t, replacing(4, "554 not now")) // reply to the DATA command itself
	if err := sender(t, "smtp://"+addr, Options{})(t.Context(), testMessage()); !errors.Is(err, authsvc.ErrMailRefused) {
		t.Errorf("DATA command: %v", err)
	}
}

// TestLostAnswer: the server has accepted the mail, but its answer is lost (RFC 1047).
// The retry must have the same Message-ID.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	box := listen(t, mailbox.Options{})
	send := sender(t, "smtp://"+box.Addr(), Options{})
	box.DropAfterData(1)
	if err := send(t.Context(), testMessage()); err == nil || errors.Is(err, authsvc.ErrMailRefused) {
		t.Fatalf("got %v, want a passing failure", err)
	}
	if err := send(t.Context(), testMessage()); err != nil {
		t.Fatal(err)
	}
	id := func(m mailbox.Message) string {
		_, rest, _ := strings.Cut(m.Raw, "Message-ID: ")
		id, _, _ := strings.Cut(rest, "\r\n")
		return id
	}
	if all := box.Messages(); len(all) != 2 || id(all[0]) == "" || id(all[0]) != id(all[1]) {
		t.Errorf("%d mails, ids %q %q", len(all), id(all[0]), id(all[1]))
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "mail.example.com")
	for _, mech := range []string{"PLAIN", "LOGIN"} {
		o := login(cert)
		o.AuthMechanisms = []string{mech}
		box := listen(t, o)
		w := &wire{addr: box.Addr()}
		opts := Options{RootCAs: pool, DialContext: w.dial}
		if err := sender(t, secretURL, opts)(t.Context(), testMessage()); err != nil {
			t.Errorf("%s: %v", mech, err)
		}
		err := sender(t, "smtp://user:wrong@mail.example.com", opts)(t.Context(), testMessage())
		if err == nil || errors.Is(err, authsvc.ErrMailRefused) || !strings.Contains(err.Error(), "AUTH") {
			t.Errorf("%s with a wrong password: %v", mech, err)
		}
		if n := len(box.Messages()); n != 1 {
			t.Errorf("%s: %d mails", mech, n)
		}
	}
}

func TestCRAMMD5(t *testing.T) {
	t.Parallel()
	// The exchange of RFC 2195 section 2.
	addr, heard := scripted(t, []string{
		"220 hi", "250-hello\n250 AUTH CRAM-MD5",
		"334 PDE4OTYuNjk3MTcwOTUyQHBvc3RvZmZpY2UucmVzdG9uLm1jaS5uZXQ+", "235 in",
		"250 ok", "250 ok", "354 go", "250 taken", "221 bye",
	})
	send := sender(t, "smtp://tim:tanstaaftanstaaf@"+addr, Options{})
	if err := send(t.Context(), testMessage()); err != nil {
		t.Fatal(err)
	}
	if got, want := heard()[2], "dGltIGI5MTNhNjAyYzdlZGE3YTQ5NWI0ZTZlNzMzNGQzODkw"; got != want {
		t.Errorf("response %q, want %q", got, want)
	}
}

func TestSMTPUTF8(t *testing.T) {
	t.Parallel()
	m := testMessage()
	m.To = "jörg@bücher.example"
	addr, heard := scripted(t, []string{"220 hi", "250 hello", "221 bye"})
	err := sender(t, "smtp://"+addr, Options{})(t.Context(), m)
	if !errors.Is(err, authsvc.ErrMailRefused) || !errors.Is(err, errNoUTF8) {
		t.Errorf("without SMTPUTF8: %v", err)
	}
	if !strings.Contains(err.Error(), "only addresses of ASCII characters before the @") {
		t.Error(err)
	}
	if got := strings.Join(heard(), "|"); got != "EHLO acme.example|QUIT" {
		t.Errorf("said %s", got)
	}

	script := replacing(1, "250-hello\n250 SMTPUTF8")
	for to, want := range map[string]string{
		m.To:              "MAIL FROM:<no-reply@acme.example> SMTPUTF8|RCPT TO:<jörg@xn--bcher-kva.example>",
		"ann@example.com": "MAIL FROM:<no-reply@acme.example>|RCPT TO:<ann@example.com>",
	} {
		m.To = to
		addr, heard := scripted(t, script)
		if err := sender(t, "smtp://"+addr, Options{})(t.Context(), m); err != nil {
			t.Error(err)
		}
		if got := strings.Join(heard()[1:3], "|"); got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	}
}

// TestDomainInASCII checks that domains travel as A-labels, so that a mail to such a
// domain needs no SMTPUTF8, in the envelope and in the header. A server without the
// extension gets such a mail as any other.
func TestDomainInASCII(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, to, wantFrom, wantTo string }{
		"recipient":       {"no-reply@acme.example", "info@bücher.example", "no-reply@acme.example", "info@xn--bcher-kva.example"},
		"sender":          {"Bücher <no-reply@bücher.example>", "ann@example.com", "no-reply@xn--bcher-kva.example", "ann@example.com"},
		"capital letters": {"no-reply@BÜCHER.example", "ann@example.com", "no-reply@xn--bcher-kva.example", "ann@example.com"},
		"subdomain":       {"no-reply@acme.example", "info@mail.例え.jp", "no-reply@acme.example", "info@mail.xn--r8jz45g.jp"},
		"sharp s":         {"no-reply@acme.example", "info@straße.example", "no-reply@acme.example", "info@xn--strae-oqa.example"},
		"A-labels":        {"no-reply@acme.example", "info@xn--bcher-kva.example", "no-reply@acme.example", "info@xn--bcher-kva.example"},
		"ASCII":           {"no-reply@acme.example", "info@a--b.example", "no-reply@acme.example", "info@a--b.example"},
	} {
		for _, hello := range []string{"250 hello", "250-hello\n250 SMTPUTF8"} {
			addr, heard := scripted(t, replacing(1, hello))
			m := testMessage()
			m.From, m.To = tt.from, tt.to
			if err := sender(t, "smtp://"+addr, Options{})(t.Context(), m); err != nil {
				t.Errorf("%s, %q: %v", name, hello, err)
				continue
			}
			if got, want := strings.Join(heard()[1:3], "|"), "MAIL FROM:<"+tt.wantFrom+">|RCPT TO:<"+tt.wantTo+">"; got != want {
				t.Errorf("%s, %q: said %s, want %s", name, hello, got, want)
			}
			e, err := compose(m)
			if err != nil {
				t.Fatal(err)
			}
			mail, err := netmail.ReadMessage(bytes.NewReader(e.data))
			if err != nil {
				t.Fatal(err)
			}
			from, _ := mail.Header.AddressList("From")
			to, _ := mail.Header.AddressList("To")
			if len(from) != 1 || from[0].Address != tt.wantFrom || len(to) != 1 || to[0].Address != tt.wantTo || !strings.HasSuffix(mail.Header.Get("Message-Id"), tt.wantFrom[strings.Index(tt.wantFrom, "@"):]+">") {
				t.Errorf("%s: header %v", name, mail.Header)
			}
		}
	}
}

// TestDomainWithoutASCII checks that a domain without such a form is refused for good,
// before a connection.
func TestDomainWithoutASCII(t *testing.T) {
	t.Parallel()
	addr, heard := scripted(t, replacing(1, "250-hello\n250 SMTPUTF8"))
	send := sender(t, "smtp://"+addr, Options{})
	for field, set := range map[string]func(*authsvc.Message, string){
		"to":   func(m *authsvc.Message, s string) { m.To = s },
		"from": func(m *authsvc.Message, s string) { m.From = s },
	} {
		for domain, want := range map[string]string{
			"ab--ü.example": "the domain has no form in ASCII (IDNA)",
			"אa.example":    "the domain has no form in ASCII (IDNA)", // in both directions
			strings.Repeat("ü.", 60) + "example.com": "address is too long",
			strings.Repeat("ü.", 24) + "example.com": "",
		} {
			m := testMessage()
			set(&m, "info@"+domain)
			_, err := compose(m)
			if want == "" {
				if err != nil {
					t.Errorf("%s %s: %v", field, domain, err)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), field+": "+want) {
				t.Errorf("%s %s: %v", field, domain, err)
			}
			if err := send(t.Context(), m); !errors.Is(err, authsvc.ErrMailRefused) {
				t.Errorf("%s %s: %v", field, domain, err)
			}
		}
	}
	m := testMessage()
	if err := send(t.Context(), m); err != nil || len(heard()) == 0 {
		t.Errorf("the plain message: %v", err)
	}
}

func TestIntroduction(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ helo, from, want string }{
		{"", "no-reply@acme.example", "EHLO acme.example"},
		{"", "no-reply@bücher.example", "EHLO xn--bcher-kva.example"},
		{"", "jörg@bücher.example", "EHLO xn--bcher-kva.example"},
		{"app.example.com", "no-reply@acme.example", "EHLO app.example.com"},
	} {
		addr, heard := scripted(t, replacing(1, "250-hello\n250 SMTPUTF8"))
		m := testMessage()
		m.From = tt.from
		if err := sender(t, "smtp://"+addr, Options{HELO: tt.helo})(t.Context(), m); err != nil {
			t.Error(err)
		}
		if got := heard()[0]; got != tt.want {
			t.Errorf("said %q, want %q", got, tt.want)
		}
	}
}

// TestHostileServer checks that, whatever the server sends, the error comes soon, is
// short and is safe for a log.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	echo := base64.StdEncoding.EncodeToString([]byte("\x00user\x00hunter2"))
	for name, replies := range map[string][]string{
		"huge banner":       {"220 " + strings.Repeat("x", 10<<20)},
		"endless multiline": {strings.Repeat("220-more\n", 1<<20) + "220 end"},
		"huge EHLO":         replacing(1, strings.Repeat("250-X\n", 1<<20)+"250 end"),
		"controls":          replacing(3, "550 \x1b[2Jgone\x00\x07\u202e\u2028 \xff"),
		"long refusal":      replacing(3, strings.Repeat("550-"+strings.Repeat("no ", 300)+"\n", 20)+"550 no"),
		"CR in a reply":     replacing(3, "550 no\rlevel=info msg=forged"),
		"not SMTP":          {"HTTP/1.1 400 Bad Request"},
		"empty lines":       {"\n\n\n"},
		"code too large":    replacing(3, "999 what"),
		"password echoed":   {"220 hi", "250-hello\n250 AUTH PLAIN", "535 no hunter2 " + echo, "500 ?", "221 bye"},
		"auth never ends":   append([]string{"220 hi", "250-hello\n250 AUTH LOGIN"}, strings.Split(strings.Repeat("334 aHVudGVyMg==|", 50), "|")...),
		"auth not base64":   {"220 hi", "250-hello\n250 AUTH LOGIN", "334 %%hunter2", "501 ok", "221 bye"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, _ := scripted(t, replies)
			url := "smtp://" + addr
			if strings.Contains(name, "auth") || strings.Contains(name, "password") {
				url = "smtp://user:hunter2@" + addr
			}
			start := time.Now()
			err := sender(t, url, Options{})(t.Context(), testMessage())
			if err == nil {
				t.Fatal("delivered")
			}
			if d := time.Since(start); d > quiet.Limit(5*time.Second) {
				t.Errorf("took %v", d)
			}
			text := fmt.Sprintf("%v|%+v|%#v|%v", err, err, err, unwrapAll(err))
			if strings.Contains(text, "hunter2") || strings.Contains(text, echo) {
				t.Errorf("the password is in %q", text)
			}
			if msg := err.Error(); len(msg) > maxReply+100 || strings.ContainsFunc(msg, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%d bytes: %q", len(msg), msg)
			}
		})
	}
}

// unwrapAll returns every error in the tree.
func unwrapAll(err error) []error {
	all := []error{err}
	switch u := err.(type) {
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			all = append(all, unwrapAll(e)...)
		}
	case interface{ Unwrap() error }:
		if e := u.Unwrap(); e != nil {
			all = append(all, unwrapAll(e)...)
		}
	}
	return all
}
