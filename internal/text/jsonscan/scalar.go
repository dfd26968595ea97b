package jsonscan

import "strings"

// Text cuts a JSON string without escapes from the beginning of s and returns the text
// between its quotes.
func Text(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"':
			return s[1:i], s[i+1:], true
		case b == '\\' || b < ' ':
			return "", "", false
		}
	}
	return "", "", false
}

// Scalar cuts a string with its quotes, a number, true, false or null from the
// beginning of s.
func Scalar(s string) (value, rest string, ok bool) {
	if text, rest, ok := Text(s); ok {
		return s[:len(text)+2], rest, true
	}
	end := 0
	for end < len(s) && s[end] != ',' && s[end] != '}' {
		end++
	}
	if end == 0 || end == len(s) {
		return "", "", false
	}
	value = s[:end]
	ok = value == "null" || value == "true" || value == "false" || isPlainNumber(value)
	return value, s[end:], ok
}

// isPlainNumber reports whether s is a non-negative decimal number without exponent.
func isPlainNumber(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	digits := func(s string) bool {
		return s != "" && len(s) <= 15 && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	return digits(whole) && (whole == "0" || whole[0] != '0') && (!point || digits(fraction))
}
