package inbox

import (
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strconv"
	"strings"
	"time"
)

// A mail is at most Options.MaxMessage long, so these only limit the work.
const (
	maxDepth = 5  // of nested multiparts
	maxParts = 50 // of one mail
)

// newMessage parses a mail. It never fails: it shows a mail that cannot be parsed as
// raw text.
func newMessage(id, from string, to []string, raw string) Message {
	m := Message{ID: id, From: from, To: to, Raw: raw, Date: arrivalOf(id)}
	parsed, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		m.Text = strings.ToValidUTF8(raw, "\uFFFD")
		return m
	}
	m.Subject = decodeWords(parsed.Header.Get("Subject"))
	b := body{parts: maxParts}
	b.walk(header(parsed.Header), parsed.Body, 0)
	m.Text, m.HTML = b.text, b.html
	if m.Text == "" && m.HTML == "" {
		m.Text = strings.ToValidUTF8(raw, "\uFFFD")
	}
	m.Links = links(m.Text, m.HTML)
	if found := codeLine.FindStringSubmatch(m.Text); found != nil {
		m.Code = found[1]
	}
	return m
}

// arrivalOf returns the time from which an ID was made.
func arrivalOf(id string) time.Time {
	n, err := strconv.ParseInt(id, 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// decodeWords decodes a header value for reading (RFC 2047).
func decodeWords(s string) string {
	if decoded, err := new(mime.WordDecoder).DecodeHeader(s); err == nil {
		s = decoded
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// header is the common type of the headers of net/mail and mime/multipart.
type header map[string][]string

func (h header) get(key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// body collects the first text of each kind.
type body struct {
	text, html string
	parts      int // how many parts may still be read
}

func (b *body) walk(h header, r io.Reader, depth int) {
	if b.parts == 0 || depth > maxDepth {
		return
	}
	b.parts--
	kind, params := "text/plain", map[string]string(nil)
	if ct := h.get("Content-Type"); ct != "" {
		var err error
		if kind, params, err = mime.ParseMediaType(ct); err != nil {
			return
		}
	}
	switch {
	case strings.HasPrefix(kind, "multipart/"):
		b.walkParts(multipart.NewReader(r, params["boundary"]), depth)
	case strings.HasPrefix(strings.TrimSpace(strings.ToLower(h.get("Content-Disposition"))), "attachment"):
	case kind == "text/plain" && b.text == "":
		b.text = decode(h, params["charset"], r)
	case kind == "text/html" && b.html == "":
		b.html = decode(h, params["charset"], r)
	}
}

func (b *body) walkParts(r *multipart.Reader, depth int) {
	for b.parts > 0 {
		// NextPart would decode quoted-printable, but not base64.
		p, err := r.NextRawPart()
		if err != nil {
			return
		}
		b.walk(header(p.Header), p, depth+1)
	}
}

// decode returns the text of a part in UTF-8, as far as it can be read.
func decode(h header, charset string, r io.Reader) string {
	switch strings.ToLower(strings.TrimSpace(h.get("Content-Transfer-Encoding"))) {
	case "quoted-printable":
		r = quotedprintable.NewReader(r)
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, r)
	}
	content, _ := io.ReadAll(r) // keep the content before a fault
	if strings.EqualFold(charset, "iso-8859-1") {
		return latin1(content)
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}

// latin1 converts ISO 8859-1 to UTF-8: each byte is its code point.
func latin1(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		out.WriteRune(rune(c))
	}
	return out.String()
}
