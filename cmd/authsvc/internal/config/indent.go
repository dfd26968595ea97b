package config

import (
	"bytes"
	"strings"

	"authsvc/internal/text"
)

// keyLine matches a line that begins with a key, or with dashes and a key. The last
// group is the value.
var keyLine = text.LazyRegexp(`^( *)((?:- +)*)["']?[\w.-]+["']?:(?:\s+(.*))?$`)

// oddIndent returns the number of the first line whose key is in a column where no key
// above it is, and the column, which counts from 1. It returns 0 if there is no such
// line.
func oddIndent(raw []byte) (line, spaces int) {
	open, text := []int{}, -1 // open: columns of the enclosing keys; text: column of the key whose text continues
	hasValue := false         // the line before has a value, so nothing may be below it
	for i, b := range bytes.Split(raw, []byte("\n")) {
		s := strings.TrimRight(string(b), " \r")
		indent := len(s) - len(strings.TrimLeft(s, " "))
		if s == "" || s[indent] == '#' || text >= 0 && indent > text {
			continue
		}
		text = -1
		m := keyLine.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		key := indent + len(m[2])
		if len(open) > 0 && key > open[len(open)-1] && hasValue && m[2] == "" {
			return i + 1, indent + 1
		}
		deepest := len(open)
		for len(open) > 0 && open[len(open)-1] > key {
			open = open[:len(open)-1]
		}
		closed := deepest > len(open)
		if fits := len(open) > 0 && open[len(open)-1] == key; closed && !fits && m[2] == "" {
			return i + 1, indent + 1
		} else if !fits {
			open = append(open, key)
		}
		value, _, _ := strings.Cut(m[3], " #")
		hasValue = value != "" && value[0] != '#' && value[0] != '&' && value[0] != '!'
		if hasValue && (value[0] == '|' || value[0] == '>') {
			text = indent
		}
	}
	return 0, 0
}
