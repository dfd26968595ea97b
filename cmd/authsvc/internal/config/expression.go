package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"authsvc"
)

// Rules holds the CEL expressions of the configuration. The zero Expression means that
// there is none.
type Rules struct {
	SignIn, Claims, Redirect Expression
	When                     []*When // of audiences and of the gate
}

// A When is an expression about a signed-in user. The condition in Engine calls Holds.
// The code that compiles the expressions must set Holds.
type When struct {
	Key string
	Expression
	Holds func(authsvc.AccessRequest) (bool, error)
}

var errNotCompiled = errors.New("the expression was not compiled")

// whenVar accepts an expression for a field of Engine, and sets that field.
func (s *Settings) whenVar(p *func(context.Context, authsvc.AccessRequest) (bool, error)) setter {
	w := &When{Holds: func(authsvc.AccessRequest) (bool, error) { return false, errNotCompiled }}
	t := expressionVar(&w.Expression)
	set := t.set
	t.set = func(v value) string {
		*p = func(_ context.Context, r authsvc.AccessRequest) (bool, error) { return w.Holds(r) }
		problem := set(v)
		if w.Key = v.key; problem == "" {
			s.Rules.When = append(s.Rules.When, w)
		}
		return problem
	}
	return t
}

// An Expression is a text in CEL.
type Expression struct {
	Text string

	node     *yaml.Node // the node in the file; nil: not in the file
	expanded bool       // contains values of variables, which must not be quoted
}

// expressionVar accepts a text in CEL. It does not compile it.
func expressionVar(p *Expression) setter {
	return setter{kind: "CEL", fix: `write an expression in CEL, such as 'user.email_verified'`, set: func(v value) string {
		if v.shape != scalar {
			return v.shape.notText()
		}
		if strings.TrimSpace(v.text) == "" {
			return "is empty"
		}
		*p = Expression{Text: v.text, node: v.node, expanded: v.text != v.raw}
		return ""
	}}
}

// ExpressionMistake returns a mistake at a line and column of an expression. Both count
// from 1, columns in characters; line 0 means the expression itself. The mistake shows
// the line.
func (s *Settings) ExpressionMistake(key string, e Expression, line, column int, problem, fix string) Mistake {
	m := s.Mistake(key, problem, fix)
	text, ok := nth(strings.Split(e.Text, "\n"), line)
	if !ok {
		return m
	}
	if at, ok := s.find(e, text, line, column); ok {
		m.Place = at
	} else {
		m.Problem += fmt.Sprintf(" (line %d, column %d of the expression)", line, column)
	}
	if !e.expanded {
		m.Excerpt = excerpt(text, column)
	}
	return m
}

// find returns the place in the file of a column in a line of an expression. The place
// is known only if the file contains the line literally.
func (s *Settings) find(e Expression, text string, line, column int) (place string, ok bool) {
	if e.node == nil || e.expanded {
		return "", false
	}
	at, from := e.node.Line, e.node.Column-1
	switch {
	case e.node.Style&yaml.LiteralStyle != 0: // its lines follow the line with the bar
		at, from = at+line, 0
	case e.node.Style&yaml.FoldedStyle != 0 || line > 1:
		return "", false
	}
	source, ok := nth(s.lines, at)
	if !ok {
		return "", false
	}
	runes := []rune(source)
	before, _, ok := strings.Cut(string(runes[min(from, len(runes)):]), text)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%s:%d:%d", s.file, at, from+utf8.RuneCountInString(before)+column), true
}

// nth returns line n. Lines count from 1.
func nth(lines []string, n int) (string, bool) {
	if n < 1 || n > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[n-1], "\r"), true
}

// excerpt shows the text with a caret below a column. It cuts long lines around the
// column.
func excerpt(text string, column int) string {
	const before, after = 60, 40
	runes := []rune(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\t", " "))
	column = min(max(column-1, 0), len(runes))
	from := max(0, column-before)
	to := min(len(runes), column+after)
	return "    " + string(runes[from:to]) + "\n    " + strings.Repeat(" ", column-from) + "^"
}
