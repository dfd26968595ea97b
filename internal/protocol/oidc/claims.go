package oidc

import (
	"strconv"
	"strings"

	"authsvc/internal/text/strictjson"
)

// Claims holds the members of a JSON object from a provider, with values as
// [strictjson.Value] decodes them.
//
// Methods take a path of member names and list indexes joined by dots, such as
// "data.user.emails.0.value". A member whose name is the entire rest of the path,
// including dots ("https://example.com/roles"), takes precedence over a nested one.
type Claims map[string]any

// String returns the string or number at path as [strictjson.Text] writes it.
func (c Claims) String(path string) (string, bool) {
	v, _ := lookup(map[string]any(c), path)
	return strictjson.Text(v)
}

// Bool reports whether the value at path is JSON true. The string "true", 1 and
// everything else are false, since flags such as email_verified grant trust.
func (c Claims) Bool(path string) bool {
	v, _ := lookup(map[string]any(c), path)
	return v == true
}

func lookup(v any, path string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if member, ok := v[path]; ok {
			return member, true
		}
		name, rest, nested := strings.Cut(path, ".")
		member, ok := v[name]
		if !ok || !nested {
			return nil, false
		}
		return lookup(member, rest)
	case []any:
		index, rest, nested := strings.Cut(path, ".")
		i, err := strconv.Atoi(index)
		if err != nil || strconv.Itoa(i) != index || i < 0 || i >= len(v) {
			return nil, false
		}
		if !nested {
			return v[i], true
		}
		return lookup(v[i], rest)
	}
	return nil, false
}
