package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// minSecret is the length, in bytes, from which a secret cannot be part of an ordinary
// word by chance.
const minSecret = 8

// Redact replaces a secret in a text. A secret of fewer than 8 bytes is replaced only
// where it is a word of its own: inside other words it is there by chance, and masking it
// would spoil the text and show the secret's letters.
func Redact(s, secret, mask string) string {
	if secret == "" {
		return s
	}
	if len(secret) >= minSecret {
		return strings.ReplaceAll(s, secret, mask)
	}
	var out strings.Builder
	rest := s
	for before := rune(0); ; {
		i := strings.Index(rest, secret)
		if i < 0 {
			out.WriteString(rest)
			return out.String()
		}
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:i])
		}
		out.WriteString(rest[:i])
		rest = rest[i:]
		after, _ := utf8.DecodeRuneInString(rest[len(secret):])
		first, _ := utf8.DecodeRuneInString(secret)
		last, width := utf8.DecodeLastRuneInString(secret)
		if joined(before, first) || joined(last, after) {
			_, width = utf8.DecodeRuneInString(rest)
			out.WriteString(rest[:width])
			before, rest = first, rest[width:]
			continue
		}
		out.WriteString(mask)
		before, rest = last, rest[len(secret):]
	}
}

// Reveals reports whether a text has a secret that Redact would replace.
func Reveals(s, secret string) bool { return Redact(s, secret, "") != s }

// joined reports whether two characters belong to one word.
func joined(a, b rune) bool { return inWord(a) && inWord(b) }

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
