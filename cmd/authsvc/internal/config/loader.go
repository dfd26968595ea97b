package config

import (
	"fmt"
	"slices"
	"strings"
)

// A loader collects values and mistakes.
type loader struct {
	sources
	input    Input
	mistakes Mistakes
	warnings []string
	used     map[string]bool // environment variables that have a meaning
	// holdsSecret: a secret is written in the file, and not as ${NAME}.
	holdsSecret bool
}

func (l *loader) fail(place, key, problem, fix string) {
	m := Mistake{Place: place, Key: key, Problem: problem, Fix: fix}
	if len(l.mistakes) < maxMistakes && !slices.Contains(l.mistakes, m) {
		l.mistakes = append(l.mistakes, m)
	}
}

func (l *loader) warn(format string, args ...any) {
	if len(l.warnings) < maxMistakes {
		l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
	}
}

// settings makes the settings of a whole file and the environment.
func (l *loader) settings(root value) *Settings {
	s := &Settings{Listen: "127.0.0.1:3000"}
	s.Storage.URL, s.Storage.Migrate = "sqlite:authsvc.db", true
	s.Log = Log{Format: "text", Level: "info"}
	providers, others := value{}, value{}
	for _, m := range root.members {
		if m.key == "providers" {
			providers = m.value
			l.places["providers"] = m.place
		} else {
			others.members = append(others.members, m)
		}
	}
	l.readSection("", variablePrefix, others.members, s.fields(), "providers")
	l.providers(s, providers)
	return s
}

// readSection assigns the members of a mapping whose keys begin with prefix, and
// the variables and flags that override them. more are names to suggest besides
// those of fields.
func (l *loader) readSection(prefix, variables string, members []member, fields []field, more ...string) {
	overridden := map[string]bool{}
	for _, f := range fields {
		key := prefix + f.key
		variable := f.variable(variables)
		l.variables[key] = variable
		if v, ok := l.override(f, key, variable); ok {
			overridden[f.key] = true
			l.assign(f, key, v)
		}
	}
	l.readMembers(prefix, "", members, fields, overridden, more)
}

// readMembers assigns the members below the key at, which is relative to prefix.
func (l *loader) readMembers(prefix, at string, members []member, fields []field, overridden map[string]bool, more []string) {
	for _, m := range members {
		key := at + m.key
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		inside := slices.ContainsFunc(fields, func(f field) bool { return strings.HasPrefix(f.key, key+".") })
		switch {
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
			l.fail(m.place, prefix+key, "is not a mapping", "write keys below it")
		default:
			l.unknownKey(m, prefix, at, fields, more)
		}
	}
}

// literal reports whether a value has text of its own besides variables.
func (v value) literal() bool {
	for _, item := range v.items {
		if item.literal() {
			return true
		}
	}
	raw := strings.TrimSpace(v.raw)
	return raw != "" && !(strings.HasPrefix(raw, "${") && strings.Index(raw, "}") == len(raw)-1)
}

// assign gives a value to its field.
func (l *loader) assign(f field, key string, v value) {
	l.places[key] = v.place
	for i, item := range v.items {
		l.places[fmt.Sprintf("%s[%d]", key, i)] = item.place
	}
	if f.secret && l.file != "" && strings.HasPrefix(v.place, l.file+":") && v.literal() {
		l.holdsSecret = true
	}
	before := len(l.mistakes)
	if problem := f.into.set(v); problem != "" && len(l.mistakes) == before {
		l.fail(v.place, key, problem, f.into.fix)
	}
}

// unknownKey records a key that means nothing here as a mistake.
func (l *loader) unknownKey(m member, prefix, at string, fields []field, more []string) {
	names := slices.Clone(more)
	for _, f := range fields {
		if rest, ok := strings.CutPrefix(f.key, at); ok {
			name, _, _ := strings.Cut(rest, ".")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	fix := "known are " + strings.Join(names, ", ")
	if n := closest(m.key, names); n != "" {
		fix = "did you mean " + n + "?"
	}
	l.fail(m.place, "", "key "+quote(prefix+at+m.key)+" is not known", fix)
}
