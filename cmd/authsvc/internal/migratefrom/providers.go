package migratefrom

import (
	"path"
	"slices"
	"strings"

	"authsvc/provider"

	"authsvc/internal/text"
)

// readProviders returns the list providers.
func (r *reader) readProviders() (list []any) {
	n, ok := r.given("providers")
	if !ok {
		r.add(Open, "providers", r.entry, "the options have no providers")
		return nil
	}
	for _, item := range r.listed(n, maxSteps) {
		if p := r.readProvider(item); p != nil {
			list = append(list, p.keys)
		}
	}
	r.add(OK, "providers", n, "ids and callback URLs stay as they are, so nothing changes at the providers")
	return list
}

// listed returns the entries of a list, with those of the lists that it spreads and of
// both branches of conditions.
func (r *reader) listed(n node, steps int) (items []node) {
	v := r.resolve(n)
	switch {
	case steps == 0, v.kind == listNode && !r.works(len(v.items)):
	case v.kind == listNode:
		for _, item := range v.items {
			items = append(items, r.item(item, steps)...)
		}
		return items
	case v.kind == callNode && v.of.kind == memberNode && v.of.text == "filter" && v.of.of != nil:
		return r.listed(*v.of.of, steps-1)
	}
	r.add(Open, "providers", n, "not understood: it is not a list that can be read here")
	return nil
}

func (r *reader) item(item node, steps int) (items []node) {
	switch {
	case item.kind == conditionalNode:
		for _, branch := range item.items {
			branch.spread = item.spread
			if branch.isName("null") || branch.isName("undefined") || branch.isName("false") {
				continue
			}
			verdict := Open
			if r.variable(*item.of) != "" { // without its variable, it could not be used
				verdict = Note
			}
			r.add(verdict, "providers", branch, "is there only under a condition; the proposal has it in any case")
			items = append(items, r.item(branch, steps-1)...)
		}
	case item.spread:
		items = r.listed(item, steps-1)
	default:
		items = []node{item}
	}
	return items
}

// A providerEntry is an entry of the list while it is read.
type providerEntry struct {
	*reader
	id, kind string // the kind is that of NextAuth.js: the name of its file
	at       node
	options  map[string]node
	keys     mapping
	table    provider.Entry
	builtIn  bool
}

func (p *providerEntry) part() string { return "provider " + p.id }

// readProvider reads GitHub, GitHub({…}) or {id: "acme", …}.
func (r *reader) readProvider(item node) *providerEntry {
	p := &providerEntry{reader: r, at: item, options: map[string]node{}}
	v := r.resolve(item)
	switch {
	case v.kind == objectNode:
		p.options, p.kind = r.flat(v, "providers", true), "custom"
	case v.kind == functionNode: // () => ({ id: … })
		p.options, p.kind = r.flat(v, "providers", true), "custom"
	case v.kind == callNode && r.kindOf(*v.of) == "":
		if fn := r.resolve(*v.of); fn.kind == functionNode { // the application's own function
			p.options, p.kind = r.flat(fn, "providers", true), "custom"
		}
	case v.kind == callNode:
		p.kind = r.kindOf(*v.of)
		if len(v.items) > 0 {
			p.options = r.flat(v.items[0], "provider "+p.kind, true)
		}
	default:
		p.kind = r.kindOf(v)
	}
	if p.kind == "" {
		r.add(Open, "providers", item, "not understood: an entry of providers")
		return nil
	}
	if !p.identify() {
		return nil
	}
	switch {
	case p.isEmail():
		return p.email()
	case p.kind == "credentials" || p.optionText("type") == "credentials":
		return p.credentials()
	case p.builtIn:
		return p.known()
	}
	return p.custom()
}

// kindOf returns the name of the file that a provider is imported from, such as github,
// or "".
func (r *reader) kindOf(n node) string {
	from, name := r.origin(n)
	if before, kind, ok := strings.Cut(from, "/providers/"); ok && (before == "next-auth" || strings.HasPrefix(before, "@auth/")) {
		return strings.TrimSuffix(kind, path.Ext(kind))
	}
	if from == "next-auth/providers" || from == "@auth/core/providers" { // early versions
		return strings.ToLower(name)
	}
	return ""
}

// identify finds the id and the entry in the table of providers.
func (p *providerEntry) identify() bool {
	switch p.id = p.kind; p.kind {
	case "custom":
		p.id = ""
	case "duende-identity-server6": // the other files have the name of the id
		p.id = "duende-identityserver6"
	case "ory-hydra":
		p.id = "hydra"
	}
	if n, ok := p.options["id"]; ok {
		if v := p.plain(n); v.kind == textNode {
			p.id = v.text
		} else {
			p.add(Open, "providers", n, "not understood: the id of the provider")
			return false
		}
	}
	if p.id == "" || len(p.id) > 60 || strings.ContainsFunc(p.id, func(c rune) bool {
		return c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}) {
		p.add(Open, "providers", p.at, "the id %q has other characters than a-z, 0-9, - and _, which authsvc does not take: the rows of accounts need another provider name, too", p.id)
		return false
	}
	kind := p.kind
	if kind == "twitter" && p.version == 4 && p.optionText("version") != "2.0" {
		kind = "twitter-legacy" // the default of version 4
	}
	if p.table, p.builtIn = provider.Lookup(kind); !p.builtIn && p.kind != "custom" {
		if fate, gone := provider.Discontinued(kind); gone {
			p.add(Open, p.part(), p.at, "%s", fate)
			return false
		}
	}
	p.keys.set("id", p.id)
	if p.builtIn && p.id != p.table.ID {
		p.keys.set("type", p.table.ID)
	}
	return true
}

// optionText returns an option that is a text in the source.
func (p *providerEntry) optionText(key string) string {
	if n, ok := p.options[key]; ok {
		if v := p.plain(n); v.kind == textNode {
			return v.text
		}
	}
	return ""
}

// known reads the options of a built-in provider.
func (p *providerEntry) known() *providerEntry {
	if name := p.optionText("name"); name != "" && name != p.table.Name {
		p.keys.set("name", literally(name))
	}
	p.client()
	for _, o := range p.table.Options {
		p.tableOption(o)
	}
	p.common()
	p.add(OK, p.part(), p.at, "%s", p.table.Name)
	return p
}

// client reads clientId and clientSecret. Version 5 takes them from AUTH_<ID>_ID and
// AUTH_<ID>_SECRET if they are not given.
func (p *providerEntry) client() {
	if p.table.NoClient {
		return
	}
	p.keys.set("client_id", p.value("clientId", "ID", "the client id at "+p.id, false))
	if !p.builtIn || !p.table.NoSecret {
		p.keys.set("client_secret", p.value("clientSecret", "SECRET", "the client secret at "+p.id, true))
	} else if n, ok := p.options["clientSecret"]; ok {
		p.add(Note, p.part(), n, "authsvc makes the client secret itself, from private_key")
	}
}

// suffix returns the provider's id in names of variables.
func (p *providerEntry) suffix() string {
	return strings.ToUpper(strings.ReplaceAll(p.id, "-", "_"))
}

// value returns an option as a reference or a text. A secret in the source is not
// copied.
func (p *providerEntry) value(key, variable, use string, secret bool) string {
	own := "AUTHSVC_" + p.suffix() + "_" + variable
	n, ok := p.options[key]
	if !ok && p.version == 5 {
		return p.use("AUTH_"+p.suffix()+"_"+variable, use)
	}
	if !ok {
		p.add(Open, p.part(), p.at, "%s is not given: set %s", key, own)
		return p.use(own, use)
	}
	if text, readable := p.written(n, use); readable && (!secret || onlyReferences(text)) {
		return text
	} else if readable {
		p.add(Open, p.part(), n, "%s is written in the source: put it into %s", key, own)
		return p.use(own, use)
	}
	p.add(Open, p.part(), n, "%s is not understood: set %s", key, own)
	return p.use(own, use)
}

// onlyReferences reports whether a value of the proposal has no text of the source.
func onlyReferences(text string) bool { return references.MatchString(text) }

var references = text.LazyRegexp(`^(\$\{[A-Za-z0-9_]+\})+$`)

// maxWritten is how long a value of the proposal may be. Without it, templates of
// templates could double it each time.
const maxWritten = 16 << 10

// written returns a value for the proposal: a text of the source, or a reference to an
// environment variable, or a template of both.
func (r *reader) written(n node, use string) (string, bool) {
	if name := r.variable(n); name != "" {
		return r.use(name, use), true
	}
	v := r.plain(n)
	switch v.kind {
	case textNode:
		return literally(v.text), len(v.text) <= maxWritten
	case templateNode:
		text := literally(v.parts[0])
		for i, item := range v.items {
			part, ok := r.written(item, use)
			if !ok {
				return "", false
			}
			if text += part + literally(v.parts[i+1]); len(text) > maxWritten {
				return "", false
			}
		}
		return text, true
	}
	return "", false
}

// tableOption reads an option of a built-in provider, such as issuer.
func (p *providerEntry) tableOption(o provider.Option) {
	names := map[string][]string{
		"issuer": {"issuer"}, "tenant_id": {"tenantId"}, "base_url": {"baseUrl"}, "api_key": {"apiKey", "clientSecret"}, "shop": {"shop"},
		"team_id": {"teamId"}, "key_id": {"keyId"}, "private_key": {"privateKey"}, "organization": {"organization"}, "connection": {"connection"},
		"account_id": {"accountId"}, "domain": {"domain"}, "user_agent": {"userAgent"}, "authority": {"authority"},
	}[o.Key]
	for _, name := range names {
		n, ok := p.options[name]
		if !ok {
			continue
		}
		if text, readable := p.written(n, o.Doc); readable && (!o.Secret || onlyReferences(text)) {
			p.keys.set(o.Key, text)
			return
		}
		p.add(Open, p.part(), n, "%s is not understood: set %s", name, o.Key)
	}
	inferred := "AUTH_" + p.suffix() + "_ISSUER"
	switch {
	case o.Key == "issuer" && p.version == 5 && (o.Required || p.env.mentions(inferred)):
		p.keys.set(o.Key, p.use(inferred, o.Doc))
	case o.Key == "tenant_id" && p.hasAuthority():
		p.issuerTenant()
	case o.Key == "organization" && p.keys.get("connection") != nil: // WorkOS needs one of them
	case o.Required:
		variable := "AUTHSVC_" + p.suffix() + "_" + strings.ToUpper(o.Key)
		p.add(Open, p.part(), p.at, "%s is needed: set %s to %s", o.Key, variable, o.Doc)
		p.keys.set(o.Key, p.use(variable, o.Doc))
	}
}

// hasAuthority reports whether the provider builds its issuer from a tenant, as those of
// Microsoft do.
func (p *providerEntry) hasAuthority() bool {
	return slices.ContainsFunc(p.table.Options, func(o provider.Option) bool { return o.Key == "authority" })
}

// issuerTenant reads the tenant from an issuer of Microsoft. Without tenant_id, authsvc
// accepts people of every tenant. So if the tenant cannot be read here, the proposal
// names a variable, and authsvc does not start until it is set.
func (p *providerEntry) issuerTenant() {
	n, ok := p.options["issuer"]
	switch {
	case ok && p.variable(n) == "":
		text, readable := p.written(n, "the issuer at Microsoft, whose path begins with the tenant")
		_, rest, found := strings.Cut(text, "://login.microsoftonline.com/")
		tenant, _, _ := strings.Cut(rest, "/")
		if readable && found && tenant != "" {
			p.keys.set("tenant_id", tenant)
			return
		}
	case !ok && (p.version != 5 || !p.env.mentions("AUTH_"+p.suffix()+"_ISSUER")):
		return
	case !ok:
		n = p.at
	}
	variable := "AUTHSVC_" + p.suffix() + "_TENANT_ID"
	p.add(Open, p.part(), n, "the tenant is in the issuer: set %s to the part after the host; without it, people of every tenant could sign in", variable)
	p.keys.set("tenant_id", p.use(variable, "the tenant, which is the first part of the path of the issuer"))
}
