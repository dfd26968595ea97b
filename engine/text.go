package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
	"authsvc/internal/text/emailaddr"
)

// isoTime is a time in an answer, null if it is not known.
func isoTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(text.TimeFormat)
	return &s
}

// strictBase64 gives every value one spelling.
var strictBase64 = base64.RawURLEncoding.Strict()

func hashHex(token, secret string) string {
	sum := sha256.Sum256([]byte(token + secret))
	return hex.EncodeToString(sum[:])
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// usableID reports whether a provider's id of a person can be one: something
// that can be seen, or all whose id is blank would be one person, and nothing
// that stores do not take.
func usableID(id string) bool {
	seen := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
	return utf8.ValidString(id) && strings.ContainsFunc(id, seen) && !strings.ContainsFunc(id, unicode.IsControl)
}

// Limits of what a provider may say about a person.
const (
	maxName  = 255 // runes
	maxImage = 2048
)

// cleanUser makes a provider's profile safe to keep and show: control and
// direction characters go, lengths are capped, addresses are normalised,
// pictures must be https or, with local, of a server on this machine.
func cleanUser(u authsvc.User, local bool) authsvc.User {
	u.Name = text.Name(u.Name)
	if u.Email != "" {
		email, err := emailaddr.Normalise(u.Email)
		if err != nil {
			email = ""
		}
		u.Email = email
	}
	if origin, clean, ok := weburl.Parse(u.Image); ok && len(clean) <= maxImage && (strings.HasPrefix(origin, "https://") || local && loopbackURL(origin)) {
		u.Image = clean
	} else if !text.IsPicture(u.Image) {
		u.Image = ""
	}
	return u
}

// loopbackURL reports whether an origin is http on this machine, as in development.
func loopbackURL(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && weburl.Loopback(u.Hostname())
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// handleLength is how many characters name a session or an account: 132 bits.
const handleLength = 22

// handle is the text of a MAC as people and scripts get it. It does not begin with -,
// by which command lines know flags.
func handle(mac []byte) string {
	text := base64.RawURLEncoding.EncodeToString(mac)[:handleLength]
	if text[0] == '-' {
		text = "_" + text[1:]
	}
	return text
}

// emailProved reports whether a stored user has proved the address.
func emailProved(u authsvc.User) bool { return u.Email != "" && !u.EmailVerified.IsZero() }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
