package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"authsvc"
	"authsvc/provider"
)

// ProviderID is the id of a provider that a file can describe.
func ProviderID(p authsvc.Provider) string {
	switch p := p.(type) {
	case *authsvc.OAuth:
		return p.ID
	case *authsvc.Email:
		return p.ID
	}
	return ""
}

// An entry is one element of providers while it is read.
type entry struct {
	key    string // providers[N]
	id     string
	oauth  *authsvc.OAuth
	email  authsvc.Email
	mail   Mail
	ignore string
}

// oauthFields is the table of keys of OAuth and OpenID Connect providers.
func (e *entry) oauthFields() []field {
	o := e.oauth
	return []field{
		{key: "id", into: text(&e.ignore), name: "-"},
		{key: "type", into: text(&e.ignore), name: "-"},
		{key: "name", into: text(&o.Name)},
		{key: "client_id", into: text(&o.Client.ID), name: "ID"},
		{key: "client_secret", into: secretText(&o.Client.Secret), name: "SECRET", secret: true},
		{key: "issuer", into: text(&o.Issuer)},
		{key: "authorization_url", into: text(&o.AuthorizationURL)},
		{key: "token_url", into: text(&o.TokenURL)},
		{key: "userinfo_url", into: text(&o.UserInfoURL)},
		{key: "jwks_url", into: text(&o.JWKSURL)},
		{key: "revocation_url", into: text(&o.RevocationURL)},
		{key: "end_session_url", into: text(&o.EndSessionURL)},
		{key: "discovery_url", into: text(&o.DiscoveryURL)},
		{key: "tenants", into: texts(&o.Tenants)},
		{key: "hosts", into: texts(&o.Hosts)},
		{key: "scope", into: text(&o.Scope)},
		{key: "authorization_params", into: textMap(&o.AuthorizationParams)},
		{key: "authorization_fragment", into: text(&o.AuthorizationFragment)},
		{key: "token_params", into: textMap(&o.TokenParams)},
		{key: "client_id_param", into: text(&o.ClientIDParam)},
		{key: "auth_method", into: text(&o.AuthMethod)},
		{key: "response_mode", into: text(&o.ResponseMode)},
		{key: "signing_algs", into: texts(&o.SigningAlgs)},
		{key: "checks", into: texts(&o.Checks)},
		{key: "headers", into: textMap(&o.Headers)},
		{key: "userinfo_method", into: text(&o.UserInfoMethod)},
		{key: "userinfo_body", into: text(&o.UserInfoBody)},
		{key: "userinfo_auth", into: text(&o.UserInfoAuth)},
		{key: "userinfo_headers", into: textMap(&o.UserInfoHeaders)},
		{key: "profile.id", into: text(&o.Fields.ID)},
		{key: "profile.name", into: text(&o.Fields.Name)},
		{key: "profile.email", into: text(&o.Fields.Email)},
		{key: "profile.email_verified", into: text(&o.Fields.EmailVerified)},
		{key: "profile.image", into: text(&o.Fields.Image)},
		{key: "userinfo_claims", into: truth(&o.UserInfoClaims)},
		{key: "trust_email", into: truth(&o.TrustEmail)},
		{key: "verified_text", into: truth(&o.VerifiedText)},
		{key: "logout_at_provider", into: truth(&o.LogoutAtProvider)},
		{key: "link_verified_email", into: truth(&o.LinkVerifiedEmail)},
		{key: "style.logo", into: text(&o.Style.Logo)},
		{key: "style.background", into: text(&o.Style.Background)},
		{key: "style.text", into: text(&o.Style.Text)},
	}
}

// emailFields is the table of keys of e-mail providers.
func (e *entry) emailFields() []field {
	return []field{
		{key: "id", into: text(&e.ignore), name: "-"},
		{key: "type", into: text(&e.ignore), name: "-"},
		{key: "name", into: text(&e.email.Name)},
		{key: "server", into: secretText(&e.mail.Server), secret: true},
		{key: "from", into: text(&e.email.From)},
		{key: "max_age", into: duration(&e.email.MaxAge)},
		{key: "inbox_url", into: text(&e.email.InboxURL)},
		{key: "helo", into: text(&e.mail.HELO)},
		{key: "insecure_no_tls", into: truth(&e.mail.InsecureNoTLS)},
	}
}

// refusedTypes are kinds of provider that a file cannot describe.
func refusedTypes() map[string][2]string {
	return map[string][2]string{
		"oauth1":      {"is oauth1, which is not in this version", "use a provider with OAuth 2.0 or OpenID Connect"},
		"openid2":     {"is openid2, which is not in this version", "use a provider with OAuth 2.0 or OpenID Connect"},
		"credentials": {"is credentials, which takes Go code to judge a password", "embed the library and use authsvc.Credentials"},
	}
}

// laterOptions are keys that providers of other versions take.
func laterOptions() []string {
	return []string{"tenant", "team_id", "key_id", "private_key", "api_key", "base_url", "account_id", "shop"}
}

// providers reads the list and then what the environment alone enables.
func (l *loader) providers(s *Settings, v value) {
	if v.shape == scalar || v.shape == mapping {
		l.fail(v.place, "providers", "is no list", "begin each provider with a dash: - {id: github, …}")
	}
	var ids []string
	for i, item := range v.items {
		key := fmt.Sprintf("providers[%d]", i)
		l.places[key] = item.place
		if item.shape != mapping {
			l.fail(item.place, key, "is no mapping", "write {id: github, client_id: …, client_secret: …}")
			continue
		}
		if id := l.provider(s, key, item.members); id != "" {
			ids = append(ids, id)
		}
	}
	for _, known := range provider.All() {
		if !slices.Contains(ids, known.ID) && l.isSet(known.ID, "ID", "SECRET") {
			l.fromEnvironment(s, known.ID)
		}
	}
	if !slices.Contains(ids, "email") && l.isSet("email", "SERVER", "FROM") {
		l.fromEnvironment(s, "email")
	}
}

// fromEnvironment adds a provider that the file does not name.
func (l *loader) fromEnvironment(s *Settings, id string) {
	key := fmt.Sprintf("providers[%d]", len(s.Engine.Providers))
	l.places[key] = strings.TrimSuffix(variablesOf(id), "_")
	l.provider(s, key, []member{{key: "id", value: value{shape: scalar, raw: id}}})
}

// variablesOf begins the variables of a provider.
func variablesOf(id string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(id, "-", "_")) + "_"
}

func (l *loader) isSet(id string, names ...string) bool {
	set := false
	for _, name := range names {
		for _, variable := range []string{variablesOf(id) + name, variablesOf(id) + name + "_FILE"} {
			l.used[variable] = true
			set = set || l.input.Env[variable] != ""
		}
	}
	return set
}

// provider reads one entry, adds what it makes and returns its id.
func (l *loader) provider(s *Settings, key string, members []member) string {
	id, typ := l.word(key, "id", members), l.word(key, "type", members)
	if id == "" {
		id = typ
	}
	if id == "" {
		l.fail(l.places[key], key+".id", "is missing", "name the provider, such as github, or any word with type: oidc")
		return ""
	}
	kind := cmp.Or(typ, id)
	if reason, ok := refusedTypes()[kind]; ok {
		l.fail(l.places[key], key+".type", reason[0], reason[1])
		return id
	}
	e := &entry{key: key, id: id}
	known, builtIn := provider.Lookup(kind)
	switch {
	case builtIn:
		l.builtIn(s, e, known, members)
	case kind == "oidc" || kind == "oauth2":
		e.oauth = &authsvc.OAuth{ID: id, OpenID: kind == "oidc"}
		l.section(key+".", variablesOf(id), l.withoutLater(key, kind, members), e.oauthFields())
		s.Engine.Providers = append(s.Engine.Providers, e.oauth)
	case kind == "email":
		e.email.ID = id
		l.section(key+".", variablesOf(id), members, e.emailFields())
		e.mail.Key, e.mail.Provider = key, &e.email
		s.Engine.Providers = append(s.Engine.Providers, &e.email)
		s.Mail = append(s.Mail, e.mail)
	default:
		l.unknownKind(key, kind)
	}
	return id
}

// word reads a key of an entry ahead of the others.
func (l *loader) word(key, name string, members []member) string {
	for _, m := range members {
		if m.key == name && m.value.shape == scalar {
			l.places[key+"."+name] = cmp.Or(m.place, l.places[key])
			return l.expandText(key+"."+name, m.value)
		}
	}
	return ""
}

// builtIn makes a provider of the table: its options are read first, then
// everything that the entry overrides is written over what New made.
func (l *loader) builtIn(s *Settings, e *entry, known provider.Entry, members []member) {
	options := map[string]string{}
	var optionFields []field
	for _, o := range known.Options {
		optionFields = append(optionFields, field{key: o.Key, secret: true, into: target{"text", "write one value", func(v value) string {
			options[o.Key] = v.text
			return ""
		}}})
	}
	isOption := func(m member) bool {
		return slices.ContainsFunc(known.Options, func(o provider.Option) bool { return o.Key == m.key })
	}
	own := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return !isOption(m) })
	rest := slices.DeleteFunc(slices.Clone(members), isOption)
	l.section(e.key+".", variablesOf(e.id), own, optionFields)
	for _, o := range known.Options {
		if o.Required && options[o.Key] == "" {
			l.fail(l.places[e.key], e.key+"."+o.Key, "is missing", o.Doc)
		}
	}
	// The value that New returns has to be the one that is changed: its
	// functions may look at it.
	e.oauth = known.New(authsvc.Client{}, options)
	e.oauth.ID = e.id
	l.section(e.key+".", variablesOf(e.id), l.withoutLater(e.key, known.ID, rest), e.oauthFields())
	s.Engine.Providers = append(s.Engine.Providers, e.oauth)
}

// withoutLater refuses options that no provider of this version takes.
func (l *loader) withoutLater(key, kind string, members []member) []member {
	return slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		later := slices.Contains(laterOptions(), m.key)
		if later {
			l.fail(m.place, key+"."+m.key, "is an option that "+kind+" does not take", "remove it; `authsvc providers` lists options")
		}
		return later
	})
}

func (l *loader) unknownKind(key, kind string) {
	names := []string{"oidc", "oauth2", "email"}
	for _, e := range provider.All() {
		names = append(names, e.ID)
	}
	mend := "use one of " + strings.Join(names, ", ")
	if n := nearest(kind, names); n != "" {
		mend = "did you mean " + n + "? With type: oidc or oauth2 any name goes"
	}
	place := l.places[key+".type"]
	l.fail(cmp.Or(place, l.places[key+".id"], l.places[key]), key, printable(kind)+" is no provider of this version", mend)
}
