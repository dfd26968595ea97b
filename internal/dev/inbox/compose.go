package inbox

import (
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"strings"
)

// Deliver composes a mail and keeps it, as Add does. If html is empty, the mail is
// plain text.
func (s *Box) Deliver(from, to, subject, text, html string) error {
	return s.Add(from, []string{to}, compose(from, to, subject, text, html))
}

// compose returns a mail as it would be sent over the wire (RFC 5322, RFC 2046).
func compose(from, to, subject, text, html string) string {
	var out strings.Builder
	header := func(name, value string) { out.WriteString(name + ": " + oneLine.Replace(value) + "\r\n") }
	header("From", from)
	header("To", to)
	header("Subject", mime.QEncoding.Encode("utf-8", subject))
	header("MIME-Version", "1.0")
	parts := multipart.NewWriter(&out)
	header("Content-Type", `multipart/alternative; boundary="`+parts.Boundary()+`"`)
	out.WriteString("\r\n")
	for _, part := range []struct{ kind, content string }{{"text/plain", text}, {"text/html", html}} {
		if part.content == "" {
			continue
		}
		// Writes to a strings.Builder cannot fail.
		w, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type":              {part.kind + "; charset=utf-8"},
			"Content-Transfer-Encoding": {"quoted-printable"},
		})
		if err != nil {
			continue
		}
		q := quotedprintable.NewWriter(w)
		q.Write([]byte(part.content)) //nolint:errcheck
		q.Close()                     //nolint:errcheck
	}
	parts.Close() //nolint:errcheck
	return out.String()
}

// oneLine keeps a value from adding header lines.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")
