package migratefrom

import (
	"slices"
	"strconv"
	"strings"
)

// A parser reads expressions from a span of tokens. It reads object literals, lists,
// calls, names and functions; all else becomes an otherNode, whose end it finds by the
// brackets.
type parser struct {
	span
	in   *module
	at   int
	deep int
}

func newParser(in *module, s span, deep int) *parser {
	return &parser{span: s, in: in, at: s.from, deep: deep}
}

func (p *parser) done() bool { return p.at >= p.to }

func (p *parser) peek() token { return p.ahead(0) }

func (p *parser) ahead(n int) token {
	if p.at+n < p.to {
		return p.tokens[p.at+n]
	}
	return token{}
}

// accept skips a token if it is next.
func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.at++
		return true
	}
	return false
}

// inner returns the span inside the brackets at the next token, and skips it.
func (p *parser) inner() span {
	end := min(p.peek().match, p.to)
	s := span{p.tokens, p.at + 1, end}
	p.at = min(end+1, p.to)
	return s
}

func (p *parser) node(kind nodeKind) node { return node{kind: kind, in: p.in, line: p.peek().line} }

// skip skips tokens, and brackets with their contents, to one of the ends.
func (p *parser) skip(ends ...string) {
	for !p.done() && !slices.ContainsFunc(ends, p.peek().is) {
		p.step()
	}
}

// step skips a token or, if it opens a bracket, all up to the other bracket.
func (p *parser) step() {
	if p.in.steps++; p.in.exhausted() {
		p.at = p.to
		return
	}
	if p.opens() {
		p.inner()
	} else {
		p.at++
	}
}

// exhausted reports whether the expressions of a module were read so often that it may
// be a source in which the end of each is far away. It bounds the work.
func (m *module) exhausted() bool { return m.steps > maxModuleSteps }

const maxModuleSteps = 5_000_000

func (p *parser) opens() bool {
	t := p.peek()
	return t.kind == lexPunct && (t.text == "(" || t.text == "[" || t.text == "{")
}

// ends lists what ends an expression within brackets or statements.
var ends = []string{",", ";", ")", "]", "}", ":"}

// expression reads an expression. It ends before a comma.
func (p *parser) expression() node {
	if p.deep++; p.deep > maxNesting {
		n := p.node(otherNode)
		p.skip(ends...)
		return n
	}
	defer func() { p.deep-- }()
	n := p.unary()
	for !p.done() {
		t := p.peek()
		switch {
		case t.is("as"), t.is("satisfies"):
			p.at++
			p.skipType()
		case t.is("??"), t.is("||"):
			p.at++
			n = node{kind: fallbackNode, in: p.in, line: n.line, items: []node{n, p.expression()}}
		case t.is("&&"):
			p.at++
			condition := n
			n = node{kind: conditionalNode, in: p.in, line: n.line, of: &condition, items: []node{p.expression()}}
		case t.is("?"):
			p.at++
			condition, yes := n, p.expression()
			n = node{kind: conditionalNode, in: p.in, line: n.line, of: &condition, items: []node{yes}}
			if p.accept(":") {
				n.items = append(n.items, p.expression())
			}
		case isBinary(t):
			p.at++
			n = operation(n, t.text, p.expression())
		default:
			return n
		}
	}
	return n
}

// operation returns the product of two numbers, as in 30 * 24 * 60 * 60. Other
// operations are not read.
func operation(a node, operator string, b node) node {
	x, errX := strconv.ParseInt(a.text, 10, 32)
	y, errY := strconv.ParseInt(b.text, 10, 32)
	if operator == "*" && a.kind == numberNode && b.kind == numberNode && errX == nil && errY == nil && min(x, y) >= 0 {
		a.text = strconv.FormatInt(x*y, 10)
		return a
	}
	return node{kind: otherNode, in: a.in, line: a.line}
}

// isBinary reports whether a token is an operator between values.
func isBinary(t token) bool {
	if t.kind == lexWord {
		return t.text == "in" || t.text == "instanceof"
	}
	return t.kind == lexPunct && strings.Contains(" === !== == != <= >= += -= ??= ||= &&= < > + - * / % & | ^ ** = ", " "+t.text+" ")
}

// unary reads an expression without operators between values.
func (p *parser) unary() node {
	n := p.node(otherNode)
	switch t := p.peek(); {
	case t.is("await"), t.is("new"):
		p.at++
		return p.nested(p.unary)
	case t.is("..."):
		p.at++
		n = p.nested(p.expression)
		n.spread = true
		return n
	case t.is("!"), t.is("-"), t.is("+"), t.is("typeof"), t.is("void"), t.is("delete"), t.is("yield"), t.is("++"), t.is("--"):
		p.at++
		p.nested(p.unary)
		return n
	}
	return p.postfix(p.primary())
}

// nested calls read one level deeper.
func (p *parser) nested(read func() node) node {
	if p.deep++; p.deep > maxNesting {
		n := p.node(otherNode)
		p.skip(ends...)
		p.deep--
		return n
	}
	defer func() { p.deep-- }()
	return read()
}

// primary reads an operand without what follows it.
func (p *parser) primary() node {
	n := p.node(otherNode)
	t := p.peek()
	switch t.kind {
	case lexText, lexNumber:
		p.at++
		n.kind, n.text = textNode, t.text
		if t.kind == lexNumber {
			n.kind = numberNode
		}
		return n
	case lexTemplate:
		p.at++
		n.kind, n.parts = templateNode, t.parts
		for _, tokens := range t.inner {
			n.items = append(n.items, newParser(p.in, span{tokens, 0, len(tokens)}, p.deep).expression())
		}
		return n
	case lexWord:
		return p.word()
	case lexPunct:
		return p.punct()
	}
	p.at++ // a regular expression
	return n
}

// word reads an operand that begins with a word.
func (p *parser) word() node {
	n := p.node(nameNode)
	switch t := p.peek(); {
	case p.ahead(1).is("=>"):
		return p.function(span{p.tokens, p.at, p.at + 1}, 1)
	case t.is("async") && (p.ahead(1).is("(") || p.ahead(1).is("function") || p.ahead(2).is("=>")):
		p.at++
		return p.primary()
	case t.is("function"):
		p.skip("(", "{")
		return p.function(p.inner(), 0)
	case t.is("class"):
		p.skip("{")
		p.step()
		n.kind = otherNode
		return n
	}
	n.path = []string{p.peek().text}
	p.at++
	return n
}

// punct reads an operand that begins with a bracket.
func (p *parser) punct() node {
	n := p.node(otherNode)
	switch t := p.peek(); {
	case t.is("("):
		if behind := p.tokenAt(t.match + 1); behind.is("=>") {
			return p.function(p.inner(), 0)
		} else if behind.is(":") && p.arrowAfterType(t.match+1) {
			return p.function(p.inner(), 0)
		}
		return newParser(p.in, p.inner(), p.deep).expression()
	case t.is("{"):
		return p.object()
	case t.is("["):
		n.kind, n.items = listNode, p.list(p.inner())
		return n
	case t.is("<"): // JSX, or a type in the old notation
		p.skip(ends...)
		return n
	}
	if !slices.ContainsFunc(ends, p.peek().is) {
		p.at++
	}
	return n
}

func (p *parser) tokenAt(i int) token {
	if i < p.to {
		return p.tokens[i]
	}
	return token{}
}

// arrowAfterType reports whether a result type and an arrow begin at a colon.
func (p *parser) arrowAfterType(colon int) bool {
	q := *p
	q.at = colon + 1
	q.skipType()
	return q.peek().is("=>")
}

// function reads the rest of a function, whose parameters have been read. ahead is the
// number of tokens of the parameters that are still to be skipped.
func (p *parser) function(params span, ahead int) node {
	n := p.node(functionNode)
	n.params = params
	p.at += ahead
	if p.accept(":") {
		p.skipType()
	}
	arrow := p.accept("=>")
	if p.peek().is("{") {
		n.body = p.inner()
	} else if arrow {
		n.body = span{p.tokens, p.at, p.at}
		value := p.expression()
		n.value, n.body.to = &value, p.at
	}
	return n
}

// skipType skips a type annotation.
func (p *parser) skipType() {
	angle, line := 0, p.peek().line
	for first := true; !p.done(); first = false {
		t := p.peek()
		switch {
		case angle == 0 && (slices.ContainsFunc(ends, t.is) || t.is("=") || t.is("=>") || t.is("??") || t.is("||")):
			return
		case !first && angle == 0 && t.line != line && !t.is("|") && !t.is("&") && !p.continues():
			return
		case !first && angle == 0 && t.is("{") && !p.continues(): // the body of a function
			return
		case t.is("<"):
			angle++
		case t.is(">"):
			angle = max(0, angle-1)
		}
		line = t.line
		if p.opens() {
			line = p.tokens[min(t.match, len(p.tokens)-1)].line
		}
		p.step()
	}
}

// continues reports whether the type must continue after the token before the next one.
func (p *parser) continues() bool {
	before := p.tokens[p.at-1]
	return before.kind == lexPunct && strings.Contains("|&<,.:", before.text) || before.is("extends") || before.is("keyof") || before.is("typeof")
}

// postfix reads members, calls and other suffixes of an operand.
func (p *parser) postfix(n node) node {
	for !p.done() {
		t := p.peek()
		switch {
		case (t.is(".") || t.is("?.")) && p.ahead(1).kind == lexWord:
			n = n.member(p.ahead(1).text)
			p.at += 2
		case t.is("?."):
			p.at++
		case t.is("("):
			n = p.call(n)
		case t.is("["):
			inside := p.inner()
			if inside.to == inside.from+1 && inside.tokens[inside.from].kind == lexText {
				n = n.member(inside.tokens[inside.from].text)
			} else {
				n = node{kind: otherNode, in: p.in, line: n.line}
			}
		case t.is("<") && p.typeArguments():
		case t.is("!") && !p.ahead(1).is("=") && p.tokens[p.at-1].line == t.line:
			p.at++
		case t.kind == lexTemplate || t.kind == lexText && n.kind == nameNode && p.tokens[p.at-1].line == t.line: // a tagged template
			p.at++
			n = node{kind: otherNode, in: p.in, line: n.line}
		default:
			return n
		}
	}
	return n
}

// member returns the member of a value.
func (n node) member(name string) node {
	if n.kind == nameNode {
		n.path = append(slices.Clone(n.path), name)
		return n
	}
	of := n
	return node{kind: memberNode, in: n.in, line: n.line, text: name, of: &of}
}

func (p *parser) call(callee node) node {
	return node{kind: callNode, in: p.in, line: callee.line, of: &callee, items: p.list(p.inner())}
}

// maxTypeArguments is how many tokens type arguments may have. It keeps the parser
// linear.
const maxTypeArguments = 200

// typeArguments skips <…> before a call, and reports whether there was one.
func (p *parser) typeArguments() bool {
	q := *p
	q.to = min(q.to, q.at+maxTypeArguments)
	angle := 0
	for ; !q.done(); q.step() {
		t := q.peek()
		switch {
		case t.is("<"):
			angle++
		case t.is(">"):
			if angle--; angle == 0 {
				q.at++
				found := p.tokenAt(q.at).is("(") || p.tokenAt(q.at).kind == lexTemplate
				if found {
					p.at = q.at
				}
				return found
			}
		case t.is(";"), t.is(")"), t.is("}"), t.is("]"), t.is("=>") && angle == 0, t.is("&&"), t.is("||"):
			return false
		}
	}
	return false
}

// list reads expressions that commas separate.
func (p *parser) list(s span) (items []node) {
	q := newParser(p.in, s, p.deep)
	for !q.done() {
		if q.accept(",") {
			continue
		}
		items = append(items, q.entry())
	}
	return items
}

// entry reads an expression up to a comma. If more than an expression stands there, it
// is not understood.
func (p *parser) entry() node {
	n := p.expression()
	if !p.done() && !p.peek().is(",") {
		line := n.line
		p.skip(",")
		n = node{kind: otherNode, in: p.in, line: line}
	}
	return n
}
