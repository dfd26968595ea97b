package config

import (
	"fmt"
	"slices"
	"strings"
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
	if variable != "" {
		l.used[variable], l.used[variable+"_FILE"] = true, true
	}
	if v, ok := l.input.Flags[key]; ok {
		return value{shape: scalar, place: "--" + key, raw: v, text: v}, true
	}
	if variable == "" {
		return value{}, false
	}
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
		if problem, fix := nameProblem(name); problem != "" {
			l.fail(variable, "", problem, fix)
			return value{}, false
		}
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
