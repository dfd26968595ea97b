package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/text"
	"authsvc/provider"
)

// warnUnread warns of every variable whose name begins with AUTHSVC_ and that is not
// read, and of those that NextAuth.js reads. It ignores variables that other programs
// set or read: see [foreignVariable].
func (l *loader) warnUnread(s *Settings, root value) {
	l.used["AUTHSVC_CONFIG"] = true
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(l.used)), func(name string) bool { return !strings.HasPrefix(name, variablePrefix) })
	for _, name := range slices.Sorted(maps.Keys(l.input.Env)) {
		content := l.input.Env[name]
		switch {
		case l.used[name] || content == "":
		case !strings.HasPrefix(name, variablePrefix):
			l.warnNextAuth(s, name)
		case !foreignVariable(name, content) && !root.mentions("${"+name+"}"):
			l.warnOwn(s, name, known)
		}
	}
}

// warnOwn warns of a variable that is not read although its name begins with AUTHSVC_.
func (l *loader) warnOwn(s *Settings, name string, known []string) {
	meant := cmp.Or(synonyms[name], nearestVariable(name, known))
	id, needed := s.lacksProvider(name)
	switch {
	case meant != "":
		l.warn("%s is not read; did you mean %s?", quote(name), meant)
	case l.providersUnknown():
	case id != "":
		l.warn("%s is not read, because there is no provider %s; set %s, or add the provider to the file", quote(name), id, needed)
	default:
		l.warn("%s is not read; it is not the variable of a key or of a provider that is configured", quote(name))
	}
}

// providersUnknown reports whether a mistake leaves open which providers, and so which
// variables, the configuration has.
func (l *loader) providersUnknown() bool {
	for key := range l.unread {
		if strings.HasPrefix(key, "providers") {
			return true
		}
	}
	return false
}

// lacksProvider returns the built-in provider whose variables begin like name, and the
// variable that adds it. It returns "" if there is none, or if it is configured.
func (s *Settings) lacksProvider(name string) (id, needed string) {
	configured := false
	for _, known := range provider.All() {
		ids := append([]string{known.ID}, known.Aliases...)
		for _, one := range ids {
			if prefix := variablesOf(one); strings.HasPrefix(name, prefix) && len(one) > len(id) {
				id, needed, configured = one, prefix+variablesFor(known)[0], s.hasProvider(ids)
			}
		}
	}
	if configured {
		return "", ""
	}
	return id, needed
}

// synonyms holds names that other programs give to a setting, each with the variable
// of authsvc.
var synonyms = map[string]string{
	"AUTHSVC_DATABASE_URL": "AUTHSVC_STORAGE_URL", "AUTHSVC_DATABASE": "AUTHSVC_STORAGE_URL", "AUTHSVC_DB_URL": "AUTHSVC_STORAGE_URL", "AUTHSVC_STORAGE": "AUTHSVC_STORAGE_URL",
	"AUTHSVC_BASE_URL": "AUTHSVC_URL", "AUTHSVC_PUBLIC_URL": "AUTHSVC_URL",
	"AUTHSVC_PORT": "AUTHSVC_LISTEN", "AUTHSVC_HOST": "AUTHSVC_LISTEN", "AUTHSVC_ADDRESS": "AUTHSVC_LISTEN",
}

var (
	// ofApplication matches variables that applications read, as the guides name them, and
	// those of tests and tools of this project.
	ofApplication = text.LazyRegexp(`^AUTHSVC_(INTERNAL_URL|PROXY_KEY|E2E|(TEST|VERIFY|BENCH)_.+|VERIFY|SCALE|EXCHANGES|FIGURES|REWRITES|ROTATION|SCREENSHOTS|TRAEFIK)$`)
	// ofKubernetes matches variables that Kubernetes sets for a service with the name
	// authsvc, or one that begins with authsvc-, besides those that end in _PORT.
	ofKubernetes = text.LazyRegexp(`^AUTHSVC_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
)

// foreignVariable reports whether a variable whose name begins with AUTHSVC_ belongs to
// another program. In a variable that ends in _PORT, Kubernetes writes an address, such
// as tcp://10.0.0.1:3000; a person would write a number.
func foreignVariable(name, content string) bool {
	return ofApplication.MatchString(name) || ofKubernetes.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(content, "://")
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
