package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/provider"
)

// A Gap is a part of a configuration that needs a value of the deployment, such as an
// environment variable that is not set here. With [Input.Development], the settings
// lack that part.
type Gap struct {
	Key      string // such as proxy_keys or hooks[0]
	Provider string // the ID of the provider, whose settings are incomplete; else empty
	Why      string // such as "client_secret is GITHUB_SECRET, which is not set"
}

// needs returns what a value is if it is not available on this machine: a variable that
// is not set, or a placeholder from the documentation. It returns "" if it is available.
func (l *loader) needs(v value) string {
	if v.shape == scalar && (v.raw == "…" || v.raw == "...") {
		return "a placeholder"
	}
	for _, named := range variable.FindAllString(strings.ReplaceAll(v.raw, "$${", ""), -1) {
		if name := strings.TrimSuffix(strings.TrimPrefix(named, "${"), "}"); isVariable(name) && l.input.Env[name] == "" {
			return name + ", which is not set"
		}
	}
	for _, item := range v.items {
		if why := l.needs(item); why != "" {
			return why
		}
	}
	for _, m := range v.members {
		if why := l.needs(m.value); why != "" {
			return why
		}
	}
	return ""
}

// available returns the members of the file without the parts that development replaces
// or can do without, if they need a value that is not available here. Other parts stay,
// so that their variables are reported: without them, the configuration would mean
// something else.
func (l *loader) available(members []member, fields []field) []member {
	spare := func(key string) bool {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		return i >= 0 && (fields[i].secret || key == "url" || key == "listen" || key == "storage.url")
	}
	var prune func(prefix string, members []member) []member
	prune = func(prefix string, members []member) (kept []member) {
		for _, m := range members {
			key := prefix + m.key
			switch {
			case key == "providers":
				items := slices.Clone(m.value.items)
				for i, item := range items {
					items[i] = l.availableProvider(fmt.Sprintf("providers[%d]", i), item)
				}
				m.value.items = items
			case key == "hooks":
				m.value.items = l.availableHooks(m.value.items)
			case spare(key) && l.input.Env[variablePrefix+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))] == "":
				if why := l.needs(m.value); why != "" {
					l.gaps = append(l.gaps, Gap{Key: key, Why: key + " is " + why})
					continue
				}
			case m.value.shape == mapping:
				m.value.members = prune(key+".", m.value.members)
			}
			kept = append(kept, m)
		}
		return kept
	}
	return prune("", members)
}

// availableHooks returns the hooks that can be called from here. An application
// elsewhere must not learn of the people of dev.
func (l *loader) availableHooks(items []value) (kept []value) {
	for i, item := range items {
		if why := l.needs(item); why != "" {
			l.gaps = append(l.gaps, Gap{Key: HookKey(i), Why: "it needs " + why})
			continue
		}
		address := variable.ReplaceAllStringFunc(item.member("url").raw, func(s string) string { return l.input.Env[s[2:len(s)-1]] })
		if Elsewhere(address) {
			l.gaps = append(l.gaps, Gap{Key: HookKey(i), Why: "its url is not on this machine"})
			continue
		}
		kept = append(kept, item)
	}
	return kept
}

// Elsewhere reports whether a URL names another machine.
func Elsewhere(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && !weburl.Loopback(u.Hostname())
}

// availableProvider returns the entry of a provider without the members that need a
// value that is not available here. Unless the provider sends mails, a [Gap] names it.
// Options that the loader needs have example values then.
func (l *loader) availableProvider(key string, item value) value {
	id, kind := item.member("id").raw, item.member("type").raw
	id, kind = cmp.Or(id, kind), cmp.Or(kind, id)
	known, builtIn := provider.Lookup(kind)
	if item.shape != mapping || id == "" || l.needs(item.member("id")) != "" || !builtIn && !slices.Contains(ownKinds(), kind) {
		return item
	}
	why, members := "", []member{}
	for _, m := range item.members {
		if lacks := l.needs(m.value); lacks == "" || l.hasVariable(id, m.key) {
			members = append(members, m)
		} else {
			why = cmp.Or(why, m.key+" is "+lacks)
		}
	}
	needed := neededKeys(known, kind, item)
	for _, k := range needed {
		if why == "" && item.member(k).shape == absent && !l.hasVariable(id, k) {
			why = k + " is missing"
		}
	}
	if why == "" {
		return item
	}
	if kind != "email" {
		l.gaps = append(l.gaps, Gap{Key: key, Provider: id, Why: why})
	}
	for _, o := range known.Options {
		if !slices.ContainsFunc(members, func(m member) bool { return m.key == o.Key }) && o.Required && !l.hasVariable(id, o.Key) {
			members = append(members, member{o.Key, item.place, value{shape: scalar, place: item.place, raw: o.Example}})
		}
	}
	item.members = members
	return item
}

// neededKeys returns the keys without which a provider cannot work.
func neededKeys(known provider.Entry, kind string, item value) (keys []string) {
	if kind == "email" || kind == "credentials" {
		return nil
	}
	if !known.NoClient {
		keys = append(keys, "client_id")
	}
	if !known.NoClient && !known.NoSecret && item.member("private_key").shape == absent && item.member("auth_method").raw != string(authsvc.AuthMethodNone) {
		keys = append(keys, "client_secret")
	}
	for _, o := range known.Options {
		if o.Required {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// hasVariable reports whether a variable sets a key of a provider.
func (l *loader) hasVariable(id, key string) bool {
	name := variablesOf(id) + cmp.Or(map[string]string{"client_id": "ID", "client_secret": "SECRET"}[key], strings.ToUpper(key))
	return l.input.Env[name] != "" || l.input.Env[name+"_FILE"] != ""
}

// member returns the value of a key of a mapping. It is absent if the key is.
func (v value) member(key string) value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return value{}
}
