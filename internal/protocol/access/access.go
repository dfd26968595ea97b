// Package access checks conditions on a user: addresses, domains, users, providers,
// groups, claims and networks.
package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"authsvc/internal/text/emailaddr"
)

// A Subject is the user or client that conditions are checked for.
type Subject struct {
	UserID   string
	Email    string // normalised
	Proved   bool   // Email is verified
	Provider string
	Claims   map[string]any // of the session: texts, numbers, booleans and lists of them
	Client   netip.Addr
}

// A Condition matches if every field that is set matches; of each list, one entry is
// enough.
type Condition struct {
	Emails    []string // whole addresses, which must be verified
	Domains   []string // of verified addresses; .example.com is example.com and all below it
	Users     []string // IDs
	Providers []string // IDs
	Groups    []string // of the claim "groups"
	Claims    map[string][]string
	Networks  []netip.Prefix
}

// A Problem is a mistake in a condition. Field is a field of the condition, such as
// Domains[0].
type Problem struct{ Field, Problem, Fix string }

// Prepare returns c with normalised addresses and domains, and all its mistakes.
func Prepare(c Condition) (Condition, []Problem) {
	var problems []Problem
	note := func(field, problem, fix string) { problems = append(problems, Problem{field, problem, fix}) }
	if c.Empty() {
		note("", "matches no one", "set emails, domains, users, providers, groups, claims or networks; without any condition everyone passes")
	}
	c.Emails, c.Domains = slices.Clone(c.Emails), slices.Clone(c.Domains)
	for i, e := range c.Emails {
		address, err := emailaddr.Normalise(e)
		if err != nil || strings.Contains(e, "*") {
			note(fmt.Sprintf("Emails[%d]", i), "is not an email address", "write one such as ada@example.com; to allow a whole domain, use domains")
		}
		c.Emails[i] = address
	}
	for i, d := range c.Domains {
		name, below := strings.CutPrefix(d, ".")
		address, err := emailaddr.Normalise("x@" + name)
		if err != nil {
			note(fmt.Sprintf("Domains[%d]", i), "is not a domain", "write example.com, or .example.com to include its subdomains")
		}
		_, name, _ = strings.Cut(address, "@")
		if c.Domains[i] = name; below {
			c.Domains[i] = "." + name
		}
	}
	for name, list := range map[string][]string{"Users": c.Users, "Providers": c.Providers, "Groups": c.Groups} {
		if i := slices.Index(list, ""); i >= 0 {
			note(fmt.Sprintf("%s[%d]", name, i), "is empty", "name one, or remove the entry")
		}
	}
	for name, values := range c.Claims {
		if name == "" || len(values) == 0 || slices.Contains(values, "") {
			note("Claims", "has a claim without a name or a value", "write name: [value, …]")
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return c, problems
}

// Empty reports whether c sets no field.
func (c *Condition) Empty() bool {
	return len(c.Emails)+len(c.Domains)+len(c.Users)+len(c.Providers)+len(c.Groups)+len(c.Claims)+len(c.Networks) == 0
}

// Holds reports whether a condition returned by Prepare matches s. An empty one matches
// no one.
func (c *Condition) Holds(s *Subject) bool {
	if c.Empty() {
		return false
	}
	for name, values := range c.Claims {
		if !anyOf(s.Claims[name], values) {
			return false
		}
	}
	return (c.Emails == nil || s.Proved && slices.Contains(c.Emails, s.Email)) &&
		(c.Domains == nil || s.Proved && inDomains(s.Email, c.Domains)) &&
		(c.Users == nil || s.UserID != "" && slices.Contains(c.Users, s.UserID)) &&
		(c.Providers == nil || s.Provider != "" && slices.Contains(c.Providers, s.Provider)) &&
		(c.Groups == nil || anyOf(s.Claims["groups"], c.Groups)) &&
		(c.Networks == nil || inNetworks(s.Client, c.Networks))
}

// inDomains reports whether the domain of a normalised address, the part after its only
// @, is listed.
func inDomains(address string, domains []string) bool {
	_, domain, ok := strings.Cut(address, "@")
	if !ok || domain == "" || strings.Contains(domain, "@") {
		return false
	}
	return slices.ContainsFunc(domains, func(d string) bool {
		return domain == d || d[0] == '.' && (domain == d[1:] || strings.HasSuffix(domain, d))
	})
}

func inNetworks(ip netip.Addr, networks []netip.Prefix) bool {
	ip = ip.Unmap()
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// Misshapen returns the name and the shape of a claim that does not match c because of
// its shape, or "". Such a claim is an object, has objects or lists in it, or is a text
// that seems to hold several values: it has commas or semicolons, or a word of it would
// match. The values are not repeated.
func (c *Condition) Misshapen(s *Subject) string {
	names := slices.Sorted(maps.Keys(c.Claims))
	if len(c.Groups) > 0 {
		names = append(names, "groups")
	}
	for i, name := range names {
		wanted := c.Claims[name]
		if i >= len(c.Claims) {
			wanted = c.Groups
		}
		if shape := oddShape(s.Claims[name], wanted); shape != "" && !anyOf(s.Claims[name], wanted) {
			return fmt.Sprintf("the claim %q is %s, not a list of texts", name, shape)
		}
	}
	return ""
}

func oddShape(claim any, wanted []string) string {
	switch v := claim.(type) {
	case map[string]any:
		return "an object"
	case string:
		parts := strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",; ", r) })
		wants := slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(wanted, part) })
		if strings.ContainsAny(v, ",;") || wants { // names have spaces, too
			return "one text with separators"
		}
	case []any:
		for _, e := range v {
			switch e.(type) {
			case map[string]any:
				return "a list of objects"
			case []any:
				return "a list of lists"
			}
		}
	}
	return ""
}

// anyOf reports whether a claim, or one entry of a list, equals one of values as text.
// Objects never do.
func anyOf(claim any, values []string) bool {
	switch v := claim.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { _, list := e.([]any); return !list && anyOf(e, values) })
	case []string:
		return slices.ContainsFunc(v, func(e string) bool { return anyOf(e, values) })
	case string:
		return v != "" && slices.Contains(values, v)
	case json.Number, bool, float64, int64:
		return slices.Contains(values, fmt.Sprint(v))
	}
	return false
}
