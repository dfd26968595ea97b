package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// typographicQuotes are the quotes that web pages and word processors put in place of "
// and '.
const typographicQuotes = "“”„‟‘’‚‛«»‹›"

// invisibleName names a character that looks like a space or like nothing, other than
// the space itself, and that comes along when text is copied. Otherwise it returns "".
func invisibleName(r rune) string {
	switch {
	case r == ' ':
		return ""
	case r == '\u00a0', r == '\u202f', r == '\u2007':
		return "a non-breaking space"
	case r == '\u00ad':
		return "a soft hyphen"
	case r == '\ufeff':
		return "a byte order mark"
	case r >= '\u200b' && r <= '\u200d', r == '\u2060':
		return "a zero-width character"
	case unicode.Is(unicode.Zs, r):
		return "a space other than U+0020"
	case unicode.In(r, unicode.Zl, unicode.Zp):
		return "a line or paragraph separator"
	case unicode.Is(unicode.Cf, r):
		return "a formatting character"
	}
	return ""
}

// pastedProblem returns which character in a value was copied from a web page by
// mistake, and the fix, or "". Such a character would count as part of the value. file is
// the name of the configuration file: only there may a value have quotes around it.
func (v value) pastedProblem(file string) (problem, fix string) {
	first, _ := utf8.DecodeRuneInString(v.text)
	last, _ := utf8.DecodeLastRuneInString(v.text)
	quoteFix := func(quote rune) string {
		if file != "" && strings.HasPrefix(v.place, file+":") && strings.ContainsRune(v.raw, quote) {
			return `write " or ' around it, or nothing`
		}
		return "remove it, and any quote at the other end"
	}
	switch {
	case v.text != "" && strings.ContainsRune(typographicQuotes, first):
		return fmt.Sprintf("begins with a typographic quote (%U), which would be part of it", first), quoteFix(first)
	case v.text != "" && strings.ContainsRune(typographicQuotes, last):
		return fmt.Sprintf("ends with a typographic quote (%U), which would be part of it", last), quoteFix(last)
	}
	for _, r := range v.text {
		if name := invisibleName(r); name != "" {
			return fmt.Sprintf("contains %s (%U), which would be part of it", name, r), "delete it, or type the value again: it often comes along when text is copied"
		}
	}
	for _, item := range v.items {
		if problem, fix := item.pastedProblem(file); problem != "" {
			return problem, fix
		}
	}
	return "", ""
}

// exact reports whether a value must match the text that another program has, so that
// no character may be added: secrets, addresses and ids.
func (f field) exact() bool {
	name := f.key[strings.LastIndex(f.key, ".")+1:]
	return f.secret || name == "url" || name == "id" || name == "issuer" || name == "listen" || strings.HasSuffix(name, "_url") || strings.HasSuffix(name, "_id")
}
