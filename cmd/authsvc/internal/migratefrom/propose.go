package migratefrom

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Listen is the address in the proposal at which authsvc listens.
const Listen = "127.0.0.1:3001"

// propose writes the proposal and reports what it has and lacks.
func (r *reader) propose(tables []Table) {
	r.readVersion()
	r.readAdapter()
	r.adapter.addColumns(tables)
	r.readSession()
	r.readCallbacks()
	r.yamlProviders = r.readProviders()

	r.yaml.set("url", r.readURL())
	r.yaml = append(r.yaml, pair{"listen", Listen, "port 3000 is also the default of Next.js"},
		pair{"trusted_proxies", texts([]string{"127.0.0.1/32"}), "a proxy on this machine passes " + r.BasePath + " on"})
	r.yaml.set("compat", r.Compat)
	r.readSecret()
	r.yaml.set("session", r.sessionKeys())
	if keys := r.storageKeys(); len(keys) > 0 {
		r.yaml.set("storage", keys)
	}
	for _, part := range []struct {
		key  string
		read func() mapping
	}{{"cookies", r.readCookies}, {"pages", r.readPages}, {"theme", r.readTheme}} {
		if keys := part.read(); len(keys) > 0 {
			r.yaml.set(part.key, keys)
		}
	}
	if len(r.yamlProviders) > 0 {
		r.yaml.set("providers", r.yamlProviders)
	}
	r.readRest()
	r.Exposed = keysOf(r.expose)
}

// readURL returns the value of url.
func (r *reader) readURL() string {
	r.BasePath = "/api/auth"
	own := ""
	if n, ok := r.given("basePath"); ok {
		if v := r.resolve(n); v.kind == textNode && strings.HasPrefix(v.text, "/") && cleanPath(v.text) {
			r.BasePath, own = v.text, v.text
		} else {
			r.add(Open, "basePath", n, "not understood: add the path to url")
		}
	} else if r.version == 5 && r.entryIn("@auth/") {
		r.BasePath, own = "/auth", "/auth" // the default of all but Next.js
	}
	if own == "/api/auth" {
		own = ""
	}
	if r.public != "" {
		if u, err := url.Parse(r.public); err == nil && strings.Trim(u.Path, "/") != "" {
			r.BasePath = strings.TrimSuffix(u.Path, "/")
			return literally(r.public)
		}
		return literally(strings.TrimSuffix(r.public, "/")) + own
	}
	name := "NEXTAUTH_URL"
	if r.version == 5 {
		name = "AUTH_URL"
		if r.env.mentions("NEXTAUTH_URL") && !r.env.mentions(name) {
			name = "NEXTAUTH_URL"
		}
	}
	if own != "" || r.version == 5 && !r.env.mentions(name) {
		name = "AUTHSVC_URL"
	}
	use := "the public address, such as https://app.example.com" + own
	return r.use(name, use)
}

// cleanPath reports whether a path has only plain characters.
func cleanPath(p string) bool {
	return !strings.Contains(p, "//") && !strings.ContainsFunc(p, func(c rune) bool {
		return !strings.ContainsRune("/-_.~", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// entryIn reports whether the file with the options imports a package with a prefix,
// and not next-auth.
func (r *reader) entryIn(prefix string) bool {
	other := false
	for _, b := range r.entry.in.imports {
		if _, known := entries[b.from]; known {
			if b.from == "next-auth" {
				return false
			}
			other = other || strings.HasPrefix(b.from, prefix)
		}
	}
	return other
}

// readSecret proposes the old secret alone, so that the application can still read
// cookies and tokens, and the way back is open.
func (r *reader) readSecret() {
	name := map[int]string{4: "NEXTAUTH_SECRET", 5: "AUTH_SECRET"}[r.version]
	if r.version == 5 && r.env.mentions("NEXTAUTH_SECRET") && !r.env.mentions(name) {
		name = "NEXTAUTH_SECRET"
	}
	n, ok := r.given("secret")
	names := []string{name}
	switch {
	case !ok && r.version == 5: // the highest number seals
		for _, numbered := range []string{"AUTH_SECRET_1", "AUTH_SECRET_2", "AUTH_SECRET_3"} {
			if r.env.mentions(numbered) {
				names = append([]string{numbered}, names...)
			}
		}
	case !ok:
	case r.resolve(n).kind == listNode:
		names = nil
		for _, item := range r.resolve(n).items {
			names = append(names, r.secretOf(item, name))
		}
	default:
		names[0] = r.secretOf(n, name)
	}
	if jwt, found := r.given("jwt"); found {
		if s, has := r.resolve(jwt).get("secret"); has {
			names[0] = r.secretOf(s, name)
		}
	}
	var values []any
	for _, v := range names {
		values = append(values, r.use(v, "the secret of the application"))
		if value, file := r.env.value(v); value != "" && len(value) < 32 {
			r.addAt(Note, "secret", file, "%s has fewer than 32 bytes there; if it is as short in production, add allow_short_secret: true", v)
		}
	}
	r.add(OK, "secret", n, "%s alone, so that your application still reads cookies and tokens, and you can go back; do not set AUTHSVC_SECRET", listed(names))
	if len(values) == 1 {
		r.yaml.set("secret", values[0])
		return
	}
	r.yaml.set("secret", values)
}

// secretOf returns the variable of a secret, which is never printed.
func (r *reader) secretOf(n node, usual string) string {
	if name := r.variable(n); name != "" {
		return name
	}
	r.add(Open, "secret", n, "is not read from an environment variable; put it into %s", usual)
	return usual
}

// readSession reads session.strategy and the lifetimes.
func (r *reader) readSession() {
	r.jwt = r.adapter.name == ""
	strategy, ok := r.sessionOption("strategy")
	if !ok {
		if legacy, found := r.sessionOption("jwt"); found { // before version 4
			r.add(Open, "session", legacy, "session.jwt is of version 3; session.strategy is taken for its default")
		}
	} else if v := r.plain(strategy); v.kind == textNode && (v.text == "jwt" || v.text == "database") {
		r.jwt = v.text == "jwt"
	} else {
		r.add(Open, "session", strategy, "strategy is not understood; the proposal has %s", r.strategy())
	}
	r.add(OK, "session", strategy, "strategy %s", r.strategy())
	session, _ := r.given("session")
	if session.in == nil {
		return
	}
	r.each(session, "session", func(key string, value node) {
		switch key {
		case "strategy", "maxAge", "updateAge", "jwt":
		case "generateSessionToken":
			r.add(Note, "session", value, "generateSessionToken is not used: authsvc makes each token itself")
		default:
			r.add(Open, "session", value, "%s has no counterpart", key)
		}
	})
}

func (r *reader) strategy() string {
	if r.jwt {
		return "jwt"
	}
	return "database"
}

func (r *reader) sessionOption(key string) (node, bool) {
	session, ok := r.given("session")
	if !ok {
		return node{}, false
	}
	n, ok := r.flat(session, "session", true)[key]
	return n, ok
}

// plain resolves names, and takes the first alternative of a ?? b.
func (r *reader) plain(n node) node {
	for range maxSteps {
		if n = r.resolve(n); n.kind != fallbackNode {
			break
		}
		if r.variable(n) != "" {
			break
		}
		n = n.items[0]
	}
	return n
}

// sessionKeys returns the mapping session.
func (r *reader) sessionKeys() mapping {
	keys := mapping{{key: "strategy", value: r.strategy()}}
	maxAge := 0
	for _, o := range []struct{ option, key string }{{"maxAge", "max_age"}, {"updateAge", "update_age"}} {
		n, ok := r.sessionOption(o.option)
		if !ok {
			continue
		}
		seconds, known := r.number(n)
		if o.option == "updateAge" && r.resolve(n).text == "0" { // at each use
			seconds, known = 0, true
		}
		if !known {
			r.add(Open, "session", n, "%s is not understood; set session.%s", o.option, o.key)
			continue
		}
		keys.set(o.key, duration(seconds))
		if o.option == "maxAge" {
			maxAge = seconds
		}
	}
	if usual := 2160 * 3600; maxAge > usual {
		keys.set("absolute_max_age", duration(maxAge))
	}
	if len(r.claims) > 0 {
		keys.set("claims", sorted(r.claims))
	}
	if len(r.expose) > 0 {
		keys.set("expose", sorted(r.expose))
	}
	return keys
}

func sorted(m map[string]string) (list mapping) {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list.set(name, literally(m[name]))
	}
	return list
}

// number reads a whole number, or a product of them such as 30 * 24 * 60 * 60.
func (r *reader) number(n node) (int, bool) {
	n = r.resolve(n)
	if n.kind != numberNode {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 10, 32)
	return int(v), err == nil && v > 0
}

// duration returns a number of seconds in the largest unit that fits.
func duration(seconds int) literal {
	if seconds == 0 {
		return "0s"
	}
	for _, unit := range []struct {
		name string
		size int
	}{{"d", 86400}, {"h", 3600}, {"m", 60}} {
		if seconds%unit.size == 0 {
			return literal(strconv.Itoa(seconds/unit.size) + unit.name)
		}
	}
	return literal(strconv.Itoa(seconds) + "s")
}
