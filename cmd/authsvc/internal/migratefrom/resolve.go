package migratefrom

import "strings"

// maxSteps is how many names are followed to find a value.
const maxSteps = 30

// maxFollowed is how many names are followed in all. It bounds the work if values refer
// to themselves, as in const a = {...a, ...a}.
const maxFollowed = 20_000

// maxWork is how many members and entries are read in all.
const maxWork = 200_000

// works counts work, and reports whether there may be more of it.
func (s *sources) works(n int) bool {
	if s.work += n; s.work > maxWork {
		s.followed = maxFollowed + 1
	}
	return s.followed <= maxFollowed
}

// resolve follows names to the value that they stand for. If a name leads out of the
// folder or to something unknown, the name is the result.
func (s *sources) resolve(n node) node { return s.follow(n, maxSteps) }

func (s *sources) follow(n node, steps int) node {
	if n.kind != nameNode || steps == 0 || n.in == nil {
		return n
	}
	if s.followed++; s.followed > maxFollowed {
		return n
	}
	first, rest := n.path[0], n.path[1:]
	value, ok := s.local(n, steps-1)
	if !ok {
		b, imported := n.in.imports[first]
		if !imported {
			return n
		}
		if b.name == "*" && len(rest) > 0 {
			b.name, rest = rest[0], rest[1:]
		}
		if value, ok = s.exported(s.find(b.from, n.in.file), b.name, steps-1); !ok {
			return n
		}
	}
	for _, name := range rest {
		value = s.follow(value, steps-1)
		of, found := value.get(name)
		if value.kind != objectNode || !found {
			return n
		}
		value = of
	}
	return s.follow(value, steps-1)
}

// local returns the value of a name that its module declares.
func (s *sources) local(n node, steps int) (node, bool) {
	at, ok := n.in.visible(n.path[0], n.line)
	if !ok || steps <= 0 {
		return node{}, false
	}
	return n.in.parse(at), true
}

// exported returns the value that a file exports under a name.
func (s *sources) exported(file, name string, steps int) (node, bool) {
	if s.followed++; file == "" || steps <= 0 || s.followed > maxFollowed { // each export * is one, too
		return node{}, false
	}
	m := s.module(file)
	b, ok := m.exports[name]
	switch {
	case !ok:
		for _, star := range m.stars {
			if value, found := s.exported(s.find(star, file), name, steps-1); found {
				return value, true
			}
		}
		return node{}, false
	case b.from != "":
		return s.exported(s.find(b.from, file), b.name, steps-1)
	case b.name != "":
		value := node{kind: nameNode, in: m, path: []string{b.name}}
		followed := s.follow(value, steps-1)
		return followed, followed.kind != nameNode || followed.name() != b.name || followed.in != m
	}
	return m.parse(b.at), true
}

// origin returns the package and the exported name that a name was imported by, such as
// next-auth/providers/github and default. A name of a file of the application leads to
// where that file got it.
func (s *sources) origin(n node) (from, name string) {
	for range maxSteps {
		if n.kind != nameNode || n.in == nil {
			return "", ""
		}
		b, imported := n.in.imports[n.path[0]]
		if !imported {
			return "", ""
		}
		name := b.name
		if len(n.path) > 1 && (name == "*" || n.path[1] == "default") {
			name = n.path[1]
		}
		file := s.find(b.from, n.in.file)
		if file == "" {
			return b.from, name
		}
		m := s.module(file)
		e, ok := m.exports[name]
		if !ok || e.from == "" && e.name == "" {
			return "", ""
		}
		if e.from != "" {
			m = &module{file: file, imports: map[string]binding{e.name: {from: e.from, name: e.name}}}
		}
		n = node{kind: nameNode, in: m, path: []string{e.name}}
	}
	return "", ""
}

// variable returns the environment variable that a value is read from: process.env.X,
// env.X, import.meta.env.X, or X from "$env/static/private". Alternatives after ?? and
// || are ignored, because they are for development.
func (s *sources) variable(n node) string {
	for range maxSteps {
		switch n.kind {
		case fallbackNode:
			n = n.items[0]
			continue
		case callNode: // String(x), x.trim(), assertDefined(x)
			if len(n.items) == 0 && n.of.kind == memberNode {
				n = *n.of.of
				continue
			}
			if len(n.items) == 0 && len(n.of.path) > 1 {
				n = node{kind: nameNode, in: n.in, line: n.line, path: n.of.path[:len(n.of.path)-1]}
				continue
			}
			if len(n.items) == 1 && n.of.isName("String") {
				n = n.items[0]
				continue
			}
			return ""
		case nameNode:
		default:
			return ""
		}
		if name := s.environment(n); name != "" {
			return name
		}
		next := s.resolve(n)
		if next.kind == nameNode {
			return s.environment(next) // const secret = process.env.X
		}
		n = next
	}
	return ""
}

// environment returns the variable that a path names.
func (s *sources) environment(n node) string {
	last := n.path[len(n.path)-1]
	if n.in == nil || !isVariable(last) {
		return ""
	}
	switch before := strings.Join(n.path[:len(n.path)-1], "."); before {
	case "":
		if b := n.in.imports[last]; strings.HasPrefix(b.from, "$env/") {
			return b.name
		}
		return ""
	case "process.env", "import.meta.env", "Deno.env", "Bun.env":
		return last
	default:
		// env.X, serverEnv.X: modules that check the environment keep its names.
		if strings.HasSuffix(strings.ToLower(before), "env") && strings.ToUpper(last) == last {
			return last
		}
	}
	return ""
}

// isVariable reports whether a text may be the name of an environment variable.
func isVariable(name string) bool {
	if name == "" || len(name) > 100 || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
