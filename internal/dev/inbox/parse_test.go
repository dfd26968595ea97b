package inbox

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/test/quiet"
)

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw           string
		subject, text, html string
		links               []string
	}{
		{
			name:    "encoded subject and quoted-printable",
			raw:     "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe=\n!",
			subject: "Grüße", text: "Grüße!",
		},
		{
			name: "base64 and latin-1",
			raw:  "Content-Type: text/plain; charset=ISO-8859-1\nContent-Transfer-Encoding: base64\n\nR3L832U=\n",
			text: "Grüße",
		},
		{
			name: "alternative",
			raw: "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nsee https://a.example/1, please\n" +
				"--b\nContent-Type: text/html\n\n<a href=\"https://a.example/1\">1</a> <a href='https://a.example/2?x=1&amp;y=2'>2</a>\n--b--\n",
			text:  "see https://a.example/1, please",
			html:  "<a href=\"https://a.example/1\">1</a> <a href='https://a.example/2?x=1&amp;y=2'>2</a>",
			links: []string{"https://a.example/1", "https://a.example/2?x=1&y=2"},
		},
		{
			name: "attachments are not the text",
			raw: "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Disposition: attachment\n\nfile\n" +
				"--b\n\nbody\n--b--\n",
			text: "body",
		},
		{
			name: "dangerous links",
			raw: "Content-Type: text/html\n\n<a href=\"javascript:alert(1)\"><a href=\"data:text/html,x\"><a href=\"http:///x\">" +
				"<a href=\"HTTPS://ok.example/\">",
			html: "<a href=\"javascript:alert(1)\"><a href=\"data:text/html,x\"><a href=\"http:///x\"><a href=\"HTTPS://ok.example/\">",

			links: []string{"HTTPS://ok.example/"},
		},
		{name: "no header", raw: "just words\n", text: "just words\r\n"},
		{name: "broken base64", raw: "Content-Transfer-Encoding: base64\n\nZmlyc3Q=!!!\n", text: "first"},
		{name: "broken content type", raw: "Content-Type: ///\n\nx\n", text: "Content-Type: ///\r\n\r\nx\r\n"},
		{name: "no boundary", raw: "Content-Type: multipart/mixed\n\nx\n", text: "Content-Type: multipart/mixed\r\n\r\nx\r\n"},
		{name: "not UTF-8", raw: "Subject: \xff\n\n\xfe\n", subject: "\uFFFD", text: "\uFFFD\r\n"},
		{name: "unknown charset in a word", raw: "Subject: =?x-none?q?a?=\n\nx", subject: "=?x-none?q?a?=", text: "x"},
		{name: "empty", raw: "", text: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := crlf(tt.raw)
			got := newMessage("00000000000003e8", "f@x", []string{"t@x"}, raw)
			want := Message{
				ID: "00000000000003e8", From: "f@x", To: []string{"t@x"}, Date: time.Unix(0, 1000).UTC(),
				Subject: tt.subject, Text: tt.text, HTML: tt.html, Links: tt.links, Raw: raw,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseBounds parses mails that are expensive without limits.
func TestParseBounds(t *testing.T) {
	t.Parallel()
	var nested strings.Builder
	for range 2000 {
		nested.WriteString("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n")
	}
	for name, raw := range map[string]string{
		"nested":      nested.String(),
		"many parts":  "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat("--b\r\n\r\n\r\n", 50_000),
		"many links":  "Subject: x\r\n\r\n" + strings.Repeat("http://a.example/ ", 20_000),
		"long link":   "Subject: x\r\n\r\nhttp://a.example/" + strings.Repeat("x", 500_000),
		"many words":  "Subject: " + strings.Repeat("=?utf-8?q?a?= ", 20_000) + "\r\n\r\nx",
		"open href":   "Content-Type: text/html\r\n\r\n" + strings.Repeat("href=\"", 100_000),
		"many fields": strings.Repeat("A: b\r\n", 100_000) + "\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			m := newMessage("1", "", nil, raw)
			if d := time.Since(start); d > quiet.Limit(5*time.Second) {
				t.Errorf("took %v", d)
			}
			if len(m.Links) > maxLinks || len(m.Text) > 2*len(raw) {
				t.Errorf("%d links, %d bytes of text", len(m.Links), len(m.Text))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Subject: =?utf-8?q?x?=\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nhttp://x/\r\n--b--\r\n")
	f.Add("Content-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: base64\r\n\r\nR3L832U=")
	f.Fuzz(func(t *testing.T, raw string) {
		m := newMessage("1", "", nil, raw)
		if m.Raw != raw {
			t.Error("the raw mail was changed")
		}
		for _, l := range m.Links {
			if !isWebLink(l) {
				t.Errorf("link %q", l)
			}
		}
	})
}

// TestLabel checks what a button for a link of a mail says.
func TestLabel(t *testing.T) {
	t.Parallel()
	const to = "https://app.example/undo?a=1&b=2"
	for name, c := range map[string]struct{ markup, want string }{
		"text": {`<a href="https://other.example/">no</a> <a class="x" href="https://app.example/undo?a=1&amp;b=2" style="y">Undo  this
			change</a>`, "Undo this change"},
		"escaped":      {`<a href='https://app.example/undo?a=1&amp;b=2'><b>A &amp; B</b>&lt;i&gt;</a>`, "A & B <i>"},
		"picture":      {`<a href="https://app.example/undo?a=1&amp;b=2"><img alt="x"></a>`, "/undo"},
		"no HTML":      {``, "/undo"},
		"other link":   {`<a href="https://app.example/undo?a=1">Other</a>`, "/undo"},
		"control":      {"<a href=\"https://app.example/undo?a=1&amp;b=2\">x\u202ey\x00</a>", "xy"},
		"long":         {`<a href="https://app.example/undo?a=1&amp;b=2">` + strings.Repeat("ä", 400) + `</a>`, strings.Repeat("ä", maxLabel)},
		"not complete": {strings.Repeat(`<a href="https://app.example/undo?a=1&amp;b=2">`, 50_000), "/undo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Message{HTML: c.markup}).Label(to); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}
