// Package jsonscan cuts values out of JSON as encoding/json writes it, without decoding
// them. It accepts only valid JSON, and refuses some valid JSON, such as any JSON with
// spaces.
package jsonscan

import "strings"

// maxDepth bounds the nesting of a value.
const maxDepth = 64

// Value cuts one value from the beginning of s.
func Value(s string) (value, rest string, ok bool) {
	end := skip(s, 0, 0)
	if end < 0 {
		return "", "", false
	}
	return s[:end], s[end:], true
}

// Member returns the value of a member of an object, as it is written. name must not
// contain characters that JSON escapes.
func Member(object, name string) (value string, ok bool) {
	if len(object) < 2 || object[0] != '{' {
		return "", false
	}
	for i := 1; i < len(object) && object[i] == '"'; i++ {
		end := skipString(object, i)
		if end < 0 || end >= len(object) || object[end] != ':' {
			return "", false
		}
		last := skip(object, end+1, 1)
		if last < 0 || last >= len(object) {
			return "", false
		}
		if object[i+1:end-1] == name {
			return object[end+1 : last], true
		}
		if i = last; object[i] != ',' {
			return "", false
		}
	}
	return "", false
}

// skip returns the index after the value at i, or -1 if there is none.
func skip(s string, i, depth int) int {
	if i >= len(s) || depth > maxDepth {
		return -1
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{':
		return skipList(s, i, depth, '}', skipMember)
	case '[':
		return skipList(s, i, depth, ']', skip)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], word) {
			return i + len(word)
		}
	}
	return skipNumber(s, i)
}

// skipList skips elements separated by commas, up to and including the closing bracket.
func skipList(s string, i, depth int, closing byte, element func(s string, i, depth int) int) int {
	if i++; i < len(s) && s[i] == closing {
		return i + 1
	}
	for {
		if i = element(s, i, depth+1); i < 0 || i >= len(s) {
			return -1
		}
		switch s[i] {
		case ',':
			i++
		case closing:
			return i + 1
		default:
			return -1
		}
	}
}

func skipMember(s string, i, depth int) int {
	if i = skipString(s, i); i < 0 || i >= len(s) || s[i] != ':' {
		return -1
	}
	return skip(s, i+1, depth)
}

func skipString(s string, i int) int {
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i++; i >= len(s) || !strings.ContainsRune(`"\/bfnrtu`, rune(s[i])) {
				return -1
			}
			if s[i] == 'u' {
				if i += 4; i >= len(s) || !hex(s[i-3:i+1]) {
					return -1
				}
			}
		}
	}
	return -1
}

func hex(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !digit(s[i]) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// skipNumber skips a number (RFC 8259 §6).
func skipNumber(s string, i int) int {
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch first := i; {
	case i >= len(s) || !digit(s[i]):
		return -1
	case s[first] == '0':
		i++
	default:
		i = skipDigits(s, i)
	}
	if i < len(s) && s[i] == '.' {
		if i = skipDigits(s, i+1); i < 0 {
			return -1
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		i = skipDigits(s, i)
	}
	return i
}

// skipDigits returns -1 if there are no digits.
func skipDigits(s string, i int) int {
	first := i
	for i < len(s) && digit(s[i]) {
		i++
	}
	if i == first {
		return -1
	}
	return i
}
