package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"authsvc"
)

// A setter stores the value of a key: kind names what it accepts, for people,
// fix says how to write it, and set stores it or returns what is wrong with it.
// Messages quote only raw, what the file says; setters of secrets quote
// nothing.
type setter struct {
	kind string
	fix  string
	set  func(v value) (problem string)
}

// scalarSetter returns a setter that accepts scalars.
func scalarSetter(kind, fix string, set func(text string) bool) setter {
	return setter{kind, fix, func(v value) string {
		switch {
		case v.shape != scalar:
			return "is not a " + kind
		case !set(v.text):
			return quote(v.raw) + " is not a " + kind
		}
		return ""
	}}
}

func stringVar[T ~string](p *T) setter {
	return setter{"text", "write one value", func(v value) string {
		if v.shape != scalar {
			return notText
		}
		*p = T(v.text)
		return ""
	}}
}

// What is wrong with a value that is not a scalar, or has an item that is not.
const (
	notText      = "is not text"
	itemsNotText = "holds something that is not text"
)

// secretVar is a text that is never quoted.
func secretVar(p *string) setter {
	s := stringVar(p)
	s.kind = "secret"
	return s
}

// secretListVar accepts one secret, a list, or lines of them.
func secretListVar(p *[]string) setter {
	return setter{"secret or list of secrets", "write one value, or a list whose first entry seals", func(v value) string {
		*p = nil
		if v.shape == scalar {
			for line := range strings.Lines(v.text) { // spaces may be part of a secret
				if line = strings.TrimRight(line, "\r\n"); line != "" {
					*p = append(*p, line)
				}
			}
			return ""
		}
		for _, item := range v.list() {
			if item.shape != scalar {
				return itemsNotText
			}
			*p = append(*p, item.text)
		}
		return ""
	}}
}

func enumVar(p *string, values ...string) setter {
	kind := strings.Join(values, ", ")
	return setter{kind, "use " + kind, func(v value) string {
		for _, w := range values {
			if v.shape == scalar && v.text == w {
				*p = w
				return ""
			}
		}
		if v.shape != scalar {
			return notText
		}
		return quote(v.raw) + " is not known"
	}}
}

func boolVar(p *bool) setter {
	return scalarSetter("boolean", "write true or false", func(s string) bool {
		*p = s == "true"
		return s == "true" || s == "false"
	})
}

// notBoolVar is boolVar for a key that switches something off where the engine
// has a field that switches it on, or the reverse.
func notBoolVar(p *bool) setter {
	return scalarSetter("boolean", "write true or false", func(s string) bool {
		*p = s == "false"
		return s == "true" || s == "false"
	})
}

const durationFix = "write a number and a unit, such as 30d, 720h or 10m"

// durationVar accepts what [time.ParseDuration] does, and days (24 h).
func durationVar(p *time.Duration) setter {
	return scalarSetter("duration", durationFix, func(s string) (ok bool) {
		*p, ok = parseDuration(s)
		return ok && *p > 0
	})
}

// zeroableDurationVar is a duration whose zero means "every time", which the engine
// spells as a negative one.
func zeroableDurationVar(p *time.Duration) setter {
	return scalarSetter("duration", durationFix, func(s string) (ok bool) {
		if *p, ok = parseDuration(s); *p == 0 {
			*p = -1
		}
		return ok
	})
}

// Duration parses what a key of that type accepts, such as 30d or 10m.
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
	return setter{"list of texts", "write [one, two]", func(v value) string {
		*p = nil
		for _, item := range v.list() {
			if item.shape != scalar {
				return itemsNotText
			}
			*p = append(*p, item.text)
		}
		return ""
	}}
}

func networkListVar(p *[]netip.Prefix) setter {
	return setter{"list of networks", "write CIDRs, such as [10.0.0.0/8, 2001:db8::/32]", func(v value) string {
		*p = nil
		for _, item := range v.list() {
			if item.shape != scalar {
				return itemsNotText
			}
			n, ok := parseNetwork(item.text)
			if !ok {
				return "holds " + quote(item.raw) + ", which is not a network"
			}
			*p = append(*p, n)
		}
		return ""
	}}
}

// parseNetwork parses a CIDR or a single address. It refuses bits beyond the
// length: whoever wrote them meant something else.
func parseNetwork(s string) (netip.Prefix, bool) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	n, err := netip.ParsePrefix(s)
	return n, err == nil && n == n.Masked()
}

func stringMapVar(p *map[string]string) setter {
	return setter{"mapping of texts", "write {name: value}", func(v value) string {
		if v.shape != mapping {
			return "is not a mapping"
		}
		*p = map[string]string{}
		for _, m := range v.members {
			if m.value.shape != scalar {
				return fmt.Sprintf("has no text at %s", quote(m.key))
			}
			(*p)[m.key] = m.value.text
		}
		return ""
	}}
}

// list returns the items of a list; a scalar is split at commas, which is how
// the environment writes lists.
func (v value) list() []value {
	if v.shape != scalar {
		if v.shape == mapping {
			return []value{v}
		}
		return v.items
	}
	var items []value
	for part := range strings.SplitSeq(v.text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, value{shape: scalar, place: v.place, raw: v.raw, text: part})
		}
	}
	return items
}
