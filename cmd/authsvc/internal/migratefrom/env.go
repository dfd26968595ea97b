package migratefrom

import (
	"path"
	"slices"
	"strings"
)

// An envFile is a .env file. Its values may be secrets: nothing prints them.
type envFile struct {
	name   string
	values map[string]string
}

type environment []envFile

// parseEnv reads NAME=value lines.
func parseEnv(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if name = strings.TrimSpace(name); ok && isVariable(name) {
			values[name] = envValue(strings.TrimSpace(value))
		}
	}
	return values
}

// envValue removes quotes and a comment.
func envValue(value string) string {
	if value != "" && strings.ContainsRune(`"'`+"`", rune(value[0])) {
		if inside, _, closed := strings.Cut(value[1:], value[:1]); closed {
			return inside
		}
		return value
	}
	if before, _, found := strings.Cut(value, " #"); found {
		return strings.TrimSpace(before)
	}
	return value
}

// files returns the files that set a variable to a value.
func (e environment) files(name string) (found []string) {
	for _, f := range e {
		if f.values[name] != "" {
			found = append(found, f.name)
		}
	}
	return found
}

// mentions reports whether a file has a variable, be it empty.
func (e environment) mentions(name string) bool {
	return slices.ContainsFunc(e, func(f envFile) bool { _, ok := f.values[name]; return ok })
}

// value returns a variable and the file that sets it. Files for production come before
// others, and local files before shared ones; examples do not count.
func (e environment) value(name string) (value, file string) {
	best := -1
	for _, f := range e {
		rank := slices.Index([]string{".env", ".env.development", ".env.local", ".env.production", ".env.production.local"}, path.Base(f.name))
		if f.values[name] != "" && rank > best {
			best, value, file = rank, f.values[name], f.name
		}
	}
	return value, file
}
