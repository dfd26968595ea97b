// Package profilepath reads values from a provider's description of a person, by paths
// such as user.emails[primary=true].email.
package profilepath

import (
	"maps"
	"slices"
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
	token   bool
	several bool // one of the steps leads to several values
	steps   []step
}

// A step leads from a value to a value in it: a member, a list element, or the first
// object of a list that meets all conditions. With a spread, it leads to several values.
type step struct {
	name   string // with parts: the separators
	index  int    // -1: none
	filter []condition
	spread spread
}

func (s *step) several() bool { return s.spread != 0 }

// A spread says to which values in a value a step leads.
type spread int

const (
	elements spread = iota + 1 // the elements of a list, or the values of an object
	keys                       // the names of an object's members
	parts                      // the parts of a text between separators
)

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

// Several reports whether an alternative leads to several values. Text is then empty.
func (f Paths) Several() bool {
	return slices.ContainsFunc(f, func(t pathText) bool {
		return len(t.parts) == 1 && slices.ContainsFunc(t.parts[0].paths, func(p path) bool { return p.several })
	})
}

// Value returns the first alternative that exists, or nil. Templates count as text. A
// path to several values returns them as a list: []any. An empty one counts only if no
// later alternative exists.
func (f Paths) Value(from Roots) any {
	var none any
	for _, t := range f {
		if len(t.parts) != 1 || len(t.parts[0].paths) != 1 {
			if s := t.text(from); s != "" {
				return s
			}
			continue
		}
		at := t.parts[0].paths[0]
		v := at.value(from)
		switch list, _ := v.([]any); {
		case v == nil:
		case !at.several || len(list) > 0:
			return v
		case none == nil:
			none = v
		}
	}
	return none
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
	if p.several {
		return p.values(v)
	}
	for _, s := range p.steps {
		v = s.value(v)
	}
	return v
}

// values returns the list of values to which a path leads. Values that are missing or
// null are left out, and lists at the end are joined. It returns nil if no value has the
// shape that the first spreading step needs. A list that is there but empty is empty.
func (p path) values(root any) any {
	at, spread := []any{root}, false
	for _, s := range p.steps {
		var next []any
		for _, v := range at {
			if !s.several() {
				next = append(next, s.value(v))
				continue
			}
			more, ok := s.values(v)
			next, spread = append(next, more...), spread || ok
		}
		at = slices.DeleteFunc(next, func(v any) bool { return v == nil })
	}
	if !spread {
		return nil
	}
	list := []any{}
	for _, v := range at {
		if inner, ok := v.([]any); ok {
			list = append(list, inner...)
		} else {
			list = append(list, v)
		}
	}
	return slices.DeleteFunc(list, func(v any) bool { return v == nil })
}

// values returns the values in v to which a spreading step leads. It reports false if v
// has another shape.
func (s *step) values(v any) (list []any, ok bool) {
	switch v := v.(type) {
	case []any:
		if s.spread == elements {
			return v, true
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch s.spread {
			case elements:
				list = append(list, v[name])
			case keys:
				list = append(list, name)
			}
		}
		return list, s.spread != parts
	case string:
		if s.spread != parts {
			return nil, false
		}
		for _, one := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(s.name, r) }) {
			if one = strings.TrimSpace(one); one != "" {
				list = append(list, one)
			}
		}
		return list, true
	}
	return nil, false
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
