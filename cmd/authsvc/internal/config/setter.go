package config

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
)

// A setter stores the value of a key. In messages, kind names the type of the accepted
// values, and fix says how to write them. set stores the value or returns the problem
// with it. A list also has each, which does the same for an item. If its items are
// mappings, it has element instead, which adds an item and returns its fields. Messages
// quote only the value's raw text, as it is in the file; setters of secrets quote
// nothing.
type setter struct {
	kind string
	fix  string
	set  func(v value) (problem string)
	each func(item value) (problem string)
	// reshape, if not nil, converts the value before set gets it.
	reshape func(v value) value

	element func() []field
}

// scalarSetter returns a setter that accepts scalars.
func scalarSetter(kind, fix string, set func(text string) bool) setter {
	return setter{kind: kind, fix: fix, set: func(v value) string {
		switch {
		case v.shape != scalar:
			return "is " + v.shape.name() + ", not a " + kind
		case !set(v.text):
			return quote(v.raw) + " is not a " + kind
		}
		return ""
	}}
}

func stringVar[T ~string](p *T) setter {
	return setter{kind: "text", fix: "write one value", set: func(v value) string {
		if v.shape != scalar {
			return v.shape.notText()
		}
		*p = T(v.text)
		return ""
	}}
}

// name returns the name of a shape for people.
func (s shape) name() string {
	return map[shape]string{absent: "empty", scalar: "one value", list: "a list", mapping: "a mapping"}[s]
}

// notText returns the problem with a value that is not a scalar.
func (s shape) notText() string { return "is " + s.name() + ", not text" }

// textItems returns a function that appends an item to a list. An item that is not text
// is appended as an empty text.
func textItems(p *[]string) func(value) string {
	return func(item value) (problem string) {
		*p = append(*p, item.text)
		if item.shape != scalar {
			return item.shape.notText()
		}
		return ""
	}
}

// notList returns the problem with a value that is a mapping, else "".
func (v value) notList() string {
	if v.shape == mapping {
		return "is a mapping, not a list"
	}
	return ""
}

func enumVar(p *string, values ...string) setter {
	kind := strings.Join(values, ", ")
	return setter{kind: kind, fix: "use " + kind, set: func(v value) string {
		for _, w := range values {
			if v.shape == scalar && v.text == w {
				*p = w
				return ""
			}
		}
		if v.shape != scalar {
			return v.shape.notText()
		}
		return quote(v.raw) + " is not known"
	}}
}

// Address returns the problem with a host:port to listen on, or "".
func Address(s string) (problem string) {
	_, port, err := net.SplitHostPort(s)
	_, bad := strconv.ParseUint(port, 10, 16)
	_, alone := strconv.ParseUint(s, 10, 64)
	switch {
	case alone == nil:
		return "is a port without a host and a colon"
	case err != nil && strings.Count(s, ":") > 1:
		return "is not host:port; write an IPv6 address in brackets"
	case err != nil || port == "":
		return "has no port"
	case bad != nil:
		return "has a port that is not a number up to 65535"
	}
	return ""
}

// AddressFix says how to write an address that Address accepts.
const AddressFix = "write host:port, such as 127.0.0.1:3000 for this machine only or 0.0.0.0:3000 for other machines too"

// addressVar accepts a host:port.
func addressVar(p *string) setter {
	return setter{kind: "host:port", fix: AddressFix, set: func(v value) string {
		if v.shape != scalar {
			return v.shape.notText()
		}
		if problem := Address(v.text); problem != "" {
			return quote(v.raw) + " " + problem
		}
		*p = v.text
		return ""
	}}
}

// socketVar accepts a host:port, or the path of a Unix socket.
func socketVar(p *string) setter {
	a := addressVar(p)
	return setter{kind: "host:port, or unix:/path", fix: "write one such as 127.0.0.1:9090 or unix:/run/authsvc/admin.sock", set: func(v value) string {
		path, isSocket := strings.CutPrefix(v.text, "unix:")
		switch {
		case v.shape != scalar || !isSocket:
			return a.set(v)
		case !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) || len(path) > 100: // the limit of operating systems
			return quote(v.raw) + " is not the path of a socket, which begins with / and has at most 100 bytes"
		}
		*p = v.text
		return ""
	}}
}

// loopbackVar accepts a host:port that only this machine can reach.
func loopbackVar(p *string) setter {
	a := addressVar(p)
	return setter{kind: "host:port of this machine", fix: "write one such as 127.0.0.1:6060", set: func(v value) string {
		if host, _, _ := net.SplitHostPort(v.text); v.shape == scalar && Address(v.text) == "" && !weburl.Loopback(host) {
			return quote(v.raw) + " is not a loopback address"
		}
		return a.set(v)
	}}
}

func boolVar(p *bool) setter {
	return scalarSetter("boolean", "write true or false", func(s string) bool {
		*p = s == "true"
		return s == "true" || s == "false"
	})
}

// maybeBoolVar is boolVar for a key whose default depends on other keys.
func maybeBoolVar(p **bool) setter {
	return scalarSetter("boolean", "write true or false", func(s string) bool {
		*p = new(s == "true")
		return s == "true" || s == "false"
	})
}

// notBoolVar is boolVar for a key that means the opposite of its field in the engine.
func notBoolVar(p *bool) setter {
	return scalarSetter("boolean", "write true or false", func(s string) bool {
		*p = s == "false"
		return s == "true" || s == "false"
	})
}

const durationFix = "write a number and a unit, such as 30d, 720h or 10m"

// durationVar accepts the durations of [time.ParseDuration], and days (24 h).
func durationVar(p *time.Duration) setter {
	return scalarSetter("duration", durationFix, func(s string) (ok bool) {
		*p, ok = parseDuration(s)
		return ok && *p > 0
	})
}

// upToMinuteVar accepts a duration from 0 to 1 minute.
func upToMinuteVar(p *time.Duration) setter {
	s := scalarSetter("duration", "write a duration from 0s to 1m, such as 10s", func(s string) (ok bool) {
		*p, ok = parseDuration(s)
		return ok
	})
	parse := s.set
	s.set = func(v value) string {
		problem := parse(v)
		if problem == "" && (*p < 0 || *p > time.Minute) {
			return quote(v.raw) + " is not between 0s and 1m"
		}
		return problem
	}
	return s
}

// zeroableDurationVar accepts a duration whose zero means "every time" or "at once".
// The engine represents that by a negative duration.
func zeroableDurationVar(p *time.Duration) setter {
	return scalarSetter("duration", durationFix, func(s string) (ok bool) {
		if *p, ok = parseDuration(s); *p == 0 {
			*p = -1
		}
		return ok
	})
}

// Duration parses a duration as a key of that type does, such as 30d or 10m.
func Duration(s string) (time.Duration, error) {
	d, ok := parseDuration(s)
	if !ok {
		return 0, errors.New(durationFix)
	}
	return d, nil
}

func parseDuration(s string) (time.Duration, bool) {
	var days int64
	if n, rest, ok := strings.Cut(s, "d"); ok {
		var err error
		if days, err = strconv.ParseInt(n, 10, 32); err != nil || days < 0 || days > 36500 {
			return 0, false
		}
		if s = rest; s == "" {
			s = "0s"
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > 36500*24*time.Hour {
		return 0, false
	}
	return d + time.Duration(days)*24*time.Hour, true
}

func rateVar(p *authsvc.Rate) setter {
	return scalarSetter("rate", "write a count and a period, such as 10/s, 30/min, 5/h or 100/d", func(s string) bool {
		n, per, _ := strings.Cut(s, "/")
		count, err := strconv.Atoi(strings.TrimSpace(n))
		units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
		*p = authsvc.Rate{N: count, Per: units[strings.TrimSpace(per)]}
		return err == nil && count > 0 && p.Per > 0
	})
}

// stringListVar accepts a list, or one text with commas.
func stringListVar(p *[]string) setter {
	return setter{kind: "list of texts", fix: "write [one, two]", each: textItems(p), set: func(v value) string {
		*p = nil
		return v.notList()
	}}
}

func networkListVar(p *[]netip.Prefix) setter {
	return setter{kind: "list of networks", fix: "write CIDRs, such as [10.0.0.0/8, 2001:db8::/32]", set: func(v value) string {
		*p = nil
		return v.notList()
	}, each: func(item value) string {
		n, ok := parseNetwork(item.text)
		switch {
		case item.shape != scalar:
			return item.shape.notText()
		case !ok:
			return quote(item.raw) + " is not a network"
		}
		*p = append(*p, n)
		return ""
	}}
}

// parseNetwork parses a CIDR or a single address. It refuses bits beyond the prefix
// length, because they show that something else was meant.
func parseNetwork(s string) (netip.Prefix, bool) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	n, err := netip.ParsePrefix(s)
	return n, err == nil && n == n.Masked()
}

func stringMapVar(p *map[string]string) setter {
	return setter{kind: "mapping of texts", fix: "write {name: value}", set: func(v value) string {
		if v.shape != mapping {
			return "is " + v.shape.name() + ", not a mapping"
		}
		*p = map[string]string{}
		var wrong []string
		for _, m := range v.members {
			if m.value.shape != scalar {
				wrong = append(wrong, quote(m.key))
				continue
			}
			(*p)[m.key] = m.value.text
		}
		if wrong != nil {
			return "has no text at " + strings.Join(wrong, ", ")
		}
		return ""
	}}
}

// listMapVar accepts a mapping of names to texts or lists of texts.
func listMapVar(p *map[string][]string) setter {
	return setter{kind: "mapping of lists", fix: "write {name: [one, two]}", set: func(v value) string {
		if v.shape != mapping {
			return "is " + v.shape.name() + ", not a mapping"
		}
		*p = map[string][]string{}
		for _, m := range v.members {
			items := m.value.items
			if m.value.shape != list {
				items = []value{m.value}
			}
			for _, item := range items {
				if item.shape != scalar {
					return "has at " + quote(m.key) + " " + item.shape.name() + " where text should be"
				}
				(*p)[m.key] = append((*p)[m.key], item.text)
			}
		}
		return ""
	}}
}

// exposeVar accepts the values of stringMapVar, and a list or comma-separated text of
// sources. Each source is then shown under its own name, or as NAME=SOURCE says.
func exposeVar(p *map[string]string) setter {
	s := stringMapVar(p)
	s.kind, s.fix = "mapping or list of names", "write {id: id, role: User.role}, or [id, User.role]"
	s.reshape = func(v value) value {
		if v.shape != list && v.shape != scalar {
			return v
		}
		named := value{shape: mapping, place: v.place, raw: v.raw}
		for _, item := range v.list() {
			name, source, both := strings.Cut(item.text, "=")
			if !both {
				name, source = item.text[strings.LastIndex(item.text, ".")+1:], item.text
			}
			if slices.ContainsFunc(named.members, func(m member) bool { return m.key == name }) || item.shape != scalar {
				return v // set reports it
			}
			item.text = source
			named.members = append(named.members, member{key: name, place: item.place, value: item})
		}
		return named
	}
	set := s.set
	s.set = func(v value) string {
		if v.shape != mapping {
			return "names something twice, or has an entry that is not a name"
		}
		return set(v)
	}
	return s
}

// list returns the items of a list. It splits a scalar at commas, because environment
// variables contain lists in that form.
func (v value) list() []value {
	if v.shape != scalar {
		return v.items
	}
	var items []value
	for part := range strings.SplitSeq(v.text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, value{shape: scalar, place: v.place, raw: v.raw, text: part, ofScalar: true})
		}
	}
	return items
}
