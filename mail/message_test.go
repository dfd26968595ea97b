package mail

import (
	"errors"
	netmail "net/mail"
	"os"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"

	"github.com/google/go-cmp/cmp"
)

// TestDelivery sends messages to a real server and compares the received ones.
func TestDelivery(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*authsvc.Message){
		"plain":     func(*authsvc.Message) {},
		"text only": func(m *authsvc.Message) { m.HTML = "" },
		"HTML only": func(m *authsvc.Message) { m.Text, m.HTML = "", m.HTML+"\n" },
		"UTF-8": func(m *authsvc.Message) {
			m.Subject = "Grüße — ログイン 🔑"
			m.Text, m.HTML = "Grüße, 日本語 🔑\n", "<p>Grüße, 日本語 🔑</p>"
		},
		"long subject":       func(m *authsvc.Message) { m.Subject = strings.Repeat("words and ", 40) + "end" },
		"long UTF-8 subject": func(m *authsvc.Message) { m.Subject = strings.Repeat("größer ", 40) + "end" },
		"one long word":      func(m *authsvc.Message) { m.Subject = strings.Repeat("x", 500) },
		"dots":               func(m *authsvc.Message) { m.Text = ".\n..\n.dot\nend.\n.\n" },
		"smuggling":          func(m *authsvc.Message) { m.Text = "a\r\n.\r\nMAIL FROM:<v@y>\n.\n.\r.\n" },
		"long lines":         func(m *authsvc.Message) { m.Text = strings.Repeat("x", 5000) + "\n" + strings.Repeat("y ", 3000) },
		"spaces at the end":  func(m *authsvc.Message) { m.Text = "a \nb\t\n\n\n" },
		"boundaries":         func(m *authsvc.Message) { m.Text = "--boundary\n--boundary--\nContent-Type: x\n\n=3D=\n" },
		"name with comma":    func(m *authsvc.Message) { m.From = `"Acme, Inc." <no-reply@acme.example>` },
		"name in UTF-8":      func(m *authsvc.Message) { m.From = "Bücher <no-reply@acme.example>" },
		"encoded name":       func(m *authsvc.Message) { m.From = "=?utf-8?q?B=C3=BCcher?= <no-reply@acme.example>" },
		"no name":            func(m *authsvc.Message) { m.From = "no-reply@acme.example" },
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := listen(t, mailbox.Options{})
			m := testMessage()
			edit(&m)
			if err := sender(t, "smtp://"+box.Addr(), Options{})(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			all := box.Messages()
			if len(all) != 1 {
				t.Fatalf("%d mails arrived", len(all))
			}
			type content struct{ From, Subject, Text, HTML string }
			got := content{all[0].From, all[0].Subject, all[0].Text, all[0].HTML}
			want := content{"no-reply@acme.example", m.Subject, crlf(m.Text), crlf(m.HTML)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-sent +arrived):\n%s", diff)
			}
			checkHeader(t, m, all[0].Raw)
		})
	}
}

// crlf ends lines as SMTP does; a lone CR counts as the end of a line.
func crlf(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.ReplaceAll(s, "\n", "\r\n")
}

func checkHeader(t *testing.T, m authsvc.Message, raw string) {
	t.Helper()
	if n := strings.Count(raw, "\n") - strings.Count(raw, "\r\n"); n != 0 || strings.Count(raw, "\r") != strings.Count(raw, "\n") {
		t.Error("lines do not all end in CRLF")
	}
	for line := range strings.SplitSeq(raw, "\r\n") {
		if len(line) > 998 {
			t.Errorf("a line of %d bytes (RFC 5322 section 2.1.1)", len(line))
		}
	}
	parsed, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	fields := []string{"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}
	if m.Text == "" || m.HTML == "" {
		fields = append(fields, "Content-Transfer-Encoding")
	} else if ct := parsed.Header.Get("Content-Type"); !strings.HasPrefix(ct, "multipart/alternative;") {
		t.Errorf("content type %q", ct)
	}
	want := make(map[string]int)
	for _, f := range fields {
		want[f] = 1
	}
	got := make(map[string]int)
	for k, v := range parsed.Header {
		got[k] = len(v)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header fields (-want +got):\n%s", diff)
	}
	wantFrom, _ := netmail.ParseAddress(m.From)
	if from, err := parsed.Header.AddressList("From"); err != nil || len(from) != 1 || *from[0] != *wantFrom {
		t.Errorf("From: %v %v", from, err)
	}
	if to, err := parsed.Header.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != m.To {
		t.Errorf("To: %v %v", to, err)
	}
	if date, err := parsed.Header.Date(); err != nil || time.Since(date) > time.Minute || !strings.HasSuffix(parsed.Header.Get("Date"), " +0000") {
		t.Errorf("Date: %v %v", date, err)
	}
	if id := parsed.Header.Get("Message-Id"); len(id) != len("<@acme.example>")+32 || !strings.HasSuffix(id, "@acme.example>") {
		t.Errorf("Message-ID %q", id)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(raw, host) {
		t.Errorf("the machine's name %q is in the mail", host)
	}
	if strings.Contains(strings.ToLower(raw), "go-mail") {
		t.Error("the library's name is in the mail")
	}
}

// TestInjection puts line breaks and similar characters into each header field. Nothing
// of such a mail may reach the server, although a connection to it is open.
func TestInjection(t *testing.T) {
	t.Parallel()
	payloads := []string{
		"\r\nBcc: v@y.example", "\nBcc: v@y.example", "\rBcc: v@y.example", "\r\n\r\n<script>", "\r\n .", "\r\n.\r\nQUIT",
		"\x00", "\x0b", "\x0c", "\x1b[2J", "\x7f", "\u0085Bcc: v@y.example", "\u2028Bcc: v@y.example", "\u2029",
		"\xff\xfe", "\xe5\x98\x8a\xff", "=?utf-8?q?=0D=0ABcc:_v=40y.example?=", "=?utf-8?b?DQpCY2M6IHZAeQ==?=",
	}
	fields := map[string]func(m *authsvc.Message, payload string){
		"subject":       func(m *authsvc.Message, p string) { m.Subject = "Sign in" + p },
		"subject start": func(m *authsvc.Message, p string) { m.Subject = p + "Sign in" },
		"from name":     func(m *authsvc.Message, p string) { m.From = "Acme" + p + " <no-reply@acme.example>" },
		"quoted name":   func(m *authsvc.Message, p string) { m.From = `"Acme` + p + `" <no-reply@acme.example>` },
		"from":          func(m *authsvc.Message, p string) { m.From = "no-reply@acme.example" + p },
		"to":            func(m *authsvc.Message, p string) { m.To = "ann@example.com" + p },
		"to start":      func(m *authsvc.Message, p string) { m.To = p + "ann@example.com" },
	}
	box := listen(t, mailbox.Options{})
	w := &wire{addr: box.Addr()}
	send := sender(t, "smtp://"+box.Addr(), Options{DialContext: w.dial})
	for name, put := range fields {
		for _, p := range payloads {
			m := testMessage()
			put(&m, p)
			if err := send(t.Context(), m); !errors.Is(err, authsvc.ErrMailRefused) {
				t.Errorf("%s with %q: got %v, want a final refusal", name, p, err)
			}
		}
		m := testMessage()
		put(&m, "")
		if err := send(t.Context(), m); err != nil {
			t.Errorf("%s without payload: %v", name, err)
		}
	}
	if got := strings.Count(w.written(), "MAIL FROM:"); got != len(fields) || box.Conversations() != 1 {
		t.Errorf("%d mails in %d conversations, want each harmless mail in one", got, box.Conversations())
	}
}

func TestContentRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*authsvc.Message){
		"no subject":       func(m *authsvc.Message) { m.Subject = "" },
		"long subject":     func(m *authsvc.Message) { m.Subject = strings.Repeat("x", maxSubject+1) },
		"no body":          func(m *authsvc.Message) { m.Text, m.HTML = "", "" },
		"long text":        func(m *authsvc.Message) { m.Text = strings.Repeat("x", maxBody+1) },
		"NUL in the text":  func(m *authsvc.Message) { m.Text += "\x00" },
		"HTML not UTF-8":   func(m *authsvc.Message) { m.HTML += "\xff" },
		"no from":          func(m *authsvc.Message) { m.From = "" },
		"two froms":        func(m *authsvc.Message) { m.From = "a@x.example, b@x.example" },
		"long from":        func(m *authsvc.Message) { m.From = strings.Repeat("(", 100_000) + "a@x.example" },
		"from of a group":  func(m *authsvc.Message) { m.From = "g: a@x.example, b@x.example;" },
		"from is a route":  func(m *authsvc.Message) { m.From = "a%y@x.example" },
		"name hides break": func(m *authsvc.Message) { m.From = "=?utf-8?q?A=0D=0AB?= <a@x.example>" },
	}
	for name, edit := range tests {
		m := testMessage()
		edit(&m)
		if _, err := compose(m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := compose(testMessage()); err != nil {
		t.Errorf("ordinary: %v", err)
	}
}

func TestMessageID(t *testing.T) {
	t.Parallel()
	m := testMessage()
	id := messageID(m)
	if messageID(m) != id {
		t.Error("a retry has another id")
	}
	m.Text += "2"
	if messageID(m) == id {
		t.Error("another link has the same id")
	}
	m = testMessage()
	m.Subject, m.Text = m.Subject+m.Text[:1], m.Text[1:]
	if messageID(m) == id {
		t.Error("moving a character between fields keeps the id")
	}
}
