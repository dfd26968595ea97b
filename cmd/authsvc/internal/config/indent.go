package config

import (
	"bytes"
	"strings"

	"authsvc/internal/text"
)

// keyLine is a line that begins with a key, or with a dash before one. The last
// group is its value.
var keyLine = text.LazyRegexp(`^( *)((?:- +)*)["']?[\w.-]+["']?:(?:\s+(.*))?$`)

// oddIndent returns the number of the first line with a key in a column that fits
// no key above it, and how many spaces it begins with; 0 if there is none.
func oddIndent(raw []byte) (line, spaces int) {
	open, text := []int{}, -1 // columns of the keys around; of the key whose text goes on
	hasValue := false         // the line before has a value, so nothing belongs below it
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
