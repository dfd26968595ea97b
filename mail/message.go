package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"authsvc/internal/text/emailaddr"

	"authsvc"

	gomail "github.com/wneessen/go-mail"
)

const (
	maxSubject = 500       // bytes
	maxBody    = 512 << 10 // bytes of the text, and of the HTML
)

// An envelope is a message ready to be sent.
type envelope struct {
	from, to string
	data     []byte // header and body, lines ending in CRLF
}

// isASCII reports whether the server can do without SMTPUTF8 (RFC 6531).
func (e envelope) isASCII() bool { return isASCII(e.from) && isASCII(e.to) }

// compose checks and encodes a message. It corrects nothing, except that domains travel
// in their ASCII form: it refuses a message that is not safe as it stands.
func compose(m authsvc.Message) (envelope, error) {
	from, err := parseSender(m.From)
	if err != nil {
		return envelope{}, fmt.Errorf("from: %w", err)
	}
	if err := emailaddr.Check(m.To); err != nil {
		return envelope{}, fmt.Errorf("to: %w", err)
	}
	to, err := deliverable(m.To)
	if err != nil {
		return envelope{}, fmt.Errorf("to: %w", err)
	}
	if err := checkContent(m); err != nil {
		return envelope{}, err
	}
	var data bytes.Buffer
	if _, err := build(m, from, to).WriteTo(&data); err != nil {
		return envelope{}, fmt.Errorf("compose: %w", err)
	}
	return envelope{from: from.Address, to: to, data: data.Bytes()}, nil
}

func checkContent(m authsvc.Message) error {
	switch {
	case m.Subject == "" || len(m.Subject) > maxSubject || !isOneLine(m.Subject):
		return errors.New("subject is empty, too long or more than one line")
	case strings.Contains(m.Subject, "=?"):
		// A mail reader would decode it and show the hidden text.
		return errors.New("subject has an encoded word")
	case m.Text == "" && m.HTML == "":
		return errors.New("text and HTML are empty")
	}
	for _, body := range []string{m.Text, m.HTML} {
		if len(body) > maxBody || !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
			return errors.New("body is too long, not UTF-8 or has a NUL")
		}
	}
	return nil
}

// build sets the headers that go-mail would otherwise fill with its own name and
// version, the host's name and the host's time zone.
func build(m authsvc.Message, from *netmail.Address, to string) *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(&netmail.Address{Address: to})
	msg.Subject(m.Subject)
	msg.SetDateWithValue(time.Now().UTC())
	msg.SetMessageIDWithValue(messageID(m) + "@" + asciiDomain(from.Address))
	// RFC 3834 section 5: prevents out-of-office replies.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	switch {
	case m.HTML == "":
		msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	case m.Text == "":
		msg.SetBodyString(gomail.TypeTextHTML, m.HTML)
	default: // RFC 2046 section 5.1.4: the plainest first
		msg.SetBodyString(gomail.TypeTextPlain, m.Text)
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg
}

// messageID returns a hash of the content, so that a retry has the same Message-ID. The
// link in the content makes the hash unique, and the hash does not reveal the link.
func messageID(m authsvc.Message) string {
	h := sha256.New()
	for _, field := range []string{m.From, m.To, m.Subject, m.Text, m.HTML} {
		fmt.Fprintf(h, "%d:%s", len(field), field)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
