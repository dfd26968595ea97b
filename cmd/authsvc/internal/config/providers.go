package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"authsvc"
	"authsvc/provider"
)

// ProviderID returns the ID of a provider of a kind that a file can describe.
func ProviderID(p authsvc.Provider) string {
	switch p := p.(type) {
	case *authsvc.OAuth:
		return p.ID
	case *authsvc.OAuth1:
		return p.ID
	case *authsvc.OpenID2:
		return p.ID
	case *authsvc.Email:
		return p.ID
	case *authsvc.Credentials:
		return p.ID
	}
	return ""
}

// An entry is one element of providers while it is read.
type entry struct {
	key     string // providers[N]
	id      string
	oauth   *authsvc.OAuth
	oauth1  *authsvc.OAuth1
	openID2 *authsvc.OpenID2
	email   authsvc.Email
	mail    Mail

	credentials authsvc.Credentials
	hook        Hook

	discard string
}

// refusedTypes returns the kinds of provider that a file cannot describe, each with the
// problem and the fix.
func refusedTypes() map[string][2]string {
	return map[string][2]string{
		"openid2": {"is openid2, which only built-in providers can have", "use id: steam, or embed the library and use authsvc.OpenID2"},
	}
}

// foreignOptions returns the keys of all options in the table of providers.
func foreignOptions() []string {
	var keys []string
	for _, e := range provider.All() {
		for _, o := range e.Options {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// providers reads the list, and then the providers that only the environment enables.
func (l *loader) providers(s *Settings, v value) {
	switch v.shape {
	case unreadable:
		l.unread["providers"] = true
	case scalar, mapping:
		l.note(v.place, "providers", "is "+v.shape.name()+", not a list", "begin each provider with a dash: - {id: github, …}")
		l.unread["providers"] = v.shape == scalar
		v.items = v.named()
	}
	var ids []string
	for i, item := range v.items {
		key := fmt.Sprintf("providers[%d]", i)
		l.places[key] = item.place
		id := ""
		switch item.shape {
		case mapping:
			id = l.provider(s, key, item.members)
		case scalar, list, absent:
			l.fail(item.place, key, "is "+item.shape.name()+", not a mapping", "write {id: github, client_id: …, client_secret: …}")
		}
		if len(s.Engine.Providers) == i { // the provider could not be made
			l.unread[key] = true
			s.Engine.Providers = append(s.Engine.Providers, &authsvc.OAuth{ID: id})
		}
		ids = append(ids, id)
	}
	for _, known := range provider.All() {
		named := func(id string) bool { return slices.Contains(ids, id) }
		if named(known.ID) || slices.ContainsFunc(known.Aliases, named) {
			continue
		}
		for _, id := range append([]string{known.ID}, known.Aliases...) {
			if l.anySet(id, variablesFor(known)...) {
				l.addFromEnvironment(s, id)
				break
			}
		}
	}
	if !slices.Contains(ids, "email") && l.anySet("email", "SERVER", "FROM") {
		l.addFromEnvironment(s, "email")
	}
}

// named returns the entries of a mapping that should have been a list: one entry, or
// one under each ID.
func (v value) named() []value {
	for _, m := range v.members {
		if m.value.shape != mapping {
			return []value{v}[:min(1, len(v.members))]
		}
	}
	var items []value
	for _, m := range v.members {
		item := m.value
		if !slices.ContainsFunc(item.members, func(o member) bool { return o.key == "id" }) {
			item.members = append([]member{{key: "id", place: m.place, value: value{shape: scalar, place: m.place, raw: m.key}}}, item.members...)
		}
		items = append(items, item)
	}
	return items
}

// variablesFor returns the suffixes of the variables that enable a provider. One of
// them is enough.
func variablesFor(known provider.Entry) []string {
	if !known.NoClient {
		return []string{"ID", "SECRET"}
	}
	var names []string
	for _, o := range known.Options {
		if o.Required {
			names = append(names, strings.ToUpper(o.Key))
		}
	}
	return names
}

// addFromEnvironment adds a provider that the file does not name.
func (l *loader) addFromEnvironment(s *Settings, id string) {
	key := fmt.Sprintf("providers[%d]", len(s.Engine.Providers))
	l.places[key] = strings.TrimSuffix(variablesOf(id), "_")
	l.provider(s, key, []member{{key: "id", value: value{shape: scalar, raw: id}}})
}

// variablesOf returns the prefix of the variables of a provider.
func variablesOf(id string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(id, "-", "_")) + "_"
}

func (l *loader) anySet(id string, names ...string) bool {
	set := false
	for _, name := range names {
		for _, variable := range []string{variablesOf(id) + name, variablesOf(id) + name + "_FILE"} {
			l.used[variable] = true
			set = set || l.input.Env[variable] != ""
		}
	}
	return set
}

// provider reads one entry, adds the provider that it describes, and returns its ID.
func (l *loader) provider(s *Settings, key string, members []member) string {
	keys := namesAt("", slices.Concat((&entry{oauth: &authsvc.OAuth{}}).oauthFields(), (&entry{}).emailFields(), (&entry{}).credentialsFields()))
	members = l.respell(key+".", members, keys, "id", "type")
	id, typ := l.scalarMember(key, "id", members), l.scalarMember(key, "type", members)
	if id == "" {
		id = typ
	}
	if l.unread[key+".id"] || l.unread[key+".type"] {
		return id
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
	if n := l.meant(kind, builtIn); n != "" {
		l.unknownKind(key, kind)
		if e.id, kind = cmp.Or(typ, n), n; typ != "" {
			e.id = id
		}
		id = e.id
		known, builtIn = provider.Lookup(kind)
	}
	switch {
	case kind == "oidc" || kind == "oauth2": // before the table, because every key is optional here
		e.oauth = &authsvc.OAuth{ID: id, OpenID: kind == "oidc"}
		l.readSection(key+".", variablesOf(id), l.refuseForeign(key, kind, members, e.oauthFields()), e.oauthFields())
		s.Engine.Providers = append(s.Engine.Providers, e.oauth)
	case kind == "oauth1":
		e.oauth1 = &authsvc.OAuth1{ID: id}
		l.readSection(key+".", variablesOf(id), l.refuseForeign(key, kind, members, e.oauth1Fields()), e.oauth1Fields())
		s.Engine.Providers = append(s.Engine.Providers, e.oauth1)
	case builtIn:
		l.builtIn(s, e, known, members)
	case kind == "email":
		e.email.ID = id
		l.readSection(key+".", variablesOf(id), members, e.emailFields())
		e.mail.Key, e.mail.Provider = key, &e.email
		s.Engine.Providers = append(s.Engine.Providers, &e.email)
		s.Mail = append(s.Mail, e.mail)
	case kind == "credentials":
		e.credentials.ID = id
		l.readSection(key+".", variablesOf(id), members, e.credentialsFields())
		s.Engine.Providers = append(s.Engine.Providers, &e.credentials)
		s.Credentials = append(s.Credentials, Credentials{Provider: &e.credentials, Key: key, Hook: e.hook})
	default:
		l.unknownKind(key, kind)
	}
	return id
}

// scalarMember reads a key of an entry before the others. It returns "" if the key is
// missing.
func (l *loader) scalarMember(key, name string, members []member) string {
	for _, m := range members {
		if m.key != name {
			continue
		}
		at := key + "." + name
		l.places[at] = cmp.Or(m.place, l.places[key])
		switch m.value.shape {
		case scalar:
			return l.expandText(at, m.value)
		case list, mapping:
			l.fail(m.place, at, m.value.shape.notText(), "write one word, such as github")
		case unreadable:
			l.unread[at] = true
		}
	}
	return ""
}

// builtIn adds a provider of the table. It reads the client and the options first. The
// rest of the entry overrides the fields that New returned.
func (l *loader) builtIn(s *Settings, e *entry, known provider.Entry, members []member) {
	options, client := map[string]string{}, authsvc.Client{}
	fields := optionFields(known, options)
	if !known.NoClient {
		fields = append(fields, field{key: "client_id", into: stringVar(&client.ID), name: "ID"},
			field{key: "client_secret", into: secretVar(&client.Secret), name: "SECRET", secret: true})
	}
	var ownKeys []string
	for _, f := range fields {
		ownKeys = append(ownKeys, f.key)
	}
	isOwn := func(key string) bool { return slices.Contains(ownKeys, key) }
	all := namesAt("", (&entry{oauth: &authsvc.OAuth{}}).oauthFields(), ownKeys...)
	members = l.respell(e.key+".", members, all, ownKeys...)
	own := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return !isOwn(m.key) })
	rest := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return isOwn(m.key) })
	l.readSection(e.key+".", variablesOf(e.id), own, fields)
	if known.NoSecret && client.Secret != "" {
		key := e.key + ".client_secret"
		l.fail(cmp.Or(l.places[key], l.places[e.key]), key, "is given, but "+known.ID+" takes none", noSecretFix(known))
	}
	made := l.make(e, known, client, options)
	if made == nil {
		return
	}
	others := slices.DeleteFunc(e.adopt(made), func(f field) bool { return isOwn(f.key) })
	l.readSection(e.key+".", variablesOf(e.id), l.refuseForeign(e.key, known.ID, rest, others), others, ownKeys...)
	s.Engine.Providers = append(s.Engine.Providers, made)
}

// noSecretFix says which option a provider has instead of a client secret.
func noSecretFix(known provider.Entry) string {
	for _, o := range known.Options {
		if o.Secret {
			return "remove it; client secrets are made from " + o.Key
		}
	}
	return "remove it"
}

// adopt sets the ID of made, which a built-in provider's New returned, to that of the
// entry. It returns the fields that override made. They must write to made itself,
// because its functions may refer to it.
func (e *entry) adopt(made authsvc.Provider) []field {
	switch p := made.(type) {
	case *authsvc.OAuth:
		p.ID, e.oauth = e.id, p
		return e.oauthFields()
	case *authsvc.OAuth1:
		p.ID, e.oauth1 = e.id, p
		return e.oauth1Fields()
	case *authsvc.OpenID2:
		p.ID, e.openID2 = e.id, p
		return e.openID2Fields()
	}
	return nil
}

// optionFields returns the fields that a provider takes besides client ID and secret.
func optionFields(known provider.Entry, into map[string]string) []field {
	var fields []field
	for _, o := range known.Options {
		fields = append(fields, field{key: o.Key, secret: o.Secret, into: setter{kind: "text", fix: "write one value", set: func(v value) string {
			if v.shape != scalar {
				return v.shape.notText()
			}
			into[o.Key] = v.text
			return ""
		}}})
	}
	return fields
}

// make makes a provider of the table. It records every option that is missing or wrong,
// and continues with an example in its place, so that the rest is checked too. It
// returns nil if the example does not help.
func (l *loader) make(e *entry, known provider.Entry, client authsvc.Client, options map[string]string) authsvc.Provider {
	for first := true; ; first = false {
		made, err := known.New(client, options)
		if err == nil {
			return made
		}
		if first && l.fillOptions(e, known, options) {
			continue
		}
		var wrong *provider.OptionError
		if !errors.As(err, &wrong) {
			l.fail(l.places[e.key], e.key, "cannot be made", err.Error())
			return nil
		}
		key := e.key + "." + wrong.Key
		if !l.unread[key] {
			l.fail(cmp.Or(l.places[key], l.places[e.key]), key, wrong.Problem, wrong.Fix)
		}
		i := slices.IndexFunc(known.Options, func(o provider.Option) bool { return o.Key == wrong.Key })
		if i < 0 || options[wrong.Key] == known.Options[i].Example {
			return nil
		}
		options[wrong.Key] = known.Options[i].Example
	}
}

// fillOptions records required options that are missing, sets them to examples, and
// reports whether there were any.
func (l *loader) fillOptions(e *entry, known provider.Entry, options map[string]string) (filled bool) {
	for _, o := range known.Options {
		key := e.key + "." + o.Key
		if !o.Required || options[o.Key] != "" {
			continue
		}
		if !l.unread[key] {
			l.fail(l.places[e.key], key, "is missing", "write "+o.Doc+" (or set "+variablesOf(e.id)+strings.ToUpper(o.Key)+")")
		}
		options[o.Key], filled = o.Example, true
	}
	return filled
}

// refuseForeign records options that only other providers take as mistakes, and returns
// the other members. known holds the fields of this provider.
func (l *loader) refuseForeign(key, kind string, members []member, known []field) []member {
	foreign := foreignOptions()
	return slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		wrong := slices.Contains(foreign, m.key) && !slices.ContainsFunc(known, func(f field) bool { return f.key == m.key })
		if wrong {
			l.fail(m.place, key+"."+m.key, "is an option that "+kind+" does not take", "remove it; `authsvc providers` lists options")
		}
		return wrong
	})
}
