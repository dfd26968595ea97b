package migratefrom

import "strings"

// read reads the statements of a callback that returns result, a parameter.
func (c *callback) read(fn node, result string) {
	switch {
	case fn.kind != functionNode:
		c.add(Open, c.part, fn, "not understood: it is not a function that can be read here")
	case fn.value != nil:
		c.returned(*fn.value, result)
	default:
		c.statements(newParser(fn.in, fn.body, 0), result)
	}
}

// statements reads assignments to the parameters, and the blocks of conditions. It
// reports all other statements.
func (c *callback) statements(p *parser, result string) {
	for !p.done() {
		begin := p.node(otherNode)
		switch t := p.peek(); {
		case t.is(";"):
			p.at++
		case t.is("if"):
			p.at++
			p.step()
			if p.peek().is("{") {
				c.block(p, result)
			}
		case t.is("else"):
			p.at++
			if p.peek().is("{") {
				c.block(p, result)
			}
		case t.is("{"):
			c.block(p, result)
		case t.is("return"):
			p.at++
			if p.peek().line != t.line || p.peek().is(";") || p.done() {
				continue
			}
			c.returned(p.expression(), result)
		case t.is("const"), t.is("let"), t.is("var"):
			c.local(p)
		case t.is("console"): // it changes nothing
			c.rest(p, t.line)
		default:
			if !c.assignment(p) {
				c.add(Open, c.part, begin, "not understood: a statement that begins with %q", t.text)
				c.rest(p, begin.line)
			}
		}
	}
}

// block reads the statements in braces.
func (c *callback) block(p *parser, result string) {
	if p.deep >= maxNesting {
		p.step()
		return
	}
	c.statements(newParser(p.in, p.inner(), p.deep+1), result)
}

// rest skips the rest of a statement.
func (c *callback) rest(p *parser, line int) {
	for !p.done() && !p.peek().is(";") && p.peek().line == line {
		if p.opens() {
			line = p.tokens[min(p.peek().match, len(p.tokens)-1)].line
		}
		p.step()
	}
}

// local reads a declaration in a callback: const {role} = user.
func (c *callback) local(p *parser) {
	begin := p.node(otherNode)
	p.at++
	name := p.peek()
	var names []string
	if name.is("{") {
		named(p.inner(), func(of, local string) { names = append(names, of, local) })
	} else {
		p.at++
	}
	if p.accept(":") {
		p.skipType()
	}
	if !p.accept("=") {
		c.rest(p, begin.line)
		return
	}
	root := c.rooted(c.plain(p.expression()))
	switch {
	case root == "":
		c.add(Open, c.part, begin, "not understood: the declaration of %s", name.text)
	case name.is("{"):
		for i := 0; i+1 < len(names); i += 2 {
			c.names[names[i+1]] = root + "." + names[i]
		}
	default:
		c.names[name.text] = root
	}
}

// assignment reads target = value, and reports whether it is one to a parameter.
func (c *callback) assignment(p *parser) bool {
	q := *p
	target := q.postfix(q.primary())
	if !q.accept("=") && !q.accept("??=") && !q.accept("||=") {
		return false
	}
	root := c.rooted(target)
	if root == "" {
		return false
	}
	value := q.expression()
	p.at = q.at
	c.set(strings.Split(root, "."), value)
	return true
}

// returned reads the value of a return: a parameter, or an object that spreads it.
func (c *callback) returned(value node, result string) {
	value = c.plain(value)
	switch {
	case c.rooted(value) == result:
	case value.kind == objectNode:
		c.members([]string{result}, value)
	case value.kind == conditionalNode:
		for _, item := range value.items {
			c.returned(item, result)
		}
	default:
		c.add(Open, c.part, value, "not understood: the value that it returns")
	}
}

// members reads an object as assignments to the members of target.
func (c *callback) members(target []string, object node) {
	for _, m := range object.members {
		to := append(append([]string{}, target...), m.key)
		switch value := c.plain(m.value); {
		case m.spread && c.isPart(value, target):
		case m.spread && value.kind == conditionalNode:
			for _, item := range value.items {
				if item.kind == objectNode {
					c.members(target, item)
				}
			}
		case m.spread || m.key == "":
			c.add(Open, c.part, m.value, "not understood: a spread or computed member of %s", strings.Join(target, "."))
		case len(to) == 2 && to[1] == "user" && value.kind == objectNode:
			c.members(to, value)
		case len(to) == 2 && to[0] == "session" && to[1] == "expires":
		default:
			c.set(to, m.value)
		}
	}
}

// isPart reports whether a spread copies what is there already: ...session,
// ...session.user.
func (c *callback) isPart(value node, target []string) bool {
	return c.rooted(value) == strings.Join(target, ".")
}
