package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// typographicQuotes are the quotes that web pages and word processors put in place of "
// and '.
const typographicQuotes = "“”„‟‘’‚‛«»‹›"

// invisible names the characters that look like a space or like nothing, and that come
// along when text is copied.
var invisible = map[rune]string{
	'\u00a0': "a non-breaking space", '\u202f': "a non-breaking space", '\u2007': "a non-breaking space", '\u00ad': "a soft hyphen",
	'\u200b': "a zero-width character", '\u200c': "a zero-width character", '\u200d': "a zero-width character", '\u2060': "a zero-width character",
}

// pastedProblem returns which character in a value was copied from a web page by
// mistake, and the fix, or "". Such a character would count as part of the value.
func (v value) pastedProblem() (problem, fix string) {
	first, _ := utf8.DecodeRuneInString(v.text)
	last, _ := utf8.DecodeLastRuneInString(v.text)
	switch {
	case v.text != "" && strings.ContainsRune(typographicQuotes, first):
		return fmt.Sprintf("begins with a typographic quote (%U), which would be part of it", first), `write " or ' around it, or nothing`
	case v.text != "" && strings.ContainsRune(typographicQuotes, last):
		return fmt.Sprintf("ends with a typographic quote (%U), which would be part of it", last), `write " or ' around it, or nothing`
	}
	for _, r := range v.text {
		if name := invisible[r]; name != "" {
			return fmt.Sprintf("contains %s (%U), which would be part of it", name, r), "delete it, or type the value again: it often comes along when text is copied"
		}
	}
	for _, item := range v.items {
		if problem, fix := item.pastedProblem(); problem != "" {
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
