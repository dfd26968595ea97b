package authsvc

import (
	"strings"

	"authsvc/internal/oidc"
)

// fieldPaths are the compiled alternatives of one of Fields.
type fieldPaths []pathText

// A pathText is text with paths in it. A lone path is one without text.
type pathText struct {
	parts []part
	whole bool // nothing unless all paths have a value
}

// A part is text, or paths of which the first with a value counts.
type part struct {
	text  string
	paths []path
}

// A path leads from the profile or the token answer to a value.
type path struct {
	token bool
	steps []step
}

// A step goes from a value to one in it: a member, a list element, or the
// first object of a list for which all conditions hold.
type step struct {
	name   string
	index  int // -1: none
	filter []condition
}

type condition struct {
	name  string
	value any    // true, false, or a string
	digit string // of a number, as a plain decimal
}

// roots are what paths start from.
type roots struct{ profile, token Profile }

// text is the first alternative that is not empty.
func (f fieldPaths) text(from roots) string {
	for _, t := range f {
		if s := t.text(from); s != "" {
			return s
		}
	}
	return ""
}

// value is the first alternative that is there; templates count as text.
func (f fieldPaths) value(from roots) any {
	for _, t := range f {
		if len(t.parts) != 1 || len(t.parts[0].paths) != 1 {
			if s := t.text(from); s != "" {
				return s
			}
		} else if v := t.parts[0].paths[0].value(from); v != nil {
			return v
		}
	}
	return nil
}

func (t pathText) text(from roots) string {
	if len(t.parts) == 1 {
		return t.parts[0].value(from)
	}
	var b strings.Builder
	filled := false
	for _, p := range t.parts {
		s := p.text
		if p.paths != nil {
			s = p.value(from)
			if s == "" && t.whole {
				return ""
			}
			filled = filled || s != ""
		}
		b.WriteString(s)
	}
	if !filled {
		return ""
	}
	if t.whole {
		return strings.TrimSpace(b.String())
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (p part) value(from roots) string {
	for _, one := range p.paths {
		if s, _ := oidc.Text(one.value(from)); s != "" {
			return s
		}
	}
	return ""
}

// value is what the path leads to; nil if that is nothing.
func (p path) value(from roots) any {
	var v any = from.profile
	if p.token {
		v = from.token
	}
	for _, s := range p.steps {
		v = s.value(v)
	}
	return v
}

func (s step) value(v any) any {
	switch v := v.(type) {
	case Profile:
		return s.member(v)
	case map[string]any:
		return s.member(v)
	case []any:
		if s.filter != nil {
			return s.find(v)
		}
		if s.index >= 0 && s.index < len(v) {
			return v[s.index]
		}
	}
	return nil
}

func (s step) member(object map[string]any) any {
	if s.name == "" {
		return nil
	}
	return object[s.name]
}

func (s step) find(list []any) any {
	for _, v := range list {
		object, _ := v.(map[string]any)
		if object != nil && s.holds(object) {
			return object
		}
	}
	return nil
}

func (s step) holds(object map[string]any) bool {
	for _, c := range s.filter {
		if !c.holds(object[c.name]) {
			return false
		}
	}
	return true
}

// holds compares without conversion: the text "1" is not the number 1.
func (c condition) holds(v any) bool {
	if c.digit == "" {
		return v == c.value
	}
	_, text := v.(string)
	digits, ok := oidc.Text(v)
	return ok && !text && digits == c.digit
}

// Text returns what a path, written as in Fields, leads to in the profile: a
// string, or a number as an exact decimal. It is "" for anything else.
func (p Profile) Text(path string) string {
	f, err := parseField(path)
	if err != nil {
		return ""
	}
	return f.text(roots{profile: p})
}
