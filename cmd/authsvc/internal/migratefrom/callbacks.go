package migratefrom

import (
	"slices"
	"strings"

	"authsvc/internal/seal/sessionshape"
)

// readCallbacks turns the lines of the callbacks session and jwt into session.claims,
// session.expose and storage.user_columns, and reports the other callbacks.
func (r *reader) readCallbacks() {
	n, ok := r.given("callbacks")
	if !ok {
		return
	}
	all := r.flat(n, "callbacks", true)
	advice := map[string]string{
		"signIn":   "decides who may sign in: write it as sign_in.allow, rules.sign_in or a hook (docs/rules.md)",
		"redirect": "decides where a callbackUrl may lead: list the origins in allowed_redirects, or write rules.redirect",
	}
	if jwt, has := all["jwt"]; has {
		r.tokens = r.readJWT(jwt)
	}
	for _, name := range keysOf(all) {
		text, known := advice[name]
		switch {
		case name == "session":
			r.readSessionCallback(all[name], r.tokens)
		case name == "jwt", name == "authorized":
		case known:
			r.add(Open, "callback "+name, all[name], "%s", text)
		default:
			r.add(Open, "callback "+name, all[name], "has no counterpart")
		}
	}
	if authorized, has := all["authorized"]; has { // after the session callback, which adds columns
		r.readAuthorized(authorized)
	}
	r.reportTokens(r.tokens)
	if session, has := all["session"]; has {
		r.reportSession(session)
	}
}

func keysOf[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// A source says where a value of a token or of a session comes from.
type source struct {
	kind  string // id, provider, profile, column, basic
	path  string // profile: the path; column: the field of User
	place string // of a member of the token: where it is set
}

// A callback is a callback whose lines are read.
type callback struct {
	*reader
	part   string
	names  map[string]string // local names: the parameters and destructured values
	tokens map[string]source
	set    func(target []string, value node) // an assignment to session or token
	// tested lists the values that conditions around a statement test. "" stands for
	// a condition that is not understood.
	tested []string
}

// parameters maps the names in ({session, token: t}) to the parameters that they stand
// for.
func parameters(fn node) map[string]string {
	names := map[string]string{}
	switch s := fn.params; {
	case s.from >= s.to:
	case s.tokens[s.from].is("{"):
		named(span{s.tokens, s.from + 1, min(s.tokens[s.from].match, s.to)}, func(name, local string) { names[local] = name })
	case s.tokens[s.from].kind == lexWord: // (params) => params.session
		names[s.tokens[s.from].text] = ""
	}
	return names
}

const jwtCallback = "callback jwt"

// readJWT returns the members that the callback adds to the token.
func (r *reader) readJWT(n node) map[string]source {
	found := map[string]source{}
	fn := r.resolve(n)
	c := &callback{reader: r, part: jwtCallback, names: parameters(fn), tokens: found}
	c.set = func(target []string, value node) {
		if len(target) != 2 || target[0] != "token" {
			r.add(Open, c.part, value, "not understood: %s = …", strings.Join(target, "."))
			return
		}
		c.jwtMember(target[1], value)
	}
	c.read(fn, "token")
	return found
}

// jwtMember records an assignment to token.name.
func (c *callback) jwtMember(name string, value node) {
	s, ok := c.origin(value)
	if !ok {
		s, ok = c.partly("token"+access(name), value)
	}
	switch {
	case name == "sub":
		c.add(Open, c.part, value, "token.sub is the id of the user in authsvc, and cannot be another value")
	case !ok && strings.HasPrefix(c.rooted(c.plain(value)), "account."):
		c.add(Open, c.part, value, "token.%s holds a value of the account: tokens of providers stay on the server (docs/tokens-and-logout.md)", name)
	case !ok:
		c.add(Open, c.part, value, "not understood: token.%s", name)
	default:
		if slices.Contains(basics, name) && s.kind != "basic" {
			c.add(Open, c.part, value, "token.%s becomes another value: GET session has the one of the user", name)
		}
		s.place = placeOf(value)
		c.tokens[name] = s
	}
}

// readSessionCallback turns the lines of the callback into session.expose.
func (r *reader) readSessionCallback(n node, tokens map[string]source) {
	fn := r.resolve(n)
	c := &callback{reader: r, part: "callback session", names: parameters(fn), tokens: tokens}
	c.set = func(target []string, value node) {
		switch {
		case len(target) == 3 && target[0] == "session" && target[1] == "user":
			c.show(target[2], value)
		case len(target) == 2 && target[0] == "session" && target[1] == "user" && c.sameUser(value):
		case len(target) >= 2 && target[0] == "session":
			c.add(Open, c.part, value, "session.%s has no counterpart: GET session adds values to user only", strings.Join(target[1:], "."))
		default:
			c.add(Open, c.part, value, "not understood: %s = …", strings.Join(target, "."))
		}
	}
	c.read(fn, "session")
}

// sameUser reports whether all members of an object are values that session.user may
// have, and reads them.
func (c *callback) sameUser(value node) bool {
	if value.kind != objectNode {
		return false
	}
	c.members([]string{"session", "user"}, value)
	return true
}

// show records session.user.name = value.
func (c *callback) show(name string, value node) {
	s, ok := c.origin(value)
	if !ok {
		s, ok = c.partly("session.user"+access(name), value)
	}
	if !ok {
		c.add(Open, c.part, value, "not understood: session.user.%s", name)
		return
	}
	if slices.Contains(basics, name) && s.path == name {
		s.kind = "basic"
	}
	text := ""
	switch s.kind {
	case "basic":
		if name == s.path || name == "image" && s.path == "picture" {
			return // GET session has it
		}
		c.add(Open, c.part, value, "session.user.%s has no counterpart: GET session has it as %s", name, s.path)
		return
	case "id", "provider":
		text = s.kind
	case "verified":
		text = "email_verified"
		c.add(Note, c.part, value, "session.user.%s is true or false, and not a time", name)
	case "column":
		column, known := c.adapter.column(s.path)
		if !known {
			c.add(Open, c.part, value, "session.user.%s: no column %s of the users table was found; if there is one, add it to storage.user_columns and session.expose", name, s.path)
			return
		}
		if !cleanWord(column) {
			c.add(Open, c.part, value, "session.user.%s: the name of the column %s cannot be used in storage.user_columns", name, column)
			return
		}
		if !slices.Contains(c.columns, column) {
			c.columns = append(c.columns, column)
		}
		text = "User." + column
	case "profile":
		text = "claims." + name
	}
	if !usableName(name) {
		c.add(Open, c.part, value, "session.user.%s: the name cannot be used in session.expose", name)
		return
	}
	if s.kind == "profile" {
		c.claims[name] = s.path
	}
	c.expose[name] = text
	c.add(OK, c.part, value, "session.user.%s becomes session.expose: {%s: %s}", name, name, text)
}

// partly returns the column that a ?? b reads first, and reports that b is not
// understood. The proposal has the column.
func (c *callback) partly(target string, value node) (source, bool) {
	value = c.plain(value)
	if value.kind != fallbackNode {
		return source{}, false
	}
	s, ok := c.origin(value.items[0])
	if !ok || s.kind != "column" {
		return source{}, false
	}
	column, known := c.adapter.column(s.path)
	if !known || !cleanWord(column) {
		return source{}, false
	}
	if !slices.Contains(c.columns, column) {
		c.columns = append(c.columns, column)
	}
	reads := ""
	if c.part == jwtCallback {
		now, _ := c.tokenMember(s, target)
		reads = ", which reads " + now
	}
	c.add(Open, c.part, value, "%s is the column %s of the users table, or a value that is not understood: the proposal has storage.user_columns: [%s]; write the other value as rules.claims (docs/rules.md), or in code on your server%s", target, column, column, reads)
	return s, true
}

// usableName reports whether GET session can show a value under a name.
func usableName(name string) bool {
	return sessionshape.UsableName(name) && !slices.Contains(basics, name)
}

// basics are the members of user that GET session always has, and how tokens call the
// image.
var basics = []string{"name", "email", "image", "picture"}

func cleanWord(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// unknown stands for the value of a local name that was not understood. The name hides
// a parameter.
const unknown = "?"

// maxPath is how long the path of a value may be. Without it, lines that use the names
// of the lines before could double it each time.
const maxPath = 300

// rooted returns the path of a value from a parameter of the callback, such as
// profile.org.dept. A name that was renamed has its own name again. Of other values it
// returns "".
func (c *callback) rooted(n node) string {
	if n.kind != nameNode {
		return ""
	}
	path := slices.Clone(n.path)
	own, ok := c.names[path[0]]
	if !ok || own == unknown {
		return ""
	}
	path[0] = own
	root := strings.TrimPrefix(strings.Join(path, "."), ".")
	if len(root) > maxPath {
		return ""
	}
	return root
}

// plain resolves a name of the module. Parameters of the callback hide such names. Of
// a ?? b it returns a, if b is only a default in the source.
func (c *callback) plain(n node) node {
	for range maxSteps {
		if n.kind == fallbackNode && c.isDefault(n.items[1]) {
			n = n.items[0]
			continue
		}
		if _, own := c.names[strings.Join(n.path[:min(1, len(n.path))], "")]; own || n.kind != nameNode {
			return n
		}
		return c.resolve(n)
	}
	return n
}

// isDefault reports whether a value is written in the source.
func (c *callback) isDefault(n node) bool {
	switch n.kind {
	case textNode, numberNode:
		return true
	case listNode, objectNode:
		return len(n.items)+len(n.members) == 0
	}
	return n.isName("null") || n.isName("undefined") || n.isName("false") || n.isName("true")
}

// origin returns where a value comes from.
func (c *callback) origin(value node) (source, bool) {
	value = c.plain(value)
	if s, ok := c.either(value); ok {
		return s, true
	}
	if value.kind == fallbackNode {
		return c.alternatives(value)
	}
	if value.kind == callNode && len(value.items) == 1 && (value.of.isName("String") || value.of.isName("Number")) {
		value = value.items[0]
	}
	root, path, _ := strings.Cut(c.rooted(value), ".")
	basic := slices.Contains(basics, path)
	switch {
	case path == "":
		return source{}, false
	case root == "user" && path == "id", root == "token" && path == "sub":
		return source{kind: "id"}, true
	case root == "user" && path == "emailVerified":
		return source{kind: "verified"}, true
	case (root == "user" || root == "token") && basic && c.tokens[path] == (source{}):
		return source{kind: "basic", path: path}, true
	case root == "session" && strings.HasPrefix(path, "user.") && c.part == "callback session":
		return source{kind: "basic", path: strings.TrimPrefix(path, "user.")}, true
	case root == "user" && cleanWord(path):
		return source{kind: "column", path: path}, true
	case root == "account" && path == "provider":
		return source{kind: "provider"}, true
	case root == "account" && path == "providerAccountId", root == "profile" && !cleanWord(strings.ReplaceAll(path, ".", "_")):
		return source{}, false
	case root == "profile":
		return source{kind: "profile", path: path}, true
	case root == "token":
		s, ok := c.tokens[path]
		return s, ok
	}
	return source{}, false
}

// alternatives returns where a ?? b comes from, if both are in the profile.
func (c *callback) alternatives(value node) (source, bool) {
	a, okA := c.origin(value.items[0])
	b, okB := c.origin(value.items[1])
	if !okA || !okB || a.kind != "profile" || b.kind != "profile" {
		return source{}, false
	}
	path := a.path + "|" + b.path
	return source{kind: "profile", path: path}, len(path) <= maxPath
}

// either returns where a value comes from that is read from tokens of authsvc and
// otherwise from those of NextAuth.js, as docs/moving-from-nextauth.md advises:
// columns ? columns.role : token.role, and claims?.groups ?? token.groups.
func (c *callback) either(value node) (source, bool) {
	if len(value.items) != 2 || value.kind != fallbackNode && value.kind != conditionalNode {
		return source{}, false
	}
	kind, name, ok := strings.Cut(strings.TrimPrefix(c.rooted(c.plain(value.items[0])), ownMember), ".")
	if !ok || !strings.HasPrefix(c.rooted(c.plain(value.items[0])), ownMember) {
		return source{}, false
	}
	if s, ok := c.origin(value.items[1]); ok {
		return s, true
	}
	switch {
	case kind == "columns" && cleanWord(name):
		return source{kind: "column", path: name}, true
	case kind == "claims" && cleanWord(name):
		return source{kind: "profile", path: name}, true
	}
	return source{}, false
}

// ownMember is the member of tokens of authsvc that holds their columns and claims.
const ownMember = "token.authsvc_session."
