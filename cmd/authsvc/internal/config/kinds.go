package config

import (
	"cmp"
	"slices"
	"strings"

	"authsvc/internal/text"
	"authsvc/provider"
)

// meant returns the kind that a misspelt one was surely meant to be, if one is nearer
// than all others, else "".
func (l *loader) meant(kind string, known bool) string {
	if known || slices.Contains(ownKinds(), kind) { // the usual case
		return ""
	}
	if _, gone := provider.Discontinued(kind); gone {
		return ""
	}
	nearest, best, single := "", len(kind), false
	for _, k := range nearKinds(kind) {
		if d := text.Distance(kind, k); d < best {
			nearest, best, single = k, d, true
		} else if d == best {
			single = false
		}
	}
	if !single || best == 0 || !isTypo(kind, nearest) {
		return ""
	}
	return nearest
}

// nearKinds returns the kinds that resemble an unknown one.
func nearKinds(kind string) []string {
	if _, known := provider.Lookup(kind); known {
		return nil
	}
	near := provider.Nearest(kind)
	if n := Closest(kind, ownKinds()); n != "" && !slices.Contains(near, n) {
		near = append([]string{n}, near...)
	}
	return near
}

// ownKinds returns the kinds that are not in the table of providers.
func ownKinds() []string { return []string{"oidc", "oauth2", "oauth1", "email", "credentials"} }

// unknownKind records an unknown kind as a mistake.
func (l *loader) unknownKind(key, kind string) {
	place := cmp.Or(l.places[key+".type"], l.places[key+".id"], l.places[key])
	if fate, gone := provider.Discontinued(kind); gone {
		what, instead, _ := strings.Cut(fate, "; ")
		l.fail(place, key, "names provider "+quote(kind)+", which was discontinued: "+what, instead)
		return
	}
	if l.places[key+".type"] != "" {
		l.note(place, key+".type", quote(kind)+" is not a type", typeFix(kind))
		return
	}
	fix := "`authsvc providers` lists all; with type: oidc or oauth2, any name is allowed"
	if near := nearKinds(kind); len(near) > 0 {
		fix = "did you mean " + strings.Join(near, " or ") + "? With type: oidc or oauth2, any name is allowed"
	}
	l.note(place, key, quote(kind)+" is not a provider of this version", fix)
}

// otherNames maps what people write for a type to the type.
var otherNames = map[string]string{"openid": "oidc", "openid-connect": "oidc", "openidconnect": "oidc", "oauth": "oauth2", "smtp": "email", "mail": "email", "magic-link": "email", "password": "credentials"}

// typeFix returns what to write instead of an unknown type.
func typeFix(kind string) string {
	if meant := cmp.Or(otherNames[strings.ToLower(kind)], Closest(kind, ownKinds())); meant != "" {
		return "did you mean " + meant + "?"
	}
	if near := nearKinds(kind); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "the types are " + strings.Join(ownKinds(), ", ") + ", and the providers that `authsvc providers` lists"
}
