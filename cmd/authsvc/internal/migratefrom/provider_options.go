package migratefrom

import (
	"slices"
	"strings"
)

// common reads the options that every OAuth provider may have.
func (p *providerEntry) common() {
	for _, key := range keysOf(p.options) {
		n := p.options[key]
		switch key {
		case "authorization":
			p.authorization(n)
		case "allowDangerousEmailAccountLinking":
			if p.plain(n).isName("true") {
				p.keys.set("link_verified_email", literal("true"))
				p.add(Note, p.part(), n, "accounts are linked by address only if the provider and authsvc have verified it (link_verified_email)")
			}
		case "profile":
			p.profile(n)
		case "checks":
			p.add(Note, p.part(), n, "checks: authsvc makes all that the provider supports")
		case "client":
			p.clientMethod(n)
		case "style":
			p.add(Note, p.part(), n, "style is not copied; set providers[].style if the button should look the same")
		case "token", "userinfo", "wellKnown", "jwks_endpoint", "issuer":
			if p.builtIn && !p.hasKey(key) {
				p.add(Open, p.part(), n, "%s is not copied: authsvc has the provider's own; set the key of providers[] if yours differs", key)
			}
		case "enterprise":
			p.add(Open, p.part(), n, "enterprise: set issuer, authorization_url, token_url and userinfo_url to your server")
		case "id", "name", "type", "clientId", "clientSecret", "tenantId", "teamId", "keyId", "privateKey", "baseUrl", "apiKey", "shop", "organization", "connection", "accountId", "domain", "userAgent", "authority":
			// read elsewhere
		case "idToken":
			p.add(Note, p.part(), n, "idToken is not needed: authsvc reads the ID token of every provider with an issuer")
		case "version":
			p.oauthVersion(n)
		case "account":
			p.add(Open, p.part(), n, "account(): authsvc stores the tokens that the provider sends, and cannot change them")
		default:
			p.add(Open, p.part(), n, "the option %s has no counterpart", key)
		}
	}
}

// oauthVersion reads the version of OAuth. The built-in provider twitter is chosen by it.
func (p *providerEntry) oauthVersion(n node) {
	switch version := p.plain(n).text; {
	case p.builtIn:
	case strings.HasPrefix(version, "2"):
		p.add(Note, p.part(), n, "version %s: the type oauth2 stands for it", version)
	default:
		p.add(Open, p.part(), n, "version: write a provider of OAuth 1.0a as type oauth1 (docs/configuration.md)")
	}
}

// hasKey reports whether the proposal has an option, perhaps under the tenant.
func (p *providerEntry) hasKey(option string) bool {
	return p.keys.get(option) != nil || option == "issuer" && p.keys.get("tenant_id") != nil
}

// authorization reads {params: {scope: …}} and an address with parameters.
func (p *providerEntry) authorization(n node) {
	v := p.plain(n)
	if v.kind != objectNode {
		if _, query, has := strings.Cut(v.text, "?"); has && p.builtIn && v.kind == textNode {
			p.authorizationQuery(query)
		} else if p.builtIn {
			p.add(Open, p.part(), n, "authorization is not copied: authsvc has the provider's own address; set authorization_url if yours differs")
		}
		return
	}
	if u, ok := v.get("url"); ok && p.builtIn {
		p.add(Open, p.part(), u, "authorization.url is not copied: set authorization_url if it is not the provider's own")
	}
	list, ok := v.get("params")
	if !ok {
		return
	}
	params := map[string]string{}
	p.each(list, p.part(), func(name string, value node) {
		text, readable := p.written(value, "a parameter of the authorization request")
		if number := p.plain(value); number.kind == numberNode || number.isName("true") || number.isName("false") {
			text, readable = number.text+number.name(), true
		}
		if !readable {
			p.add(Open, p.part(), value, "not understood: the authorization parameter %s", name)
			return
		}
		params[name] = text
	})
	p.params(params)
}

// clientMethod reads client: {token_endpoint_auth_method: …}.
func (p *providerEntry) clientMethod(n node) {
	p.each(n, p.part(), func(key string, value node) {
		v := p.plain(value)
		switch {
		case key == "token_endpoint_auth_method" && v.kind == textNode && slices.Contains([]string{"client_secret_basic", "client_secret_post", "none"}, v.text):
			p.keys.set("auth_method", v.text)
		default:
			p.add(Open, p.part(), value, "client.%s has no counterpart", key)
		}
	})
}

// profile reads profile(profile) {return {id: profile.sub, …}} as paths.
func (p *providerEntry) profile(n node) {
	fn := p.resolve(n)
	result, ok := fn.result()
	if fn.kind != functionNode || !ok || result.kind != objectNode || fn.params.from >= fn.params.to {
		p.add(Open, p.part(), n, "not understood: profile(); set profile.id, name, email and image to paths if they differ from the built-in ones")
		return
	}
	root := fn.params.tokens[fn.params.from].text
	paths := mapping{}
	for _, m := range result.members {
		value := m.value
		if m.spread {
			continue
		}
		path, readable := p.profilePath(value, root)
		switch {
		case slices.Contains([]string{"id", "name", "email", "image"}, m.key) && readable:
			if !p.builtIn {
				paths.set(m.key, path)
			}
		case slices.Contains([]string{"id", "name", "email", "image"}, m.key):
			p.add(Open, p.part(), value, "not understood: profile.%s; the built-in path is used", m.key)
		default:
			p.add(Open, p.part(), value, "profile() writes the column %s, and authsvc writes no column of yours: keep the value with session.claims, or write it in your application", m.key)
		}
	}
	if p.builtIn {
		verdict := Note
		if id, has := result.get("id"); has {
			if own, _ := p.profilePath(id, root); own != "sub" && own != "id" {
				verdict = Open
			}
		}
		p.add(verdict, p.part(), n, "profile() is not copied: authsvc has its own paths for id, name, email and image; compare the id, which finds the account")
		return
	}
	if len(paths) > 0 {
		p.keys.set("profile", paths)
	}
}

// profilePath returns profile.a.b as the path a.b, and alternatives with a bar.
func (p *providerEntry) profilePath(n node, root string) (string, bool) {
	switch {
	case n.kind == callNode && n.of.kind == nameNode && len(n.items) == 0 && n.of.path[len(n.of.path)-1] == "toString":
		return p.profilePath(node{kind: nameNode, in: n.in, path: n.of.path[:len(n.of.path)-1]}, root)
	case n.kind == callNode && n.of.isName("String") && len(n.items) == 1:
		return p.profilePath(n.items[0], root)
	case n.kind == fallbackNode:
		a, okA := p.profilePath(n.items[0], root)
		b, okB := p.profilePath(n.items[1], root)
		if okA && okB {
			return a + "|" + b, true
		}
		return a, okA
	case n.kind == nameNode && len(n.path) > 1 && n.path[0] == root && cleanWord(strings.Join(n.path[1:], "")):
		return strings.Join(n.path[1:], "."), true
	}
	return "", false
}
