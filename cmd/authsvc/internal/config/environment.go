package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/text"
	"authsvc/provider"
)

const variablePrefix = "AUTHSVC_"

// maxSecretFile is the maximum size of a file that a *_FILE variable names, in bytes.
const maxSecretFile = 64 << 10

// variable returns the environment variable of a field, or "" if it has none.
func (f field) variable(prefix string) string {
	if f.name == "-" || f.into.kind == "mapping of texts" {
		return ""
	}
	name := f.name
	if name == "" {
		name = strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
	}
	return prefix + name
}

// override returns the value from the command line or the environment that overrides
// the file. Empty variables count as unset, because compose files unset a variable that
// way.
func (l *loader) override(f field, key, variable string) (value, bool) {
	if v, ok := l.input.Flags[key]; ok {
		return value{shape: scalar, place: "--" + key, raw: v, text: v}, true
	}
	if variable == "" {
		return value{}, false
	}
	l.used[variable], l.used[variable+"_FILE"] = true, true
	plain, file := l.input.Env[variable], l.input.Env[variable+"_FILE"]
	switch {
	case plain != "" && file != "" && f.secret:
		l.unread[key] = true
		l.fail(variable, "", "is set, and so is "+variable+"_FILE", "keep one of them")
	case plain != "":
		return value{shape: scalar, place: variable, raw: plain, text: plain}, true
	case file != "" && f.secret:
		v, ok := l.secretFile(variable+"_FILE", file)
		l.unread[key] = l.unread[key] || !ok
		return v, ok
	case file != "":
		l.unread[key] = true
		l.fail(variable+"_FILE", "", "is for secrets only", "set "+variable)
	}
	return value{}, false
}

// secretFile reads the file that a variable names, without trailing newlines.
func (l *loader) secretFile(variable, name string) (value, bool) {
	raw, info, err := readFile(name, maxSecretFile)
	if err != nil {
		l.fail(variable, "", "names "+quote(name)+", which cannot be read: "+err.Error(), "name a readable file that holds nothing but the secret")
		return value{}, false
	}
	if readableByOthers(l.input, name, info) {
		l.warn("%s: %s can be read by group or others; run chmod 600 on it", variable, quote(name))
	}
	return value{shape: scalar, place: variable, raw: "", text: strings.TrimRight(string(raw), "\r\n")}, true
}

// expand replaces ${NAME} with the value of the variable NAME, and $${ with ${.
func (l *loader) expand(key string, v value) value {
	switch v.shape {
	case scalar:
		v.text = l.expandText(key, v)
	case list:
		items := make([]value, len(v.items))
		for i, item := range v.items {
			items[i] = l.expand(fmt.Sprintf("%s[%d]", key, i), item)
		}
		v.items = items
	case mapping:
		members := slices.Clone(v.members)
		for i, m := range members {
			members[i].value = l.expand(key+"."+m.key, m.value)
		}
		v.members = members
	}
	return v
}

func (l *loader) expandText(key string, v value) string {
	var out strings.Builder
	rest := v.raw
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			return out.String() + rest
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(literal + "${")
			rest = after
			continue
		}
		out.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !isVariable(name) {
			l.fail(v.place, key, "has ${ without the name of a variable and }", "write ${NAME}, or $${ for the two characters")
			return ""
		}
		set, ok := l.input.Env[name]
		if !ok {
			l.fail(v.place, key, "needs the environment variable "+name+", which is not set", "set it, or write the value here")
		}
		l.used[name] = true
		out.WriteString(set)
		rest = tail
	}
}

func isVariable(name string) bool {
	if name == "" || len(name) > 100 || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// warnUnread warns of unread variables that may be misspelt, or that NextAuth.js reads.
// It ignores others: for example, Kubernetes sets AUTHSVC_PORT for a service of that
// name.
func (l *loader) warnUnread(s *Settings) {
	l.used["AUTHSVC_CONFIG"] = true
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(l.used)), func(name string) bool { return !strings.HasPrefix(name, variablePrefix) })
	for _, name := range slices.Sorted(maps.Keys(l.input.Env)) {
		if l.used[name] || l.input.Env[name] == "" {
			continue
		}
		if !strings.HasPrefix(name, variablePrefix) {
			l.warnNextAuth(s, name)
		} else if meant := nearestVariable(name, known); meant != "" {
			l.warn("%s is not read; did you mean %s?", quote(name), meant)
		}
	}
}

// nearestVariable returns the known variable that name was probably meant to be, or "".
// The names of OAuth's parameters count as those of our variables.
func nearestVariable(name string, known []string) string {
	name = strings.NewReplacer("_CLIENT_ID", "_ID", "_CLIENTID", "_ID", "_CLIENT_SECRET", "_SECRET", "_CLIENTSECRET", "_SECRET").Replace(name)
	meant, least := "", 3
	for _, k := range known {
		if n := text.Distance(name, k); n < least {
			meant, least = k, n
		}
	}
	return meant
}

// nextAuthVariables are the variables that NextAuth.js 4 and Auth.js 5 read themselves,
// each with the key of its counterpart.
var nextAuthVariables = map[string]string{
	"NEXTAUTH_URL": "url", "AUTH_URL": "url",
	"NEXTAUTH_SECRET": "secret", "AUTH_SECRET": "secret",
	"AUTH_SECRET_1": "secret", "AUTH_SECRET_2": "secret", "AUTH_SECRET_3": "secret",
	"NEXTAUTH_URL_INTERNAL": "internal_hosts",
	"AUTH_TRUST_HOST":       "trusted_proxies",
	"NEXTAUTH_DEBUG":        "log.level", "AUTH_DEBUG": "log.level",
}

// warnNextAuth warns of a variable that NextAuth.js reads, if authsvc has no value for
// its counterpart. Other variables whose names begin like those of NextAuth.js belong to
// other programs.
func (l *loader) warnNextAuth(s *Settings, name string) {
	if key := nextAuthVariables[name]; key != "" {
		if l.places[key] == "" {
			l.warn("%s is a variable of NextAuth.js, which authsvc does not read; set %s, or %s in the file", quote(name), l.variables[key], key)
		}
		return
	}
	id, part := "", ""
	for _, p := range []string{"_ID", "_SECRET", "_ISSUER"} {
		if before, ok := strings.CutSuffix(name, p); ok && strings.HasPrefix(before, "AUTH_") {
			id, part = strings.TrimPrefix(before, "AUTH_"), p
		}
	}
	if id == "" {
		return
	}
	for _, known := range provider.All() {
		ids := append([]string{known.ID}, known.Aliases...)
		named := slices.ContainsFunc(ids, func(one string) bool { return variablesOf(one) == variablePrefix+id+"_" })
		if named && !s.hasProvider(ids) {
			l.warn("%s is a variable of NextAuth.js, which authsvc does not read; set %s", quote(name), variablePrefix+id+part)
		}
	}
}

// hasProvider reports whether a provider with one of the IDs is configured.
func (s *Settings) hasProvider(ids []string) bool {
	return slices.ContainsFunc(s.Engine.Providers, func(p authsvc.Provider) bool { return slices.Contains(ids, ProviderID(p)) })
}
