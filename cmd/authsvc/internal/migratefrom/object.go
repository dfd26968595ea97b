package migratefrom

// object reads an object literal.
func (p *parser) object() node {
	n := p.node(objectNode)
	q := newParser(p.in, p.inner(), p.deep)
	for !q.done() {
		if q.accept(",") {
			continue
		}
		n.members = append(n.members, q.objectMember())
		q.skip(",")
	}
	return n
}

// objectMember reads a member: key: value, key, key() { … } or ...value.
func (p *parser) objectMember() member {
	m := member{line: p.peek().line}
	if p.accept("...") {
		m.spread, m.value = true, p.entry()
		return m
	}
	for (p.peek().is("async") || p.peek().is("get") || p.peek().is("set") || p.peek().is("*")) && !p.endsKey(1) {
		p.at++
	}
	t := p.peek()
	switch {
	case t.is("["):
		p.inner()
	case t.kind == lexWord || t.kind == lexText || t.kind == lexNumber:
		m.key = t.text
		p.at++
	default:
		m.value = p.node(otherNode)
		p.skip(",")
		return m
	}
	switch {
	case p.peek().is("("):
		m.value = p.function(p.inner(), 0)
	case p.accept(":"):
		m.value = p.entry()
	case t.kind == lexWord: // shorthand
		m.value = node{kind: nameNode, in: p.in, line: t.line, path: []string{t.text}}
	}
	if m.value.in == nil {
		m.value = node{kind: otherNode, in: p.in, line: t.line}
	}
	return m
}

// endsKey reports whether the token n ahead ends a key.
func (p *parser) endsKey(n int) bool {
	t := p.ahead(n)
	return t.kind == 0 || t.is(":") || t.is(",") || t.is("(") || t.is("}")
}
