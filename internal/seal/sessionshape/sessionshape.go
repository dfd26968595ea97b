// Package sessionshape compiles the values that a session has besides name, address and
// picture: the provider claims that it keeps, and the claims and columns of the user's
// row that GET session shows.
package sessionshape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Source names the origin of a shown value.
type Source int

// The sources of shown values.
const (
	ID Source = iota
	EmailVerified
	Provider
	Claim  // a claim of the session, by name
	Column // a column of the user's row, by name
)

// A Field is a value that GET session shows under user.
type Field struct {
	Name   string // name in the response
	Source Source
	Of     string // name of the claim or column

	prefix string // ,"NAME":
}

// A Shape is immutable after Compile. A nil Shape shows and keeps nothing.
type Shape struct {
	claims  []claim
	shown   []Field // sorted by name
	whole   []Field // the fields that AppendAll writes
	columns bool
}

// Options holds the input of Compile.
type Options struct {
	Claims  map[string]string // name to path
	Expose  map[string]string // name to source
	Columns []string          // columns of the user's row
	// ShowsID shows the ID, unless Expose gives the name id another value.
	ShowsID bool
	// AnyClaim allows claims that Claims does not name.
	AnyClaim bool
}

// A Mistake describes an error in the entry Name of the option Of: Claims or Expose.
type Mistake struct{ Of, Name, Problem, Fix, Code string }

// Limits of the names of claims and shown values, in bytes.
const (
	maxName       = 64
	maxClaimSpace = 255 // of a collision-resistant name
)

// reserved lists the names that every session shows anyway.
var reserved = []string{"name", "email", "image"}

// builtIn maps the names of sources that are neither claims nor columns.
var builtIn = map[string]Source{"id": ID, "email_verified": EmailVerified, "provider": Provider}

// Compile returns the shape and all mistakes.
func Compile(o Options) (*Shape, []Mistake) {
	if len(o.Claims)+len(o.Expose)+len(o.Columns) == 0 && !o.ShowsID {
		return nil, nil
	}
	if _, named := o.Expose["id"]; o.ShowsID && !named {
		expose := map[string]string{"id": "id"}
		maps.Copy(expose, o.Expose)
		o.Expose = expose
	}
	c := compiler{Options: o}
	s := &Shape{columns: len(o.Columns) > 0}
	for _, name := range slices.Sorted(maps.Keys(o.Claims)) {
		s.claims = append(s.claims, c.claim(name, o.Claims[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Expose)) {
		if c.name("Expose", name) {
			s.shown = append(s.shown, c.field(name, o.Expose[name])...)
		}
	}
	s.whole = c.document(s)
	return s, c.mistakes
}

type compiler struct {
	Options
	mistakes []Mistake
}

func (c *compiler) fail(of, name, problem, fix string) *Mistake {
	c.mistakes = append(c.mistakes, Mistake{Of: of, Name: name, Problem: problem, Fix: fix})
	return &c.mistakes[len(c.mistakes)-1]
}

// name checks the name of a claim or shown value.
func (c *compiler) name(of, name string) bool {
	switch {
	case of == "Expose" && slices.Contains(reserved, name):
		c.fail(of, name, "is always shown, and cannot have another value", "choose another name")
		return false
	case of == "Claims" && collisionResistant(name):
	case !plainName(name):
		fix := fmt.Sprintf("use at most %d letters, digits, - and _, and do not begin with __", maxName)
		if of == "Claims" {
			fix += "; or use a name such as https://app.example.com/plan or custom:plan"
		}
		c.fail(of, name, "is not a usable name", fix)
		return false
	}
	return true
}

// UsableName reports whether name is valid as the name of a claim.
func UsableName(name string) bool { return plainName(name) || collisionResistant(name) }

// collisionResistant reports whether name is a collision-resistant name (RFC 7519 §2): a
// URI, such as https://hasura.io/jwt/claims or custom:plan, or a domain name
// with a path. It begins with a letter or a digit, and has only characters of a URI
// (RFC 3986 §2), except &, which encoding/json escapes, and '.
func collisionResistant(name string) bool {
	if name == "" || len(name) > maxClaimSpace || !alphanumeric(rune(name[0])) {
		return false
	}
	for _, r := range name {
		if !alphanumeric(r) && !strings.ContainsRune("-._~:/?#[]@!$()*+,;=%", r) {
			return false
		}
	}
	scheme, rest, uri := strings.Cut(name, ":")
	if !uri {
		domain, path, _ := strings.Cut(name, "/")
		return path != "" && strings.ContainsRune(strings.TrimSuffix(domain, "."), '.')
	}
	first := scheme[0]
	return rest != "" && (first < '0' || first > '9') && !strings.ContainsFunc(scheme, func(r rune) bool { // RFC 3986 §3.1
		return !alphanumeric(r) && !strings.ContainsRune("+-.", r)
	})
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// plainName reports whether name is valid as the name of a shown value.
func plainName(name string) bool {
	odd := func(r rune) bool { return r != '_' && r != '-' && !alphanumeric(r) }
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, odd) && !strings.HasPrefix(name, "__")
}

// field compiles one entry of Expose.
func (c *compiler) field(name, source string) []Field {
	one := func(s Source, of string) []Field { return []Field{newField(name, s, of)} }
	if s, ok := builtIn[source]; ok {
		return one(s, "")
	}
	if claim, ok := strings.CutPrefix(source, "claims."); ok {
		if _, known := c.Claims[claim]; !known && !(c.AnyClaim && UsableName(claim)) {
			c.fail("Expose", name, fmt.Sprintf("names the claim %q, which the session does not keep%s", short(claim), c.known()), "add it to Session.Claims").Code = "claim_not_kept"
			return nil
		}
		return one(Claim, claim)
	}
	if column, ok := strings.CutPrefix(source, "User."); ok {
		if !slices.Contains(c.Columns, column) {
			c.fail("Expose", name, fmt.Sprintf("names the column %q, which is not read%s", short(column), c.known()), "add it to UserColumns").Code = "column_not_read"
			return nil
		}
		return one(Column, column)
	}
	_, claim := c.Claims[source]
	column := slices.Contains(c.Columns, source)
	switch {
	case claim && column:
		c.fail("Expose", name, fmt.Sprintf("could be the claim or the column %q", source), fmt.Sprintf("write claims.%s or User.%s", source, source))
	case claim:
		return one(Claim, source)
	case column:
		return one(Column, source)
	default:
		c.fail("Expose", name, fmt.Sprintf("%q is not known%s", short(source), c.known()), "use id, email_verified, provider, a name in Session.Claims or one in UserColumns").Code = "source_unknown"
	}
	return nil
}

// known lists the available claims and columns, for messages.
func (c *compiler) known() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Claims)) {
		names = append(names, "claims."+name)
	}
	for _, name := range c.Columns {
		names = append(names, "User."+name)
	}
	if names == nil {
		return ""
	}
	return " (available: " + strings.Join(names, ", ") + ")"
}

// document returns the fields for AppendAll: each value under its own name and under
// the name that Expose gives it. A claim and a column of the same name are both left
// out.
func (c *compiler) document(s *Shape) []Field {
	all := map[string]Field{}
	taken := map[string]bool{}
	add := func(name string, source Source) {
		if taken[name] {
			delete(all, name)
			return
		}
		taken[name], all[name] = true, newField(name, source, name)
	}
	for _, one := range s.claims {
		add(one.name, Claim)
	}
	for _, name := range c.Columns {
		add(name, Column)
	}
	for name, source := range builtIn {
		all[name] = newField(name, source, "")
	}
	for _, f := range s.shown {
		all[f.Name] = f
	}
	for _, name := range reserved {
		delete(all, name)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
}

func newField(name string, s Source, of string) Field {
	return Field{Name: name, Source: s, Of: of, prefix: `,"` + name + `":`}
}

// ReadsColumns reports whether the shape reads additional columns of the user's row.
func (s *Shape) ReadsColumns() bool { return s != nil && s.columns }

// Shown lists the fields that GET session shows, sorted by name.
func (s *Shape) Shown() []Field {
	if s == nil {
		return nil
	}
	return slices.Clone(s.shown)
}

// short keeps messages on one line.
func short(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > maxName {
		return s[:maxName] + "…"
	}
	return s
}
