package mail

import (
	"bytes"
	"mime"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"

	"authsvc"
)

// FuzzMessage checks that a sent message has one fixed set of fields, reads back
// unchanged, and has no line that is too long or could be read as two.
func FuzzMessage(f *testing.F) {
	for _, v := range []string{"Sign in to Acme", "a\r\nBcc: v@x.test", "=?utf-8?q?x?=", "é", "\x00", strings.Repeat("x", 998), ".", "\r\n.\r\n", "From: x", "\u202e"} {
		f.Add("ada@app.test", v, "text", "<p>html</p>")
		f.Add("ada@app.test", "subject", v, v)
		f.Add(v, "subject", "text", "")
	}
	fields := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}
	f.Fuzz(func(t *testing.T, to, subject, text, html string) {
		e, err := compose(authsvc.Message{From: "Acme <no-reply@app.test>", To: to, Subject: subject, Text: text, HTML: html})
		if err != nil {
			return
		}
		for line := range bytes.SplitSeq(e.data, []byte("\r\n")) {
			if len(line) > 998 || bytes.ContainsAny(line, "\r\n\x00") {
				t.Fatalf("line %q", line)
			}
		}
		m, err := netmail.ReadMessage(bytes.NewReader(e.data))
		if err != nil {
			t.Fatalf("%q: %v", e.data, err)
		}
		for name, values := range m.Header {
			if len(values) != 1 || !slices.Contains(fields, name) {
				t.Fatalf("field %s: %q", name, values)
			}
		}
		if list, err := m.Header.AddressList("To"); err != nil || len(list) != 1 || list[0].Address != e.to || !isASCII(e.to[strings.IndexByte(e.to, '@'):]) || !strings.HasPrefix(e.to, to[:strings.IndexByte(to, '@')+1]) {
			t.Fatalf("to %q reads as %v, %v", to, list, err)
		}
		if got, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(subject), " ") {
			t.Fatalf("subject %q reads as %q, %v", subject, got, err)
		}
	})
}
