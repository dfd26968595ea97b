package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// minSecret is the length, in bytes, from which a secret cannot be part of an ordinary
// word by chance.
const minSecret = 8

// Redact replaces a secret in a text. A secret of fewer than 8 bytes stays where letters
// join it on both sides: inside another word it is there by chance, and masking it would
// spoil the text and show the secret's letters. A letter on one side alone may belong to
// an escape, as in \x00hunter2 or %0ahunter2.
func Redact(s, secret, mask string) string {
	if secret == "" {
		return s
	}
	if len(secret) >= minSecret || !isWord(secret) {
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
		if unicode.IsLetter(before) && unicode.IsLetter(after) {
			first, width := utf8.DecodeRuneInString(rest)
			out.WriteString(rest[:width])
			before, rest = first, rest[width:]
			continue
		}
		out.WriteString(mask)
		before, rest = 0, rest[len(secret):]
	}
}

// Reveals reports whether a text has a secret that Redact would replace.
func Reveals(s, secret string) bool { return Redact(s, secret, "") != s }

// isWord reports whether a secret begins and ends with a letter or digit, so that it can
// be inside another word.
func isWord(secret string) bool {
	first, _ := utf8.DecodeRuneInString(secret)
	last, _ := utf8.DecodeLastRuneInString(secret)
	return inWord(first) && inWord(last)
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
