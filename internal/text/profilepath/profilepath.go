// Package profilepath reads values from a provider's description of a person, by paths
// such as user.emails[primary=true].email.
package profilepath

import (
	"strings"

	"authsvc/internal/text/strictjson"
)

// Paths holds compiled alternatives: templates and paths.
type Paths []pathText

// A pathText is a template, text with paths in it, or a lone path without text.
type pathText struct {
	parts []part
	whole bool // empty unless all paths have a value
}

// A part is text, or a list of paths of which the first with a value counts.
type part struct {
	text  string
	paths []path
}

// A path leads from the profile or the token response to a value.
type path struct {
	token bool
	steps []step
}

// A step leads from a value to a value in it: a member, a list element, or the first
// object of a list that meets all conditions.
type step struct {
	name   string
	index  int // -1: none
	filter []condition
}

type condition struct {
	name  string
	value any    // true, false, or a string
	digit string // a number as a plain decimal
}

// Roots holds the values that paths start from: the profile and the token response.
// Either may be nil.
type Roots struct{ Profile, Token map[string]any }

// Whole makes a template count only if all paths in it have a value.
func (f Paths) Whole() {
	for i := range f {
		f[i].whole = true
	}
}

// Text returns the first alternative that is not empty: a string, or a number as an
// exact decimal.
func (f Paths) Text(from Roots) string {
	for _, t := range f {
		if s := t.text(from); s != "" {
			return s
		}
	}
	return ""
}

// Value returns the first alternative that exists, or nil. Templates count as text.
func (f Paths) Value(from Roots) any {
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

func (t pathText) text(from Roots) string {
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

func (p part) value(from Roots) string {
	for _, one := range p.paths {
		if s, _ := strictjson.Text(one.value(from)); s != "" {
			return s
		}
	}
	return ""
}

// value returns the value at the end of the path, or nil.
func (p path) value(from Roots) any {
	var v any = from.Profile
	if p.token {
		v = from.Token
	}
	for _, s := range p.steps {
		v = s.value(v)
	}
	return v
}

func (s step) value(v any) any {
	switch v := v.(type) {
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
	digits, ok := strictjson.Text(v)
	return ok && !text && digits == c.digit
}
