package migratefrom

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A reader collects what an application's folder says.
type reader struct {
	*sources
	*Report
	version int // of NextAuth.js: 4 or 5; 0 if unknown
	public  string
	dir     string // as the caller named it
	options map[string]node
	entry   node // where the options are
	yaml    mapping
	env     environment
	pkgs    []pkg

	jwt     bool // session.strategy
	adapter adapter
	claims  map[string]string // session.claims
	expose  map[string]string // session.expose
	columns []string          // storage.user_columns
	tokens  map[string]source // what the jwt callback adds to the token

	yamlProviders []any
}

// Options holds what the caller knows.
type Options struct {
	// URL is the public address of the application, such as https://app.example.com.
	// Empty: the proposal names an environment variable.
	URL string
	// Tables are the tables of the application's database. The columns of its users
	// complete those that the sources declare.
	Tables []Table
}

// maxUnread is how many files are named that could not be read.
const maxUnread = 10

// Read reads a folder. The error says why nothing could be read.
func Read(dir string, o Options) (*Report, error) {
	f, err := openFolder(dir, maxFiles)
	if err != nil {
		return nil, fmt.Errorf("cannot read the folder: %w", err)
	}
	defer f.root.Close() //nolint:errcheck // it was only read
	r := &reader{sources: &sources{folder: f, modules: map[string]*module{}}, Report: &Report{}, public: o.URL, dir: dir,
		claims: map[string]string{}, expose: map[string]string{}}
	r.readPackages()
	r.readAliases()
	r.readEnvironment()
	if err := r.findOptions(); err != nil {
		return nil, err
	}
	r.propose(o.Tables)
	for i, text := range f.unread {
		if i == maxUnread {
			r.addAt(Open, "files", "", "%d more files were not read", len(f.unread)-maxUnread)
			break
		}
		r.addAt(Open, "files", "", "%s", text)
	}
	if r.followed > maxFollowed {
		r.add(Open, "configuration", r.entry, "not understood: more than %d references, some perhaps to themselves", maxFollowed)
	}
	for _, file := range r.names {
		if m := r.modules[file]; m != nil && m.exhausted() {
			r.addAt(Open, "files", file, "not understood: its expressions have no ends")
		}
	}
	for i := range r.Variables {
		r.Variables[i].Files = r.env.files(r.Variables[i].Name)
	}
	r.Config = r.yaml.text()
	return r.Report, nil
}

// entries lists the functions that take the options of Auth.js, by package. The last
// argument has the options.
var entries = map[string][]string{
	"next-auth": {"default"}, "next-auth/next": {"default"}, "@auth/core": {"Auth"}, "@auth/sveltekit": {"SvelteKitAuth"},
	"@auth/express": {"ExpressAuth"}, "@auth/solid-start": {"SolidAuth", "SolidStartAuth"}, "@auth/qwik": {"QwikAuth$"},
	"#auth": {"NuxtAuthHandler"}, "@hono/auth-js": {"initAuthConfig"}, "@auth/astro": {"AstroAuth"}, "@auth/fastify": {"FastifyAuth"},
}

var errNoOptions = errors.New("found no call of NextAuth(…) and no object with providers: name the folder in which auth.ts or [...nextauth].ts is")

// findOptions finds the options. Of several calls, the one with the most options
// counts: Next.js applications often repeat a part of them for the middleware.
func (r *reader) findOptions() error {
	var best node
	most := -1
	var all []node
	for _, file := range r.names {
		if !isSource(file) || !mentionsAuth(r.text(file)) {
			continue
		}
		m := r.module(file)
		found := r.calls(m)
		if len(found) == 0 {
			found = r.declared(m)
		}
		for _, n := range found {
			all = append(all, n)
			if count := r.weight(n); count > most {
				most, best = count, n
			}
		}
	}
	if most < 0 {
		return errNoOptions
	}
	r.entry = best
	r.options = r.flat(best, "options", true)
	r.add(OK, "configuration", best, "read")
	for _, n := range all {
		if n.in != best.in && r.weight(n) > 0 && !r.same(n, best) {
			r.add(Note, "configuration", n, "has options, too, which were not read: %s has more", best.in.file)
		}
	}
	return nil
}

func mentionsAuth(text string) bool {
	return strings.Contains(text, "next-auth") || strings.Contains(text, "@auth/") || strings.Contains(text, "#auth") || strings.Contains(text, "@hono/auth-js")
}

// same reports whether all options of n are also options of best.
func (r *reader) same(n, best node) bool {
	of := r.flat(best, "", false)
	for key, value := range r.flat(n, "", false) {
		if other, ok := of[key]; !ok || other.line != value.line || other.in != value.in {
			return false
		}
	}
	return true
}

// weight counts the options of a call. Those of a file for the middleware count less.
func (r *reader) weight(n node) int {
	count := 2 * len(r.flat(n, "", false))
	if base := path.Base(n.in.file); strings.HasPrefix(base, "middleware.") || strings.HasPrefix(base, "proxy.") {
		count /= 2
	}
	return count
}

// calls returns the options of the calls of NextAuth in a module.
func (r *reader) calls(m *module) (found []node) {
	for i, t := range m.tokens {
		if t.kind != lexWord || m.token(i-1).is(".") || m.token(i-1).is("function") {
			continue
		}
		b, imported := m.imports[t.text]
		if !imported || !slices.Contains(entries[b.from], b.name) {
			continue
		}
		call := m.parse(i)
		if call.kind == callNode && len(call.items) > 0 {
			found = append(found, call.items[len(call.items)-1])
		}
	}
	return found
}

// declared returns the objects of a module that look like options.
func (r *reader) declared(m *module) (found []node) {
	var names []string
	for name := range m.decls {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, d := range m.decls[name] {
			n := m.parse(d.at)
			if _, ok := n.get("providers"); ok && n.kind == objectNode {
				found = append(found, n)
			}
		}
	}
	return found
}

// flat returns the members of an object, with those of the objects that it spreads. If
// report is set, it reports what it cannot read.
func (r *reader) flat(n node, part string, report bool) map[string]node {
	all := map[string]node{}
	r.flatten(n, part, report, all, maxSteps)
	return all
}

func (r *reader) flatten(n node, part string, report bool, all map[string]node, steps int) {
	n = r.resolve(n)
	if n.kind == functionNode && !r.works(n.body.to-n.body.from) {
		return
	}
	if n.kind == functionNode { // options that are made for each request
		if value, ok := n.result(); ok {
			n = r.resolve(value)
		}
	}
	if n.kind != objectNode || steps == 0 {
		if report {
			r.add(Open, part, n, "not understood: it is not an object that can be read here")
		}
		return
	}
	if !r.works(len(n.members)) {
		return
	}
	for _, m := range n.members {
		switch {
		case m.spread:
			r.flatten(m.value, part, report, all, steps-1)
		case m.key == "":
			if report {
				r.add(Open, part, m.value, "not understood: the name of a member is computed")
			}
		default:
			all[m.key] = m.value
		}
	}
}

// result returns the value that a function returns, if it has one return, which is in
// no condition.
func (n node) result() (node, bool) {
	if n.value != nil {
		return *n.value, true
	}
	p := newParser(n.in, n.body, 0)
	for !p.done() {
		switch {
		case p.accept("return"):
			return p.expression(), true
		case p.accept("if"), p.accept("else"), p.accept("switch"), p.accept("try"):
			if p.peek().is("(") {
				p.step()
			}
			if p.returns() {
				return node{}, false
			}
		default:
			p.step()
		}
	}
	return node{}, false
}

// returns reports whether the next statement or block has a return.
func (p *parser) returns() bool {
	if !p.peek().is("{") {
		return p.peek().is("return")
	}
	q := newParser(p.in, p.inner(), p.deep)
	for ; !q.done(); q.at++ { // a return of a function in the block counts, too
		if q.peek().is("return") {
			return true
		}
	}
	return false
}

// each calls do for the members of an object, by name.
func (r *reader) each(n node, part string, do func(key string, value node)) {
	all := r.flat(n, part, true)
	for _, key := range keysOf(all) {
		do(key, all[key])
	}
}

// given returns an option.
func (r *reader) given(key string) (node, bool) {
	n, ok := r.options[key]
	return n, ok
}

// readEnvironment reads the names that .env files set.
func (r *reader) readEnvironment() {
	r.env = environment{}
	for _, file := range r.names {
		if isEnv(file) {
			r.env = append(r.env, envFile{name: file, values: parseEnv(r.text(file))})
		}
	}
}
