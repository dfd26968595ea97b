package migratefrom

import (
	"slices"
	"strings"
)

// needsStorage reports whether a provider needs a store without an adapter.
func (r *reader) needsStorage() bool {
	for _, v := range r.yamlProviders {
		if p, ok := v.(mapping); ok && p.get("type") == "email" {
			return true
		}
	}
	return false
}

// readCookies reads the names and the domain of cookies.
func (r *reader) readCookies() (keys mapping) {
	n, ok := r.given("cookies")
	if !ok {
		return nil
	}
	all := r.flat(n, "cookies", true)
	domains := map[string]bool{}
	for _, c := range []struct{ cookie, key string }{{"sessionToken", "session"}, {"csrfToken", "csrf"}, {"callbackUrl", "callback_url"}} {
		cookie, has := all[c.cookie]
		if !has {
			continue
		}
		members := r.flat(cookie, "cookies", true)
		if name, named := members["name"]; named {
			if v := r.plain(name); v.kind == textNode {
				keys.set(c.key, literally(v.text))
			} else {
				r.add(Open, "cookies", name, "not understood: the name of %s; set cookies.%s to the name in production", c.cookie, c.key)
			}
		}
		r.cookieOptions(c.cookie, members["options"], domains)
	}
	for _, name := range keysOf(all) {
		if !slices.Contains([]string{"sessionToken", "csrfToken", "callbackUrl"}, name) {
			r.add(Note, "cookies", all[name], "%s is not copied: authsvc has cookies of its own for sign-ins in progress", name)
		}
	}
	switch list := keysOf(domains); {
	case len(list) == 1:
		keys.set("domain", list[0])
	case len(list) > 1:
		r.add(Open, "cookies", n, "have several domains, and authsvc has one: set cookies.domain")
	}
	return keys
}

// cookieOptions reads the domain. The other attributes cannot be changed.
func (r *reader) cookieOptions(cookie string, n node, domains map[string]bool) {
	if n.in == nil {
		return
	}
	r.each(n, "cookies", func(key string, value node) {
		v := r.plain(value)
		switch {
		case key == "domain":
			if text, ok := r.written(value, "the domain of cookies"); ok && cookie != "csrfToken" {
				domains[strings.TrimPrefix(text, ".")] = true
			} else if !v.isName("undefined") {
				r.add(Open, "cookies", value, "not understood: the domain of %s; set cookies.domain", cookie)
			}
		case key == "secure" && v.isName("false"):
			r.add(Note, "cookies", value, "secure of %s follows from url: with https, cookies are secure", cookie)
		case key == "path" && v.text == "/", key == "httpOnly" && v.isName("true"), key == "sameSite" && strings.EqualFold(v.text, "lax"), key == "secure":
		default:
			r.add(Open, "cookies", value, "%s of %s cannot be changed: authsvc sets HttpOnly, SameSite=Lax, Path=/ and, with https, Secure", key, cookie)
		}
	})
}

// readPages reads the pages of the application.
func (r *reader) readPages() mapping {
	return r.read("pages", map[string]string{"signIn": "sign_in", "signOut": "sign_out", "error": "error", "verifyRequest": "verify_request", "newUser": "new_user"})
}

// readTheme reads the colours of the built-in pages.
func (r *reader) readTheme() mapping {
	return r.read("theme", map[string]string{"colorScheme": "color_scheme", "brandColor": "brand_color", "logo": "logo", "buttonText": "button_text"})
}

// read reads an option whose members are texts.
func (r *reader) read(option string, names map[string]string) (keys mapping) {
	n, ok := r.given(option)
	if !ok {
		return nil
	}
	all := r.flat(n, option, true)
	for _, name := range keysOf(all) {
		key, known := names[name]
		text, readable := r.written(all[name], "a value of "+option)
		switch {
		case !known:
			r.add(Open, option, all[name], "%s has no counterpart", name)
		case !readable:
			r.add(Open, option, all[name], "not understood: %s; set %s.%s", name, option, key)
		case option == "theme" && !usableInTheme(key, text):
			r.add(Open, option, all[name], "%s is not copied: set theme.%s (docs/configuration.md)", name, key)
		case text != "":
			keys.set(key, text)
		}
	}
	return keys
}

// usableInTheme reports whether authsvc takes a value of the theme: colours as #rrggbb,
// and logos with https.
func usableInTheme(key, text string) bool {
	switch key {
	case "color_scheme":
		return slices.Contains([]string{"auto", "light", "dark"}, text)
	case "logo":
		return strings.HasPrefix(text, "https://")
	case "button_text":
		return false // authsvc chooses black or white by contrast
	}
	return len(text) == 7 && text[0] == '#' && strings.Trim(strings.ToLower(text[1:]), "0123456789abcdef") == ""
}

// readRest reports the options that the proposal has no key for.
func (r *reader) readRest() {
	done := []string{"providers", "adapter", "session", "callbacks", "secret", "pages", "theme", "cookies", "basePath"}
	notes := map[string]string{
		"debug":            "has no counterpart that is needed: set log.level to debug for a while",
		"logger":           "has no counterpart: authsvc logs to standard error",
		"trustHost":        "is trusted_proxies, with the networks of your proxies",
		"useSecureCookies": "follows from url: with https, cookies are secure",
		"redirectProxyUrl": "is for previews: sign in at url",
		"skipCSRFCheck":    "is not possible: authsvc always checks",
		"logLevel":         "is log.level",
	}
	for _, key := range keysOf(r.options) {
		n := r.options[key]
		text, known := notes[key]
		switch {
		case slices.Contains(done, key):
		case key == "useSecureCookies" && r.plain(n).isName("false"):
			r.add(Open, key, n, "with https, authsvc looks for the session cookie with the prefix __Secure-, and people must sign in again; set cookies.session to the name without it")
		case key == "events":
			r.readEvents(n)
		case key == "jwt":
			r.readJWTOptions(n)
		case known:
			r.add(Note, key, n, "%s", text)
		default:
			r.add(Open, key, n, "has no counterpart")
		}
	}
	r.readMiddleware()
}

// readEvents reports the handlers of events.
func (r *reader) readEvents(n node) {
	r.each(n, "events", func(name string, value node) {
		if name == "createUser" {
			r.add(Open, "event "+name, value, "a hook on create_user is asked before a user is made (docs/rules.md#hooks); move what comes after it into your application")
			return
		}
		r.add(Open, "event "+name, value, "has no counterpart that your code handles; audit events record it (docs/audit.md)")
	})
}

// readJWTOptions reports how the application changed tokens.
func (r *reader) readJWTOptions(n node) {
	r.each(n, "jwt", func(name string, value node) {
		switch name {
		case "secret": // read with secret
		case "maxAge":
			r.add(Note, "jwt", value, "maxAge is session.max_age in authsvc")
		case "encode", "decode":
			r.add(Open, "jwt", value, "%s: tokens of your own form cannot be read, so people must sign in again", name)
		default:
			r.add(Open, "jwt", value, "%s has no counterpart", name)
		}
	})
}
