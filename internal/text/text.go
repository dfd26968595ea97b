// Package text makes untrusted text safe to store, show and log, and writes JSON
// strings quickly.
package text

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TimeFormat is the format of a JavaScript Date: milliseconds and Z.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// maxName is the longest name, in characters.
const maxName = 255

// Shortened cuts s to at most limit bytes, between two characters.
func Shortened(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// Printable makes untrusted text safe for a log line or a message. It replaces
// characters other than printable ASCII by ? and cuts the text to limit bytes.
func Printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), limit)]
}

// Name makes a name safe to store and show. It removes control and direction characters
// and surrounding space, and cuts the name to 255 characters.
func Name(s string) string {
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

// AppendNullable appends s as a JSON string, or null if s is empty.
func AppendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return AppendString(b, s)
}

// AppendString appends s as a JSON string. It leaves everything except plain ASCII to
// encoding/json, which also escapes <, > and &.
func AppendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Nullable returns a pointer to s, or nil if s is empty.
func Nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// IsPicture reports whether s is a data: URL of a raster image of at most MaxPicture
// bytes.
func IsPicture(s string) bool {
	return len(s) <= base64.StdEncoding.EncodedLen(MaxPicture)+32 && picture.MatchString(s)
}

// MaxPicture is the largest picture that a user may have instead of a URL, in bytes. It
// is kept in the store. A session in a cookie has it only if it needs no further cookie.
const MaxPicture = 6 << 10

// picture matches a data: URL (RFC 2397) of a raster image. SVG could contain more than
// an image.
var picture = LazyRegexp(`^data:image/(jpeg|png|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

// Same reports whether a and b are equal, in constant time if they have the same
// length.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
