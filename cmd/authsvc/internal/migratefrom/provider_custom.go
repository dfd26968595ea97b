package migratefrom

import (
	"net/url"
	"slices"
	"strings"
)

// custom reads a provider that is not built in.
func (p *providerEntry) custom() *providerEntry {
	kind := p.optionText("type")
	wellKnown, hasWellKnown := p.options["wellKnown"]
	_, hasIssuer := p.options["issuer"]
	switch {
	case p.kind == "passkey" || p.kind == "webauthn":
		p.add(Open, p.part(), p.at, "authsvc has no passkeys")
		return nil
	case p.kind != "custom":
		p.add(Open, p.part(), p.at, "is not a provider of authsvc: write it as type oidc or oauth2 (docs/configuration.md)")
		return nil
	case kind == "oidc", kind == "oauth" && (hasWellKnown || hasIssuer) && !p.hasEndpoints():
		p.keys.set("type", "oidc")
	case kind == "oauth":
		p.keys.set("type", "oauth2")
	default:
		p.add(Open, p.part(), p.at, "not understood: its type")
		return nil
	}
	if name := p.optionText("name"); name != "" {
		p.keys.set("name", literally(name))
	}
	p.client()
	if hasIssuer || p.keys.get("type") == "oidc" {
		p.issuer(wellKnown, hasWellKnown)
	}
	p.endpoints()
	p.common()
	p.add(OK, p.part(), p.at, "custom, as type %s", p.keys.get("type"))
	return p
}

func (p *providerEntry) hasEndpoints() bool {
	_, token := p.options["token"]
	_, authorization := p.options["authorization"]
	return token && authorization
}

// issuer reads the issuer, or takes it from the address of the metadata.
func (p *providerEntry) issuer(wellKnown node, has bool) {
	const use = "the issuer, exactly as in ID tokens"
	if _, given := p.options["issuer"]; given || !has {
		p.keys.set("issuer", p.value("issuer", "ISSUER", use, false))
		return
	}
	text, readable := p.written(wellKnown, use)
	if before, found := strings.CutSuffix(text, "/.well-known/openid-configuration"); readable && found {
		p.keys.set("issuer", before)
		return
	}
	variable := "AUTHSVC_" + p.suffix() + "_ISSUER"
	p.add(Open, p.part(), wellKnown, "the issuer is not known: set %s", variable)
	p.keys.set("issuer", p.use(variable, use))
	if readable {
		p.keys.set("discovery_url", text)
	}
}

// endpoints reads the addresses of a custom provider.
func (p *providerEntry) endpoints() {
	for _, e := range []struct{ option, key string }{
		{"authorization", "authorization_url"}, {"token", "token_url"}, {"userinfo", "userinfo_url"}, {"jwks_endpoint", "jwks_url"},
	} {
		n, ok := p.options[e.option]
		if ok && p.plain(n).kind == objectNode {
			n, ok = p.plain(n).get("url")
		}
		needed := p.keys.get("type") == "oauth2" && e.key != "jwks_url"
		if !ok && !needed {
			continue
		}
		text, readable := "", false
		if ok {
			text, readable = p.written(n, "an address of "+p.id)
		}
		if !readable {
			variable := "AUTHSVC_" + p.suffix() + "_" + strings.ToUpper(e.key)
			p.add(Open, p.part(), p.at, "%s is not understood or not given: set %s", e.option, variable)
			text = p.use(variable, "an address of "+p.id)
		}
		if bare, query, has := strings.Cut(text, "?"); has && e.option == "authorization" {
			text = bare
			p.authorizationQuery(query)
		}
		p.keys.set(e.key, text)
	}
}

// authorizationQuery reads the parameters in the address of the authorization endpoint.
func (p *providerEntry) authorizationQuery(query string) {
	values, err := url.ParseQuery(query)
	if err != nil || strings.Contains(strings.ToLower(query), "%24") { // a dollar sign could become part of a reference
		p.add(Open, p.part(), p.at, "not understood: the parameters of authorization")
		return
	}
	params := map[string]string{}
	for name := range values {
		params[name] = values.Get(name)
	}
	p.params(params)
}

// params sets scope and authorization_params.
func (p *providerEntry) params(params map[string]string) {
	own := []string{"client_id", "redirect_uri", "response_type", "state", "nonce", "code_challenge", "code_challenge_method"}
	more := map[string]string{}
	for _, name := range keysOf(params) {
		switch {
		case name == "scope":
			p.keys.set("scope", params[name])
		case slices.Contains(own, name):
			p.add(Note, p.part(), p.at, "authorization parameter %s: authsvc sets it itself", name)
		default:
			more[name] = params[name]
		}
	}
	if len(more) > 0 {
		var list mapping
		for _, name := range keysOf(more) {
			list.set(name, more[name])
		}
		p.keys.set("authorization_params", list)
	}
}
