package gate

import (
	"slices"
	"strings"
)

// Limits for requests that can be judged.
const (
	maxTarget   = 8 << 10 // bytes
	maxReadings = 16      // each with and without a final slash
	maxMethods  = 4
	maxMethod   = 32 // bytes, of a name
)

// pathOf removes the query from a request target (RFC 9112 section 3.2.1) and reports
// whether the rest is a path that can be judged.
func pathOf(target string) (string, bool) {
	path, _, _ := strings.Cut(target, "?")
	if len(target) > maxTarget || !strings.HasPrefix(path, "/") {
		return "", false
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f || c == '#' || c == '\\':
			return "", false
		case c == '%':
			b, ok := hexByte(path[i:])
			if !ok || b == 0 {
				return "", false
			}
			i += 2
		}
	}
	return path, true
}

// readings returns everything that servers may read a path as: the path itself, and the
// results of the steps below in any order. It returns false if there are more than
// maxReadings, or if one contains a NUL. The caller handles the final slash.
func readings(path string, room []string) ([]string, bool) {
	all := append(room[:0], upperEscapes(path))
	add := func(s string) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for i := 0; i < len(all); i++ {
		s := all[i]
		if strings.IndexByte(s, 0) >= 0 {
			return nil, false
		}
		if !plain(s) {
			add(upperEscapes(decode(s, true)))
			add(upperEscapes(decode(s, false)))
			add(cutParameters(s))
			add(cutQuery(s))
			add(strings.ReplaceAll(s, `\`, "/"))
			add(collapse(s))
			add(resolve(s))
			add(lowerPath(s))
		}
		if len(all) > maxReadings {
			return nil, false
		}
	}
	return all, true
}

// plain reports whether no step changes a path.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '~' || c == '-' {
			continue
		}
		if c != '/' && c != '.' || i+1 < len(s) && c == '/' && (s[i+1] == '/' || s[i+1] == '.') {
			return false
		}
	}
	return true
}

// otherEnd adds a final slash to the segments of a path, or removes it. It may write to
// the array after the segments.
func otherEnd(segments []string) []string {
	n := len(segments)
	if segments[n-1] != "" {
		return append(segments, "")
	}
	return segments[:max(1, n-1)]
}

// decode resolves valid percent escapes once. With slashIsLetter, an escaped slash
// stays escaped.
func decode(s string, slashIsLetter bool) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, ok := hexByte(s[i:])
		switch {
		case !ok:
			b.WriteByte(s[i])
			continue
		case c == '/' && slashIsLetter:
			b.WriteString("%2F")
		default:
			b.WriteByte(c)
		}
		i += 2
	}
	return b.String()
}

// hexByte reads the escape at the start of s.
func hexByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	high, ok := nibble(s[1])
	low, alsoOK := nibble(s[2])
	return high<<4 | low, ok && alsoOK
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// cutParameters cuts each segment at its first semicolon (RFC 3986 section 3.3).
func cutParameters(s string) string {
	if !strings.Contains(s, ";") {
		return s
	}
	parts := strings.Split(s, "/")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, ";")
	}
	return strings.Join(parts, "/")
}

// cutQuery cuts a path at the first ? or #. If a proxy rewrites the path without
// escapes, a query or fragment begins there.
func cutQuery(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}

// collapse replaces consecutive slashes with one.
func collapse(s string) string {
	for strings.Contains(s, "//") {
		s = strings.ReplaceAll(s, "//", "/")
	}
	return s
}

// resolve removes dot segments (RFC 3986 section 5.2.4).
func resolve(s string) string {
	if !strings.Contains(s, "/.") {
		return s
	}
	var kept []string
	parts := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch part {
		case ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, part)
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// lowerPath returns s in lower case, except for its escapes.
func lowerPath(s string) string { return upperEscapes(lower(s)) }

// upperEscapes writes the digits of escapes in upper case, since no server treats the
// two cases differently (RFC 3986 section 2.1).
func upperEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := []byte(s)
	for i := range b {
		if _, ok := hexByte(s[i:]); ok {
			copy(b[i:], strings.ToUpper(s[i:i+3]))
		}
	}
	return string(b)
}

// segmentsOf removes the leading slash of a path, splits the rest at slashes, and
// unescapes each segment, as net/http.ServeMux does.
func segmentsOf(path string, room []string) []string {
	list := room[:0]
	rest := strings.TrimPrefix(path, "/")
	for {
		part, after, more := strings.Cut(rest, "/")
		list = append(list, decode(part, false))
		if !more {
			return list
		}
		rest = after
	}
}
