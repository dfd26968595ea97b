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

	"golang.org/x/net/idna"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
	"authsvc/internal/text/emailaddr"
)

// isoTime returns a time as answers contain it, nil for the zero time.
func isoTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(text.TimeFormat)
	return &s
}

// strictBase64 accepts only one spelling of each value.
var strictBase64 = base64.RawURLEncoding.Strict()

func hashHex(token, secret string) string {
	sum := sha256.Sum256([]byte(token + secret))
	return hex.EncodeToString(sum[:])
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// usableID reports whether a provider's id of a person is usable. It must have a
// visible character: otherwise everyone with a blank id would be one person. It must
// not have characters that stores refuse.
func usableID(id string) bool {
	seen := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
	return utf8.ValidString(id) && strings.ContainsFunc(id, seen) && !strings.ContainsFunc(id, unicode.IsControl)
}

// Limits on a provider's data about a person.
const (
	maxName  = 255 // runes
	maxImage = 2048
)

// cleanUser makes a provider's profile safe to keep and show. It removes control and
// direction characters, limits lengths and normalises the address. A picture must be
// https or, with local, of a server on this machine.
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

// handleLength is the length of the name of a session or an account, in characters: 132
// bits.
const handleLength = 22

// handle returns the text of a MAC for people and scripts. It does not begin with -,
// which command lines take for a flag.
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

// inASCII returns the fix for a refused address, origin or host. If its name is not in
// ASCII, the fix is the name that browsers send in headers and that certificates contain
// (xn--…, RFC 5890). A leading "*." stays.
func inASCII(raw, fix string) string {
	before, rest, found := strings.Cut(raw, "://")
	if !found {
		before, rest = "", raw
	} else {
		before += "://"
	}
	if below, wild := strings.CutPrefix(rest, "*."); wild {
		before, rest = before+"*.", below
	}
	name := rest
	if i := strings.IndexAny(name, "/?#:"); i >= 0 {
		name = name[:i]
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil || strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return fix
	}
	return "write the name as browsers send it: " + text.Printable(before+ascii+rest[len(name):], 300)
}
