package config

import (
	"slices"
	"strings"
)

// An opener is a quote, a bracket or a brace that opens, and its line.
type opener struct {
	mark byte
	line int
}

// describe returns the text of a mistake about an opener that is not closed.
func (o opener) describe() string {
	name := map[byte]string{'[': "bracket", '{': "brace"}[o.mark]
	if name == "" {
		name = "quote"
	}
	return "the " + name + " " + string(o.mark) + " in this line is not closed"
}

// unclosed returns the first quote, bracket or brace of a text that is not closed, for
// a text that the YAML library refuses: the library names the line where the text
// ends, or one line too few. If unclosed finds none, the line is 0.
func unclosed(raw []byte) opener {
	s := openers{lines: strings.Split(string(raw), "\n")}
	for s.text = -1; s.at < len(s.lines); s.at++ {
		if found := s.scanLine(); found.line > 0 {
			return found
		}
	}
	if len(s.open) > 0 {
		return s.open[0]
	}
	return opener{}
}

// openers is the state of unclosed.
type openers struct {
	lines []string
	at    int      // index of the line
	col   int      // index of the next byte in it
	open  []opener // brackets and braces
	text  int      // column of the key above a block of text, else -1
	key   int      // column of the latest key outside of brackets
	begin bool     // a value may begin here
	plain bool     // the latest value has no quotes and may continue in the next line
}

// scanLine reads a line. A quote may take it to a later one.
func (s *openers) scanLine() opener {
	line := s.lines[s.at]
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if strings.TrimSpace(line) == "" || s.text >= 0 && indent > s.text {
		return opener{}
	}
	s.text, s.col = -1, 0
	if len(s.open) == 0 && !(s.plain && indent > s.key) {
		s.begin, s.plain, s.key = true, false, len(line)-len(strings.TrimLeft(line, " -"))
	}
	for s.col < len(s.lines[s.at]) {
		line = s.lines[s.at]
		c, last := line[s.col], s.col+1 == len(line)
		blankNext := last || strings.IndexByte(" \t\r", line[s.col+1]) >= 0
		switch {
		case c == '#' && (s.col == 0 || line[s.col-1] == ' ' || line[s.col-1] == '\t'):
			return opener{}
		case c == ' ' || c == '\t' || c == '\r':
		case c == '$' && strings.HasPrefix(line[s.col:], "${") && strings.Contains(line[s.col:], "}"): // a variable
			s.col += strings.IndexByte(line[s.col:], '}')
			s.begin, s.plain = false, true
		case s.begin && (c == '"' || c == '\''):
			if found := s.scanQuote(); found.line > 0 {
				return found
			}
			continue
		case c == '[' || c == '{':
			if s.begin {
				s.open = append(s.open, opener{c, s.at + 1})
			}
		case (c == ']' || c == '}') && len(s.open) > 0:
			top := s.open[len(s.open)-1]
			if top.mark != c-2 { // ASCII
				return top
			}
			s.open, s.begin = s.open[:len(s.open)-1], false
		case c == ',' && len(s.open) > 0, c == ':' && (blankNext || len(s.open) > 0 && strings.IndexByte(",[]{}", line[s.col+1]) >= 0):
			s.begin, s.plain = true, false
		case s.begin && (c == '-' || c == '?') && blankNext:
		case s.begin && (c == '|' || c == '>') && len(s.open) == 0:
			s.text = s.key
			return opener{}
		case s.begin && (c == '&' || c == '!'): // an anchor or a tag, before the value
			for s.col+1 < len(line) && line[s.col+1] != ' ' {
				s.col++
			}
		default:
			s.begin, s.plain = false, len(s.open) == 0
		}
		s.col++
	}
	return opener{}
}

// scanQuote reads a value in quotes. A quote that was forgotten ends at the next one,
// which belongs to another value, so that more text follows.
func (s *openers) scanQuote() opener {
	found := opener{s.lines[s.at][s.col], s.at + 1}
	for s.col++; ; s.col++ {
		for s.col >= len(s.lines[s.at]) {
			if s.at++; s.at == len(s.lines) {
				return found
			}
			s.col = 0
		}
		line := s.lines[s.at]
		switch c := line[s.col]; {
		case c == '\\' && found.mark == '"', c == '\'' && found.mark == c && s.col+1 < len(line) && line[s.col+1] == c:
			s.col++
		case c == found.mark:
			s.col, s.begin = s.col+1, false
			rest := strings.TrimSpace(line[s.col:])
			if s.at+1 > found.line && rest != "" && !slices.Contains([]byte("#:,]}"), rest[0]) {
				return found
			}
			return opener{}
		}
	}
}
