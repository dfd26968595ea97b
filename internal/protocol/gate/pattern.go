package gate

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A pattern is a net/http.ServeMux pattern without a host: an optional method, and
// segments that are literals or wildcards.
type pattern struct {
	text     string
	method   string // "": every method
	segments []segment
}

// A segment matches one segment of a path, or with multi the rest of it.
type segment struct {
	literal string // unescaped
	folded  string // in lower case
	any     bool   // {name}
	multi   bool   // a final slash, or {name...}: the rest, which may be empty
	end     bool   // {$}: nothing follows the slash
}

// parsePattern reads "[METHOD ]/path".
func parsePattern(text string) (*pattern, error) {
	p := &pattern{text: text}
	path := text
	if method, rest, ok := strings.Cut(text, " "); ok {
		if p.method, path = method, strings.TrimLeft(rest, " \t"); !capitals(method) {
			return nil, errors.New("must have a method in capital letters before the space")
		}
	}
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("must begin with a method or /; each host has its own rules")
	}
	names := map[string]bool{}
	parts := strings.Split(path[1:], "/")
	for i, part := range parts {
		s, err := parseSegment(part, i == len(parts)-1, names)
		if err != nil {
			return nil, err
		}
		p.segments = append(p.segments, s)
	}
	return p, nil
}

func parseSegment(part string, last bool, names map[string]bool) (segment, error) {
	switch {
	case part == "" && last:
		return segment{multi: true}, nil
	case part == "", part == ".", part == "..":
		return segment{}, errors.New("has //, . or .., which a resolved path never contains")
	case part == "{$}" && last:
		return segment{end: true}, nil
	case !strings.ContainsAny(part, "{}"):
		literal, err := url.PathUnescape(part)
		if err != nil || strings.ContainsAny(part, "?#;\\ ") {
			return segment{}, fmt.Errorf("has %q, which a path never contains", part)
		}
		return segment{literal: literal, folded: lower(literal)}, nil
	}
	name, ok := strings.CutPrefix(part, "{")
	name, closed := strings.CutSuffix(name, "}")
	name, multi := strings.CutSuffix(name, "...")
	if !ok || !closed || !identifier(name) || multi && !last {
		return segment{}, fmt.Errorf("has %q, but a wildcard is {name}, or {name...} or {$} at the end", part)
	}
	if names[name] {
		return segment{}, fmt.Errorf("names {%s} twice", name)
	}
	names[name] = true
	return segment{any: !multi, multi: multi}, nil
}

func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// matches reports whether the pattern matches a method and a path. path holds the
// unescaped segments after the first slash.
func (p *pattern) matches(method string, path []string, fold bool) bool {
	if p.method != "" && p.method != method && (p.method != "GET" || method != "HEAD") {
		return false
	}
	for i, s := range p.segments {
		switch {
		case i >= len(path):
			return false
		case s.multi:
			return true
		case s.end:
			return path[i] == "" && i == len(path)-1
		case s.any && path[i] != "", s.literal != "" && (path[i] == s.literal || fold && path[i] == s.folded):
			continue
		default:
			return false
		}
	}
	return len(path) == len(p.segments)
}

// A relation compares the sets of requests that two patterns match.
type relation int

const (
	disjoint relation = iota
	equal
	within   // a proper subset of the other
	contains // a proper superset of the other
	overlap  // each has elements that the other lacks, and some are common
)

// join combines the relations of two parts.
func (r relation) join(o relation) relation {
	switch {
	case r == disjoint || o == disjoint:
		return disjoint
	case r == equal:
		return o
	case o == equal || r == o:
		return r
	}
	return overlap
}

// compare returns the relation of p to q. With fold, it ignores the case of letters.
func (p *pattern) compare(q *pattern, fold bool) relation {
	return compareMethods(p.method, q.method).join(compareSegments(p.segments, q.segments, fold))
}

func compareMethods(p, q string) relation {
	switch {
	case p == q:
		return equal
	case p == "" || p == "GET" && q == "HEAD":
		return contains
	case q == "" || q == "GET" && p == "HEAD":
		return within
	}
	return disjoint
}

func compareSegments(p, q []segment, fold bool) relation {
	r := equal
	for i := 0; ; i++ {
		switch {
		case i == len(p) && i == len(q):
			return r
		case i == len(p) || i == len(q): // the rest of the other is not empty
			return disjoint
		case p[i].multi && q[i].multi:
			return r
		case p[i].multi:
			return r.join(contains)
		case q[i].multi:
			return r.join(within)
		}
		if r = r.join(compareSegment(p[i], q[i], fold)); r == disjoint {
			return r
		}
	}
}

func compareSegment(p, q segment, fold bool) relation {
	switch {
	case p.end != q.end: // one has an empty segment, the other never has
		return disjoint
	case p.end, p.any && q.any:
		return equal
	case p.any:
		return contains
	case q.any:
		return within
	case p.literal == q.literal, fold && p.folded == q.folded:
		return equal
	}
	return disjoint
}

// lower returns s with ASCII letters in lower case.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// clashes reports whether p and q match a common request and neither is more specific.
func (p *pattern) clashes(q *pattern) bool {
	for _, fold := range []bool{false, true} {
		if r := p.compare(q, fold); r == equal || r == overlap {
			return true
		}
	}
	return false
}

// rank returns a number that is higher for the more specific of two patterns that match
// a common request. Segments count first, then the method.
func (p *pattern) rank() int {
	n := 0
	for _, s := range p.segments {
		switch {
		case s.multi:
		case s.any:
			n += 8
		default:
			n += 16
		}
	}
	switch p.method {
	case "":
	case "HEAD":
		n += 2
	default:
		n++
	}
	return n
}
