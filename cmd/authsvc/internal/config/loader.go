package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"authsvc/internal/text"
)

// A loader collects values and mistakes.
type loader struct {
	sources
	input    Input
	mistakes Mistakes
	warnings []string
	replaced []string // warnings, too
	gaps     []Gap
	used     map[string]bool // environment variables that have a meaning
	// holdsSecret means that the file contains a secret instead of ${NAME}.
	holdsSecret bool
}

// fail records a mistake. A key with a mistake counts as unread.
func (l *loader) fail(place, key, problem, fix string) {
	if key != "" {
		l.unread[key] = true
	}
	l.note(place, key, problem, fix)
}

// note is fail for a value that is read despite the mistake, as if it had been fixed.
func (l *loader) note(place, key, problem, fix string) {
	m := Mistake{Place: place, Key: key, Problem: problem, Fix: fix}
	same := func(n Mistake) bool { return n.String() == m.String() }
	if len(l.mistakes) < maxMistakes && !slices.ContainsFunc(l.mistakes, same) {
		l.mistakes = append(l.mistakes, m)
	}
}

func (l *loader) warn(format string, args ...any) {
	if len(l.warnings) < maxMistakes {
		l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
	}
}

// settings returns the settings from a whole file and the environment.
func (l *loader) settings(root value) *Settings {
	s := &Settings{Listen: "127.0.0.1:3000", StopDelay: time.Second}
	s.Storage.URL, s.Storage.Migrate = "sqlite:authsvc.db", true
	s.Log = Log{Format: "text", Level: "info"}
	providers, others := value{}, value{}
	fields := s.fields()
	if l.input.Development {
		root.members = l.available(root.members, fields)
	}
	for _, m := range l.respell("", root.members, namesAt("", fields, "providers")) {
		if m.key == "providers" {
			providers = m.value
			l.places["providers"] = m.place
		} else {
			others.members = append(others.members, m)
		}
	}
	l.readSection("", variablePrefix, others.members, fields, "providers")
	l.providers(s, providers)
	return s
}

// readSection assigns the members of a mapping whose keys begin with prefix, and the
// variables and flags that override them. more holds further names to suggest besides
// the keys of fields.
func (l *loader) readSection(prefix, variables string, members []member, fields []field, more ...string) {
	overridden := map[string]bool{}
	for _, f := range fields {
		key := prefix + f.key
		variable := f.variable(variables)
		l.variables[key] = variable
		if v, ok := l.override(f, key, variable); ok && !(v.place == variable && names(members, f.key, variable)) {
			overridden[f.key] = true
			l.assign(f, key, v)
			if i := slices.IndexFunc(members, func(m member) bool { return m.key == key }); i >= 0 && !names(members, key, variable) {
				l.warnReplaced(key, v, members[i].value)
			}
		}
	}
	l.readMembers(prefix, "", members, fields, overridden, more)
}

// warnReplaced warns that an override replaces the secret of the file, or that a variable
// replaces its https url by another one.
func (l *loader) warnReplaced(key string, by, written value) {
	switch {
	case key == "secret":
		l.replaced = append(l.replaced, by.place+" replaces secret in "+written.place+", so a new secret there has no effect")
	case key == "url" && !strings.HasPrefix(by.place, "--") && strings.HasPrefix(written.raw, "https:") && strings.TrimSuffix(written.raw, "/") != strings.TrimSuffix(by.text, "/"):
		l.replaced = append(l.replaced, by.place+" replaces url in "+written.place)
	}
}

// names reports whether the value of a key in the file refers to a variable. Such a
// list must not be overridden: if its first entry is ${AUTHSVC_SECRET}, it must not
// become that entry alone.
func names(members []member, key, variable string) bool {
	first, rest, below := strings.Cut(key, ".")
	for _, m := range members {
		switch {
		case m.key == key || m.key == first && !below:
			return m.value.mentions("${" + variable + "}")
		case m.key == first:
			return names(m.value.members, rest, variable)
		}
	}
	return false
}

// mentions reports whether a value, as written, contains a text.
func (v value) mentions(text string) bool {
	return strings.Contains(v.raw, text) || slices.ContainsFunc(v.items, func(item value) bool { return item.mentions(text) }) ||
		slices.ContainsFunc(v.members, func(m member) bool { return m.value.mentions(text) })
}

// readMembers assigns the members below the key at, which is relative to prefix.
func (l *loader) readMembers(prefix, at string, members []member, fields []field, overridden map[string]bool, more []string) {
	names := namesAt(at, fields, more...)
	for _, m := range l.respell(prefix+at, members, names) {
		key := at + m.key
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		inside := slices.ContainsFunc(fields, func(f field) bool { return strings.HasPrefix(f.key, key+".") })
		switch {
		case m.value.shape == unreadable && (i >= 0 || inside):
			l.unread[prefix+key] = true // its mistake has been recorded
		case i >= 0:
			if _, known := l.places[prefix+key]; !known {
				l.places[prefix+key] = m.place
			}
			if !overridden[key] && m.value.shape != absent {
				l.assign(fields[i], prefix+key, l.expand(prefix+key, m.value))
			}
		case inside && (m.value.shape == mapping || m.value.shape == absent):
			l.places[prefix+key] = m.place
			l.readMembers(prefix, key+".", m.value.members, fields, overridden, nil)
		case inside:
			l.notMapping(m, prefix+key, firstBelow(key+".", fields))
			l.readMembers(prefix, key+".", m.value.undashed(), fields, overridden, nil)
		default:
			l.unknownKey(m, prefix+at, names)
		}
	}
}

// Patterns for parts of secrets: a reference to an environment variable, and the secret
// parameters of an address.
var (
	variable        = text.LazyRegexp(`\$\{[^}]*\}`)
	secretParameter = text.LazyRegexp(`(?i)(pass|pwd|secret|token)\w*=`)
)

// spelledOut reports whether the value at a key contains a secret itself, rather than
// the names of variables. In an address, only the password and some parameters are
// secret.
func (v value) spelledOut(key string) bool {
	if slices.ContainsFunc(v.items, func(item value) bool { return item.spelledOut(key) }) {
		return true
	}
	rest := variable.ReplaceAllString(strings.TrimSpace(v.raw), "")
	if key != "storage.url" && key != "session.store" && key != "outbound.proxy" && !strings.HasSuffix(key, "server") {
		return rest != ""
	}
	if rest == "none" || rest == "memory:" || strings.HasPrefix(rest, "sqlite:") {
		return false
	}
	if u, err := url.Parse(rest); err == nil && u.Scheme != "" && u.Host != "" {
		password, _ := u.User.Password()
		return password != "" || secretParameter.MatchString(u.RawQuery)
	}
	return rest != ""
}

// placeholder reports whether a value is a placeholder that was copied from the
// documentation.
func (v value) placeholder() bool {
	return v.text == "…" || v.text == "..." || slices.ContainsFunc(v.items, value.placeholder)
}

// assign assigns a value to its field.
func (l *loader) assign(f field, key string, v value) {
	l.places[key] = v.place
	for i, item := range v.items {
		l.places[fmt.Sprintf("%s[%d]", key, i)] = item.place
	}
	if f.into.reshape != nil {
		v = f.into.reshape(v)
	}
	v.key = key
	// The members of a mapping have places of their own.
	for _, m := range v.members {
		l.places[key+"."+m.key] = m.place
	}
	if v.placeholder() {
		l.fail(v.place, key, "is still the placeholder from the documentation", "write your own value")
		return
	}
	if f.secret && l.file != "" && strings.HasPrefix(v.place, l.file+":") && v.spelledOut(key) {
		l.holdsSecret = true
	}
	if problem := v.encodingProblem(); f.secret && problem != "" {
		l.fail(v.place, key, problem, "write it as UTF-8 without a byte order mark; in PowerShell, use Set-Content -NoNewline -Encoding ascii")
		return
	}
	if problem, fix := f.quotedProblem(v); problem != "" {
		l.fail(v.place, key, problem, fix)
		return
	}
	if problem, fix := v.pastedProblem(l.file); f.exact() && problem != "" {
		l.fail(v.place, key, problem, fix)
		return
	}
	if problem := f.into.set(v); problem != "" && !l.unread[key] {
		l.fail(v.place, key, problem, f.into.fix)
		return
	}
	if f.into.element != nil {
		l.elements(f, key, v)
	}
	if f.into.each == nil {
		return
	}
	for i, item := range v.list() {
		at := fmt.Sprintf("%s[%d]", key, i)
		if problem := f.into.each(item); problem != "" && !l.unread[at] {
			l.fail(item.place, at, problem, f.into.fix)
		}
	}
}

// elements reads the mappings of a list. An item that is not a mapping is added without
// values, so that the others keep their places.
func (l *loader) elements(f field, key string, v value) {
	for i, item := range v.items {
		at := fmt.Sprintf("%s[%d]", key, i)
		fields := f.into.element()
		if item.shape != mapping {
			if item.shape != unreadable {
				l.fail(item.place, at, "is "+item.shape.name()+", not a mapping", f.into.fix)
			}
			l.unread[at] = true
			continue
		}
		l.readMembers(at+".", "", item.members, fields, nil, nil)
	}
}

// notMapping records that a value is not a mapping. example is a key of the mapping.
func (l *loader) notMapping(m member, key, example string) {
	fix := "write its keys below it, such as " + example + ": …"
	if m.value.shape == list {
		l.note(m.place, key, "is a list, not a mapping", fix+", without dashes")
		if m.value.undashed() == nil {
			l.unread[key] = true
		}
		return
	}
	l.fail(m.place, key, "is one value, not a mapping", fix)
}

// undashed returns the members of the mappings in a list as if the dashes were missing.
// It returns nil for anything else.
func (v value) undashed() []member {
	var all []member
	for _, item := range v.items {
		if item.shape != mapping {
			return nil
		}
		all = append(all, item.members...)
	}
	return all
}

// namesAt returns the keys below at, and more.
func namesAt(at string, fields []field, more ...string) []string {
	names := slices.Clone(more)
	for _, f := range fields {
		if rest, ok := strings.CutPrefix(f.key, at); ok {
			name, _, _ := strings.Cut(rest, ".")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// firstBelow returns the first key below at. The keys are in the order of their use.
func firstBelow(at string, fields []field) string {
	i := slices.IndexFunc(fields, func(f field) bool { return strings.HasPrefix(f.key, at) })
	name, _, _ := strings.Cut(fields[i].key[len(at):], ".")
	return name
}

// respell records keys that are surely misspelt as mistakes. It returns the members
// with the corrected keys, so that their values are checked too. It leaves out a misspelt
// key whose correct spelling is given as well. If only is not empty, it corrects only to
// these keys.
func (l *loader) respell(prefix string, members []member, names []string, only ...string) []member {
	kept := make([]member, 0, len(members))
	for _, m := range members {
		if slices.Contains(names, m.key) { // the usual case
			kept = append(kept, m)
			continue
		}
		n := Closest(m.key, names)
		if !isTypo(m.key, n) || len(only) > 0 && !slices.Contains(only, n) {
			kept = append(kept, m)
			continue
		}
		problem := "key " + quote(prefix+m.key) + " is not known"
		if i := slices.IndexFunc(members, func(o member) bool { return o.key == n }); i >= 0 {
			l.fail(m.place, "", problem, "did you mean "+n+"? It is also in "+members[i].place+"; keep one")
			continue
		}
		l.fail(m.place, "", problem, "did you mean "+n+"?")
		m.key = n
		kept = append(kept, m)
	}
	return kept
}

// unknownKey records an unknown key as a mistake. The key that may have been meant
// counts as unread.
func (l *loader) unknownKey(m member, prefix string, names []string) {
	fix := "the known keys are " + strings.Join(names, ", ")
	if n := Closest(m.key, names); n != "" {
		fix = "did you mean " + n + "?"
		l.unread[prefix+n] = true
	}
	l.fail(m.place, "", "key "+quote(prefix+m.key)+" is not known", fix)
}
