package migratefrom

import (
	"path"
	"slices"
	"strings"
)

// A module is a parsed source file: what it imports, declares and exports.
type module struct {
	file   string
	tokens []token
	// imports and exports are by local and by exported name. decls holds where the values
	// of a name begin.
	imports map[string]binding
	exports map[string]binding
	stars   []string // modules whose exports it exports
	decls   map[string][]declaration
	parsed  map[int]node
	blocks  []int // the opening braces around the statement that is read
	steps   int   // of parsers
}

// A declaration is a name's value, and the lines on which the name has it.
type declaration struct{ at, from, to int }

// visible returns the declaration of a name for a line: that of the innermost block.
// Line 0 stands for the outermost.
func (m *module) visible(name string, line int) (at int, ok bool) {
	best := declaration{}
	for _, d := range m.decls[name] {
		if line == 0 && (!ok || d.from < best.from) || line != 0 && d.from <= line && line <= d.to && (!ok || d.from > best.from) {
			best, ok = d, true
		}
	}
	return best.at, ok
}

// parse returns the expression at a token.
func (m *module) parse(at int) node {
	n, known := m.parsed[at]
	if !known {
		n = newParser(m, span{m.tokens, at, len(m.tokens)}, 0).expression()
		m.parsed[at] = n
	}
	return n
}

// A binding leads to a name of another module or, if from is empty, to a local name or
// to the expression at a token.
type binding struct {
	from, name string
	at         int
}

// sources holds the modules of a folder by file.
type sources struct {
	*folder
	modules  map[string]*module
	aliases  []alias
	followed int // names that were followed
	work     int // members and entries that were read
}

// module returns a parsed file.
func (s *sources) module(file string) *module {
	if m := s.modules[file]; m != nil {
		return m
	}
	m := newModule(file, s.text(file))
	s.modules[file] = m
	return m
}

// newModule parses a source.
func newModule(file, text string) *module {
	m := &module{file: file, tokens: tokenize(text), imports: map[string]binding{}, exports: map[string]binding{}, decls: map[string][]declaration{}, parsed: map[int]node{}}
	for i := 0; i < len(m.tokens); {
		next := m.statement(i)
		for ; i < min(next, len(m.tokens)); i++ {
			for len(m.blocks) > 0 && m.tokens[m.blocks[len(m.blocks)-1]].match <= i {
				m.blocks = m.blocks[:len(m.blocks)-1]
			}
			if m.tokens[i].is("{") {
				m.blocks = append(m.blocks, i)
			}
		}
		i = next
	}
	return m
}

func (m *module) token(i int) token {
	if i >= 0 && i < len(m.tokens) {
		return m.tokens[i]
	}
	return token{}
}

// statement reads the token at i if it begins an import, an export or a declaration,
// and returns where to continue.
func (m *module) statement(i int) int {
	before := m.token(i - 1)
	if before.is(".") || before.is("?.") {
		return i + 1
	}
	switch t := m.token(i); {
	case t.is("import") && !m.token(i+1).is("("):
		return m.importStatement(i + 1)
	case t.is("export"):
		return m.exportStatement(i + 1)
	case t.is("const"), t.is("let"), t.is("var"):
		return m.declaration(i + 1)
	case t.is("function") && m.token(i+1).kind == lexWord:
		m.declare(m.token(i+1).text, i)
	case t.is("module") && m.token(i+1).is(".") && m.token(i+2).is("exports") && m.token(i+3).is("="):
		m.exports["default"] = binding{at: i + 4}
	case t.is("exports") && m.token(i+1).is(".") && m.token(i+3).is("="):
		m.exports[m.token(i+2).text] = binding{at: i + 4}
	}
	return i + 1
}

// maxDeclarations is how many blocks may declare one name.
const maxDeclarations = 100

// declare records a name. The first declaration in a block counts.
func (m *module) declare(name string, at int) {
	d := declaration{at, 0, len(m.tokens) + 1<<30}
	if n := len(m.blocks); n > 0 {
		open := m.tokens[m.blocks[n-1]]
		d.from = open.line
		if open.match < len(m.tokens) {
			d.to = m.tokens[open.match].line
		}
	}
	if len(m.decls[name]) < maxDeclarations {
		m.decls[name] = append(m.decls[name], d)
	}
}

// importStatement reads what follows "import".
func (m *module) importStatement(i int) int {
	if m.token(i).is("type") && !m.token(i+1).is("from") {
		i++
	}
	names := map[string]string{}
	for ; i < len(m.tokens); i++ {
		switch t := m.token(i); {
		case t.kind == lexText: // import "x"
			return i + 1
		case t.is("from") && m.token(i+1).kind == lexText:
			for local, name := range names {
				m.imports[local] = binding{from: m.token(i + 1).text, name: name}
			}
			return i + 2
		case t.is("{"):
			named(span{m.tokens, i + 1, min(t.match, len(m.tokens))}, func(name, local string) { names[local] = name })
			i = t.match
		case t.is("*") && m.token(i+1).is("as"):
			names[m.token(i+2).text] = "*"
			i += 2
		case t.kind == lexWord:
			names[t.text] = "default"
		case !t.is(","):
			return i
		}
	}
	return i
}

// named calls add for the names of {a, b as c} and {a, b: c}.
func named(s span, add func(name, local string)) {
	for i := s.from; i < s.to; i++ {
		if s.tokens[i].is("type") && i+1 < s.to && s.tokens[i+1].kind == lexWord && !s.tokens[i+1].is("as") {
			continue
		}
		name := s.tokens[i].text
		local := name
		if i+2 < s.to && (s.tokens[i+1].is("as") || s.tokens[i+1].is(":")) {
			local, i = s.tokens[i+2].text, i+2
		}
		for i+1 < s.to && !s.tokens[i+1].is(",") { // a default value
			i++
		}
		i++
		add(name, local)
	}
}

// exportStatement reads what follows "export".
func (m *module) exportStatement(i int) int {
	switch t := m.token(i); {
	case t.is("default"):
		m.exports["default"] = binding{at: i + 1}
		return i + 1
	case t.is("*"):
		for ; i < len(m.tokens); i++ {
			if m.token(i).kind == lexText {
				m.stars = append(m.stars, m.token(i).text)
				return i + 1
			}
			if m.token(i).is(";") {
				return i
			}
		}
		return i
	case t.is("{"):
		from := ""
		if m.token(t.match + 1).is("from") {
			from = m.token(t.match + 2).text
		}
		named(span{m.tokens, i + 1, min(t.match, len(m.tokens))}, func(name, exported string) { m.exports[exported] = binding{from: from, name: name} })
		return t.match + 1
	case t.is("const"), t.is("let"), t.is("var"):
		if name := m.token(i + 1); name.kind == lexWord {
			m.exports[name.text] = binding{name: name.text}
		} else if name.is("{") {
			named(span{m.tokens, i + 2, min(name.match, len(m.tokens))}, func(_, local string) { m.exports[local] = binding{name: local} })
		}
	case t.is("async"), t.is("function"):
		for ; m.token(i).is("async") || m.token(i).is("function") || m.token(i).is("*"); i++ {
			if name := m.token(i + 1); name.kind == lexWord && !name.is("function") {
				m.exports[name.text] = binding{name: name.text}
			}
		}
		return i - 1
	}
	return i
}

// declaration reads what follows "const".
func (m *module) declaration(i int) int {
	name := m.token(i)
	value := i + 1
	if name.is("{") {
		value = name.match + 1
	}
	p := newParser(m, span{m.tokens, value, len(m.tokens)}, 0)
	if p.accept(":") {
		p.skipType()
	}
	if !p.accept("=") {
		return i + 1
	}
	from, member := m.required(p.at)
	switch {
	case name.is("{"):
		named(span{m.tokens, i + 1, min(name.match, len(m.tokens))}, func(of, local string) {
			if from != "" {
				m.imports[local] = binding{from: from, name: of}
			}
		})
	case from != "":
		m.imports[name.text] = binding{from: from, name: member}
	case name.kind == lexWord:
		m.declare(name.text, p.at)
	}
	return p.at
}

// required returns the module and the name of require("x").name at a token.
func (m *module) required(at int) (from, name string) {
	if m.token(at).is("await") && m.token(at+1).is("import") {
		at++
	}
	if !m.token(at).is("require") && !m.token(at).is("import") || !m.token(at+1).is("(") || m.token(at+2).kind != lexText {
		return "", ""
	}
	name = "default"
	if m.token(at + 4).is(".") {
		name = m.token(at + 5).text
	}
	return m.token(at + 2).text, name
}

// An alias is a prefix of imports that leads to folders of the application.
type alias struct{ prefix, folder string }

// find returns the file that an import leads to, or "" if it is outside of the folder.
func (s *sources) find(from, file string) string {
	if strings.HasPrefix(from, ".") {
		return s.existing(path.Join(path.Dir(file), from))
	}
	for _, a := range s.aliases {
		if rest, ok := strings.CutPrefix(from, a.prefix); ok {
			if found := s.existing(path.Join(a.folder, rest)); found != "" {
				return found
			}
		}
	}
	return ""
}

// existing returns the source with a name, which may lack the extension.
func (s *sources) existing(name string) string {
	candidates := []string{name}
	for _, ext := range sourceExts {
		candidates = append(candidates, name+ext)
	}
	for _, ext := range sourceExts {
		candidates = append(candidates, name+"/index"+ext)
	}
	if bare := strings.TrimSuffix(name, path.Ext(name)); strings.HasPrefix(path.Ext(name), ".") && strings.Contains(path.Ext(name), "js") {
		candidates = append(candidates, bare+".ts", bare+".tsx") // TypeScript imports a.ts as a.js
	}
	i := slices.IndexFunc(candidates, func(c string) bool { return isSource(c) && s.has(c) })
	if i < 0 {
		return ""
	}
	return candidates[i]
}
