package migratefrom

import "strings"

// A nodeKind is the kind of an expression.
type nodeKind byte

const (
	otherNode    nodeKind = iota // an expression that this package does not read
	textNode                     // a string
	templateNode                 // a template with expressions
	numberNode
	nameNode        // a name or a path of names: process.env.X
	objectNode      // { … }
	listNode        // [ … ]
	callNode        // callee(…), also new callee(…)
	memberNode      // of.name, of an expression that is not a path
	functionNode    // a function of any form
	fallbackNode    // a ?? b, a || b
	conditionalNode // c ? a : b, c && b
)

// A node is an expression. It keeps its source, since a name has a meaning only there.
type node struct {
	kind nodeKind
	in   *module
	line int
	text string   // text, number; member: the name
	path []string // name
	// parts are the texts around the expressions of a template.
	parts []string
	// items are the entries of a list, the arguments of a call, the expressions of a
	// template, and the alternatives of a fallback and a conditional.
	items   []node
	members []member // object
	// of is the callee of a call, the object of a member, the condition of a
	// conditional.
	of *node
	// params and body are the tokens of a function. If value is set, it is the body, and
	// the function only returns it.
	params, body span
	value        *node
	// spread means that the node stands after "...".
	spread bool
}

// A span is a range of the tokens of a source.
type span struct {
	tokens   []token
	from, to int
}

// A member is a member of an object.
type member struct {
	key    string // "" for a spread, and for a computed key
	line   int
	value  node
	spread bool
}

// get returns the value of a member. The last one of a name counts.
func (n node) get(key string) (node, bool) {
	for i := len(n.members) - 1; i >= 0; i-- {
		if m := n.members[i]; m.key == key && !m.spread {
			return m.value, true
		}
	}
	return node{}, false
}

// name returns the path with dots between its parts.
func (n node) name() string { return strings.Join(n.path, ".") }

// isName reports whether the node is this path.
func (n node) isName(path ...string) bool {
	return n.kind == nameNode && n.name() == strings.Join(path, ".")
}

// chain splits a().b().c() into the call a() and the names of the methods called on it.
func (n node) chain() (base node, methods []string) {
	for n.kind == callNode && n.of.kind == memberNode {
		methods = append(methods, n.of.text)
		n = *n.of.of
	}
	return n, methods
}
