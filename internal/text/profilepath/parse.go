package profilepath

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"authsvc/internal/text/strictjson"
)

// Limits of a path; real ones are far smaller.
const (
	maxPath  = 1024 // bytes
	maxSteps = 32
	maxIndex = 9999
)

// Parse compiles alternatives, separated by |. Each is a template or a path.
func Parse(s string) (Paths, error) {
	if len(s) > maxPath {
		return nil, errors.New("is too long")
	}
	p := &pathParser{rest: s}
	var f Paths
	for {
		t, err := p.text()
		if err != nil {
			return nil, err
		}
		f = append(f, t)
		if !p.take("|") {
			break
		}
	}
	if p.rest != "" {
		return nil, p.unexpected()
	}
	return f, nil
}

// A pathParser reads paths from the left.
type pathParser struct{ rest string }

// take removes s from the front of the rest and reports whether it was there.
func (p *pathParser) take(s string) bool {
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest = rest
	return ok
}

func (p *pathParser) spaces() { p.rest = strings.TrimLeft(p.rest, " ") }

// start returns the first n bytes of s, without a character that would be cut.
func start(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

func (p *pathParser) unexpected() error {
	if p.rest == "" {
		return errors.New("ends too early")
	}
	return errors.New("is not a path from " + strconv.Quote(start(p.rest, 20)) + " on")
}

// text reads up to the next bar: a path, or text with paths in braces.
func (p *pathParser) text() (pathText, error) {
	p.spaces()
	if !hasBraces(p.rest) {
		one, err := p.path()
		p.spaces()
		return pathText{parts: []part{{paths: []path{one}}}}, err
	}
	var t pathText
	for p.rest != "" && p.rest[0] != '|' {
		if !p.take("{") {
			text := p.rest[:indexOrEnd(p.rest, "{}|")]
			if text == "" {
				return t, p.unexpected() // a lone closing brace
			}
			p.rest = p.rest[len(text):]
			t.parts = append(t.parts, part{text: text})
			t.whole = t.whole || strings.TrimSpace(text) != ""
			continue
		}
		paths, err := p.braced()
		if err != nil {
			return t, err
		}
		t.parts = append(t.parts, part{paths: paths})
	}
	return t, nil
}

// braced reads alternatives up to the closing brace.
func (p *pathParser) braced() ([]path, error) {
	var paths []path
	for {
		p.spaces()
		one, err := p.path()
		if err != nil {
			return nil, err
		}
		if one.several {
			return nil, errors.New("has a path with several values in braces")
		}
		paths = append(paths, one)
		p.spaces()
		if p.take("}") {
			return paths, nil
		}
		if !p.take("|") {
			return nil, p.unexpected()
		}
	}
}

func (p *pathParser) path() (path, error) {
	one := path{token: p.take("token.")}
	name, err := p.name()
	if err != nil {
		return one, err
	}
	one.steps = append(one.steps, named(name))
	for len(one.steps) <= maxSteps {
		var s step
		switch {
		case p.take("."):
			name, err = p.name()
			s = named(name)
		case p.take("["):
			s, err = p.bracketed()
		default:
			return one, nil
		}
		if err != nil {
			return one, err
		}
		one.steps, one.several = append(one.steps, s), one.several || s.several()
	}
	return one, errors.New("has too many steps")
}

// named returns the step to a member, or to the list element of that number.
func named(name string) step {
	return step{name: name, index: listIndex(name)}
}

// listIndex reads an index in its only spelling, or returns -1.
func listIndex(s string) int {
	i, err := strconv.Atoi(s)
	if err != nil || i < 0 || i > maxIndex || strconv.Itoa(i) != s {
		return -1
	}
	return i
}

// bracketed reads the inside of brackets and the closing bracket: nothing, keys, split
// with separators, an index or a filter.
func (p *pathParser) bracketed() (step, error) {
	switch {
	case p.take("]"):
		return step{index: -1, spread: elements}, nil
	case p.take("keys]"):
		return step{index: -1, spread: keys}, nil
	case p.take("split ") || strings.HasPrefix(p.rest, "split]") && p.take("split"):
		return p.split()
	}
	if end := strings.IndexByte(p.rest, ']'); end >= 0 {
		if i := listIndex(p.rest[:end]); i >= 0 {
			p.rest = p.rest[end+1:]
			return step{index: i}, nil
		}
	}
	s := step{index: -1}
	for {
		c, err := p.condition()
		if err != nil {
			return s, err
		}
		s.filter = append(s.filter, c)
		if p.take("]") {
			return s, nil
		}
		if !p.take("&") || len(s.filter) == maxSteps {
			return s, p.unexpected()
		}
	}
}

// split reads the separators and the closing bracket.
func (p *pathParser) split() (step, error) {
	s := step{index: -1, spread: parts}
	p.spaces()
	if !p.take(`"`) || strings.HasPrefix(p.rest, `"`) {
		return s, errors.New(`needs separators in double quotes after split, as in [split ","]`)
	}
	var err error
	if s.name, err = p.quoted(); err != nil {
		return s, err
	}
	if strings.ContainsFunc(s.name, func(r rune) bool { return r == unicode.ReplacementChar || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return s, errors.New("has a letter or a digit as a separator after split")
	}
	if !p.take("]") {
		return s, p.unexpected()
	}
	return s, nil
}

func (p *pathParser) condition() (c condition, err error) {
	if c.name, err = p.name(); err != nil {
		return c, err
	}
	if !p.take("=") {
		return c, p.unexpected()
	}
	quoted := strings.HasPrefix(p.rest, `"`)
	word, err := p.name()
	switch {
	case err != nil:
		return c, err
	case quoted:
		c.value = word
	case word == "true" || word == "false":
		c.value = word == "true"
	default:
		c.value, c.digit = word, plainNumber(word)
	}
	return c, nil
}

// plainNumber returns the canonical form of a whole number, or "" if s is not one.
func plainNumber(s string) string {
	if s == "" || strings.Trim(s, "-0123456789") != "" || !json.Valid([]byte(s)) {
		return ""
	}
	digits, _ := strictjson.Text(json.Number(s))
	return digits
}

// notInName lists the characters that a name may have only within quotes.
const notInName = `.[]{}|"/\=& `

// name reads the name of a member, bare or in double quotes (with \" and \\).
func (p *pathParser) name() (string, error) {
	if p.take(`"`) {
		return p.quoted()
	}
	name := p.rest[:indexOrEnd(p.rest, notInName)]
	if name == "" || strings.ContainsFunc(name, unicode.IsControl) {
		return "", p.unexpected()
	}
	p.rest = p.rest[len(name):]
	return name, nil
}

func (p *pathParser) quoted() (string, error) {
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"' && b.Len() > 0:
			p.rest = p.rest[i+1:]
			return b.String(), nil
		case c == '"':
			return "", errors.New("has an empty name")
		case c == '\\' && i+1 < len(p.rest):
			i++
			b.WriteByte(p.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("has a quote that does not end")
}

func indexOrEnd(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}

// hasBraces reports whether the first alternative of s is a template.
func hasBraces(s string) bool {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			return true
		case c == '|':
			return false
		}
	}
	return false
}
