package sqladapter

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"authsvc/internal/text"
)

// A Found is a table or collection of the database that no name in use refers to.
type Found struct {
	Schema  string // empty: the place where the store looks for its tables
	Name    string
	Columns []string
}

// A Likeness is a set of tables that look like the shared ones, but have other names or
// are in another schema.
type Likeness struct {
	Tables map[string]Found // by logical name
	Schema string           // of all of them; empty: the place where the store looks
	Whole  bool             // Schema also has tables like those that exist
	Naming Naming           // gives all shared tables their names
}

// similarRules lists the columns by which a table is recognised, with the names of
// preset prisma.
func similarRules() map[string][]string {
	return map[string][]string{
		"User":              {"email", "emailVerified"},
		"Account":           {"userId", "provider", "providerAccountId"},
		"Session":           {"userId", "sessionToken", "expires"},
		"VerificationToken": {"identifier", "token", "expires"},
	}
}

// Similar finds tables that look like missing shared tables. names are the names in
// use, missing the logical names of tables that do not exist, and resolve applies a
// naming. It returns nil if there are none. If several schemas have such tables, the one
// with the most of them wins.
func (n Naming) Similar(names Names, missing []string, all []Found, resolve func(Naming) (Names, error)) *Likeness {
	whole := names.whole(missing, all)
	if !slices.Contains(missing, "User") && !slices.Contains(missing, "Account") {
		all = slices.DeleteFunc(slices.Clone(all), func(f Found) bool { return whole[f.Schema] })
	}
	bySchema := map[string]map[string]Found{}
	score := map[string]int{}
	for _, logical := range missing {
		for schema, found := range names.mostSimilar(logical, missing, all) {
			if bySchema[schema] == nil {
				bySchema[schema] = map[string]Found{}
			}
			bySchema[schema][logical] = found.Found
			score[schema] += 10 + found.rank
		}
	}
	if len(bySchema) == 0 {
		return nil
	}
	schemas := slices.SortedFunc(maps.Keys(bySchema), func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	like := &Likeness{Tables: bySchema[schemas[0]], Schema: schemas[0], Whole: whole[schemas[0]]}
	like.Naming = n.propose(names.wanted(like.Tables, missing), resolve)
	return like
}

// whole finds the other schemas that have a table like one that exists where the store
// looks: the tables there are a set of their own, such as that of a staging system.
func (names Names) whole(missing []string, all []Found) map[string]bool {
	found := map[string]bool{}
	for _, f := range all {
		for _, t := range schema() {
			if f.Schema != "" && !slices.Contains(missing, t[0]) {
				r, ok := names.rank(t[0], f)
				found[f.Schema] = found[f.Schema] || ok && r.rank > 1
			}
		}
	}
	return found
}

// A ranked table resembles a shared one; the higher the rank, the more.
type ranked struct {
	Found
	rank, columns int
}

// mostSimilar returns, for each schema, the table that most resembles a shared one. It
// leaves out the tables that other shared tables are using.
func (names Names) mostSimilar(logical string, missing []string, all []Found) map[string]ranked {
	best := map[string]ranked{}
	for _, f := range all {
		if strings.HasPrefix(strings.ToLower(f.Name), ownPrefix) || f.Schema == "" && names.inUse(f.Name, missing) {
			continue
		}
		r, ok := names.rank(logical, f)
		if !ok {
			continue
		}
		before, found := best[f.Schema]
		if !found || cmp.Or(cmp.Compare(r.rank, before.rank), cmp.Compare(r.columns, before.columns), cmp.Compare(before.Name, r.Name)) > 0 {
			best[f.Schema] = r
		}
	}
	return best
}

func (names Names) inUse(table string, missing []string) bool {
	for _, t := range schema() {
		if names[t[0]] == table && !slices.Contains(missing, t[0]) {
			return true
		}
	}
	return false
}

// rank compares a table with a shared one. A table with the same name, apart from case,
// number and underscores, ranks above one whose name only ends so, as with a prefix. A
// table with a different name needs columns that hardly any other program has. Only
// where the store looks do users with an address suffice: elsewhere they may belong to
// the platform, as auth.users of Supabase does.
func (names Names) rank(logical string, f Found) (ranked, bool) {
	has := func(column string) bool {
		return slices.ContainsFunc(f.Columns, func(c string) bool {
			return plain(c) == plain(column) || c == names[logical+"."+column]
		})
	}
	r := ranked{Found: f}
	for _, t := range schema() {
		for _, column := range t[1:] {
			if t[0] == logical && has(column) {
				r.columns++
			}
		}
	}
	shaped := !slices.ContainsFunc(similarRules()[logical], func(column string) bool { return !has(column) })
	name, want := singular(f.Name), []string{singular(logical), singular(names[logical])}
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	switch {
	case f.Name == names[logical]:
		r.rank = 3
	case slices.Contains(want, name):
		r.rank = 2
	case slices.ContainsFunc(want, ends):
		r.rank = 1
	default:
		return r, shaped && (logical == "Account" || logical == "Session" || logical == "User" && has("id") && has("name") && has("image"))
	}
	return r, shaped || r.rank > 1 && f.Schema == "" && logical == "User" && has("email")
}

// plain returns a name without case and separators.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

func singular(name string) string { return strings.TrimSuffix(plain(name), "s") }

// wanted returns the physical names of the tables that exist, under their own names or
// under similar ones, and of their columns.
func (names Names) wanted(similar map[string]Found, missing []string) Names {
	want := Names{}
	for _, t := range schema() {
		found, other := similar[t[0]]
		switch {
		case other:
			want[t[0]] = found.Name
		case slices.Contains(missing, t[0]):
			continue
		default:
			want[t[0]] = names[t[0]]
		}
		for _, column := range t[1:] {
			logical := t[0] + "." + column
			want[logical] = names[logical]
			if other {
				want[logical] = found.column(column, names[logical])
			}
		}
	}
	return want
}

// column returns the name of a column in f, or now if f does not seem to have it.
func (f Found) column(column, now string) string {
	if slices.Contains(f.Columns, now) {
		return now
	}
	for _, c := range f.Columns {
		if plain(c) == plain(column) {
			return c
		}
	}
	return now
}

// propose returns the naming with the wanted names that changes the least.
func (n Naming) propose(want Names, resolve func(Naming) (Names, error)) Naming {
	best, least := Naming{}, -1
	for _, preset := range []string{n.Preset, "prisma", "snake", "authjs"} {
		tried := Naming{Preset: preset, Tables: map[string]string{}, Columns: map[string]string{}}
		names, err := resolve(Naming{Preset: preset})
		if err != nil {
			continue
		}
		for logical, physical := range want {
			switch {
			case names[logical] == physical:
			case strings.Contains(logical, "."):
				tried.Columns[logical] = physical
			default:
				tried.Tables[logical] = physical
			}
		}
		count := len(tried.Tables) + len(tried.Columns)
		if preset != n.Preset {
			count++
		}
		if least < 0 || count < least {
			best, least = tried, count
		}
	}
	best.UserColumns = n.UserColumns
	return best
}

// YAML returns the naming as members of the configuration's key storage, such as
// "naming: authjs" and "tables: {User: people}". It is empty if nothing is renamed.
func (n Naming) YAML() []string {
	var parts []string
	if n.Preset != "" {
		parts = append(parts, "naming: "+n.Preset)
	}
	for _, m := range []struct {
		key   string
		names map[string]string
	}{{"tables", n.Tables}, {"columns", n.Columns}} {
		if len(m.names) == 0 {
			continue
		}
		var list []string
		for _, logical := range slices.Sorted(maps.Keys(m.names)) {
			list = append(list, logical+": "+scalar(m.names[logical]))
		}
		parts = append(parts, m.key+": {"+strings.Join(list, ", ")+"}")
	}
	return parts
}

var plainScalar = text.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// scalar returns a name as a scalar of YAML in a flow mapping.
func scalar(name string) string {
	if plainScalar.MatchString(name) &&
		!slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(name)) {
		return name
	}
	return strconv.Quote(name)
}
