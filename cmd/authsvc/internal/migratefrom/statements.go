package migratefrom

import (
	"slices"
	"strings"
)

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
	before := c.tested
	for !p.done() {
		c.statement(p, result)
	}
	c.tested = before
}

func (c *callback) statement(p *parser, result string) {
	begin := p.node(otherNode)
	switch t := p.peek(); {
	case t.is(";"):
		p.at++
	case t.is("if"):
		p.at++
		c.condition(p, result)
	case t.is("{"):
		c.block(p, result)
	case t.is("return"):
		p.at++
		if p.peek().line != t.line || p.peek().is(";") || p.done() {
			return
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

// condition reads what follows "if". After a branch that returns, the rest of the block
// is under the opposite condition.
func (c *callback) condition(p *parser, result string) {
	if p.deep >= maxNesting || !p.opens() {
		p.skip()
		return
	}
	given, missing := c.test(p.inner())
	before, after := c.tested, c.tested
	branch := func(test []string, opposite []string) {
		look := *p
		if look.returns() {
			after = under(after, opposite)
		}
		c.tested = under(before, test)
		p.deep++
		c.statement(p, result)
		p.deep--
		p.accept(";")
		c.tested = before
	}
	branch(given, missing)
	if p.accept("else") {
		branch(missing, given)
	}
	c.tested = after
}

// test returns the values that a condition tests for being there: user, or
// session.user && token.role. The first list holds where the condition is true, the
// second where it is false; "" stands for what is not understood.
func (c *callback) test(s span) (given, missing []string) {
	p := newParser(&module{}, s, 0)
	var there, lacking []string
	for !p.done() {
		negated := p.accept("!")
		n := p.postfix(p.primary())
		root := c.rooted(n)
		if root == "" || !p.done() && !p.accept("&&") && !p.accept("||") {
			return []string{""}, []string{""}
		}
		if negated {
			lacking = append(lacking, root)
		} else {
			there = append(there, root)
		}
	}
	switch {
	case len(lacking) == 0:
		return there, c.opposite(there)
	case len(there) == 0:
		return c.opposite(lacking), lacking
	}
	return []string{""}, []string{""}
}

// opposite returns what holds where values are not there: nothing that is understood,
// unless they always are.
func (c *callback) opposite(roots []string) []string {
	for _, root := range roots {
		if !always(root) {
			return []string{""}
		}
	}
	return nil
}

// under returns the tested values with further ones. Many are as good as one that is not
// understood.
func under(tested, further []string) []string {
	const most = 50
	for _, root := range further {
		switch {
		case always(root) || slices.Contains(tested, root):
		case len(tested) == most:
			return []string{""}
		default:
			tested = append(slices.Clip(tested), root)
		}
	}
	return tested
}

// always reports whether a value is there for all people, at least when someone signs in.
func always(root string) bool {
	return slices.Contains([]string{"session", "token", "user", "account", "profile", "session.user", "token.sub", "user.id", "session.user.id"}, root)
}

// assign passes an assignment on. GET session would show a value to all people, also one
// that the application sets under a condition; only a test for the value itself makes
// no difference.
func (c *callback) assign(target []string, value node) {
	root := c.rooted(c.inside(value))
	if c.part == jwtCallback && strings.HasPrefix(root, "session.") {
		c.add(Open, c.part, value, "%s is a value of update(data), which authsvc does not take: store it in your own table, then call update({})", strings.Join(target, "."))
		return
	}
	for _, tested := range c.tested {
		if tested == "" || root != tested && !strings.HasPrefix(root, tested+".") {
			c.add(Open, c.part, value, "%s is there only under a condition, and session.expose has none: decide who may see it", strings.Join(target, "."))
			return
		}
	}
	c.set(target, value)
}

// inside returns the value in String(value) and value ?? "".
func (c *callback) inside(value node) node {
	value = c.plain(value)
	if value.kind == callNode && len(value.items) == 1 && value.of.isName("String") {
		return value.items[0]
	}
	return value
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
	if !name.is("{") {
		names = []string{"", name.text}
	}
	hide := func() {
		for i := 1; i < len(names); i += 2 {
			c.names[names[i]] = unknown
		}
	}
	if !p.accept("=") {
		hide()
		c.rest(p, begin.line)
		return
	}
	value := c.plain(p.expression())
	root := c.rooted(value)
	if root == "" && c.ownRow(value) {
		root = "user"
		if c.jwt {
			c.add(Note, c.part, begin, "the row of the user is read in each call: authsvc reads its columns at the sign-in and once in session.update_age (docs/moving-from-nextauth.md)")
		}
	}
	switch {
	case root == "":
		hide()
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
	if target.kind == nameNode && len(target.path) == 1 { // it is not the parameter any more
		c.names[target.path[0]] = unknown
	}
	root := c.rooted(target)
	if root == "" {
		return false
	}
	value := q.expression()
	p.at = q.at
	c.assign(strings.Split(root, "."), value)
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
		c.branches(value, func(item node) { c.returned(item, result) })
	default:
		c.add(Open, c.part, value, "not understood: the value that it returns")
	}
}

// members reads an object as assignments to the members of target.
func (c *callback) members(target []string, object node) {
	c.complete(target, object)
	c.some(target, object)
}

// complete reports an object that leaves out what GET session always has.
func (c *callback) complete(target []string, object node) {
	needed := map[string][]string{"session": {"user"}, "session.user": {"name", "email", "image"}, "token": {"name", "email", "picture"}}[strings.Join(target, ".")]
	var without []string
	for _, name := range needed {
		if _, ok := object.get(name); !ok {
			without = append(without, name)
		}
	}
	for _, m := range object.members {
		if m.spread && c.isPart(c.plain(m.value), target) {
			return
		}
	}
	if len(without) > 0 {
		c.add(Open, c.part, object, "%s is replaced without %s, and GET session always has that", strings.Join(target, "."), listed(without))
	}
}

// branches calls read for the branches of c ? a : b and c && a.
func (c *callback) branches(value node, read func(item node)) {
	before := c.tested
	defer func() { c.tested = before }()
	given, missing := []string{""}, []string{""}
	if root := c.rooted(*value.of); root != "" {
		given, missing = []string{root}, c.opposite([]string{root})
	}
	for i, item := range value.items {
		c.tested = under(before, [][]string{given, missing}[i])
		read(item)
	}
}

// some reads members that are added to target.
func (c *callback) some(target []string, object node) {
	for _, m := range object.members {
		to := append(append([]string{}, target...), m.key)
		switch value := c.plain(m.value); {
		case m.spread && c.isPart(value, target):
		case m.spread && value.kind == conditionalNode:
			c.perhaps(target, value)
		case m.spread || m.key == "":
			c.add(Open, c.part, m.value, "not understood: a spread or computed member of %s", strings.Join(target, "."))
		case len(to) == 2 && to[1] == "user" && value.kind == objectNode:
			c.members(to, value)
		case len(to) == 2 && to[0] == "session" && to[1] == "expires":
		default:
			c.assign(to, m.value)
		}
	}
}

// perhaps reads ...(c && {a: b}).
func (c *callback) perhaps(target []string, value node) {
	c.branches(value, func(item node) {
		switch {
		case item.kind == objectNode:
			c.some(target, item)
		case item.kind == conditionalNode:
			c.perhaps(target, item)
		case !c.isDefault(item):
			c.add(Open, c.part, item, "not understood: a spread or computed member of %s", strings.Join(target, "."))
		}
	})
}

// isPart reports whether a spread copies what is there already: ...session,
// ...session.user.
func (c *callback) isPart(value node, target []string) bool {
	return c.rooted(value) == strings.Join(target, ".")
}
