package authsvc

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"authsvc/internal/emailaddr"
	"authsvc/internal/weburl"
)

// Limits of what a provider may say about a person.
const (
	maxName  = 255 // runes
	maxImage = 2048
)

// cleanUser makes a provider's profile safe to keep and show: control and
// direction characters go, lengths are capped, addresses are normalised,
// pictures must be https.
func cleanUser(u User) User {
	u.Name = cleanName(u.Name)
	if u.Email != "" {
		email, err := emailaddr.Normalise(u.Email)
		if err != nil {
			email = ""
		}
		u.Email = email
	}
	if origin, clean, ok := weburl.Parse(u.Image); ok && strings.HasPrefix(origin, "https://") && len(clean) <= maxImage {
		u.Image = clean
	} else if !isPicture(u.Image) {
		u.Image = ""
	}
	return u
}

// picture is a data: URL (RFC 2397) of a raster image; SVG could hold more.
var picture = regexp.MustCompile(`^data:image/(jpeg|png|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

func isPicture(s string) bool {
	return len(s) <= base64.StdEncoding.EncodedLen(maxPicture)+32 && picture.MatchString(s)
}

func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n == maxName {
			return s[:i]
		}
		n++
	}
	return s
}

// printable makes foreign text fit for a log line or a message.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), limit)]
}
