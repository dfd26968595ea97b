package migratefrom

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Table is a table of the application's database.
type Table struct {
	Schema, Name string
	Visible      bool // names without a schema lead to it
	Columns      []Column
	Rows         int64 // of tables that [Resembles] names
}

// A Column is a column of a table.
type Column struct {
	Name     string
	Required bool // it needs a value, and the database has no default
}

// Add records a finding without a place.
func (r *Report) Add(v Verdict, part, text string) { r.addAt(v, part, "", "%s", text) }

// words are the words of the shared tables, without an ending.
var words = map[string]string{"user": "User", "account": "Account", "session": "Session", "verificationtoken": "VerificationToken"}

// Resembles reports whether a table has a name like one of the shared tables: in another
// case, in the plural, or with a prefix.
func Resembles(name string) bool { return resembled(name) != "" }

// resembled returns the shared table that a name resembles, or "".
func resembled(name string) string {
	if strings.HasPrefix(strings.ToLower(name), "authsvc_") {
		return ""
	}
	plain := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
	plain = strings.TrimSuffix(plain, "s")
	if logical := words[plain]; logical != "" {
		return logical
	}
	for word, logical := range words { // app_user, next_auth_sessions
		lower := strings.TrimSuffix(strings.ToLower(name), "s")
		if strings.HasSuffix(lower, "_"+word) || word == "verificationtoken" && strings.HasSuffix(lower, "verification_token") {
			return logical
		}
	}
	return ""
}

// Compare compares the tables of the database with those that the report names.
func (r *Report) Compare(tables []Table) {
	if r.Storage.Tables == nil {
		r.Add(Note, "database", "was not compared: the names of the shared tables are not known")
		return
	}
	for _, logical := range logicalTables {
		name := r.Storage.name(logical)
		if t, ok := visibleTable(tables, name); ok {
			r.compareColumns(logical, t)
			continue
		}
		var like []string
		for _, t := range tables {
			if resembled(t.Name) == logical {
				like = append(like, t.String())
			}
		}
		if len(like) == 0 {
			r.Add(Note, "database", fmt.Sprintf("there is no table %s; authsvc makes it", name))
			continue
		}
		r.Add(Open, "database", fmt.Sprintf("there is no table %s, but %s: set storage.tables: {%s: NAME}, or search_path in storage.url", name, strings.Join(like, ", "), logical))
	}
}

// visibleTable returns the table that a name without a schema leads to.
func visibleTable(tables []Table, name string) (Table, bool) {
	i := slices.IndexFunc(tables, func(t Table) bool { return t.Visible && t.Name == name })
	if i < 0 {
		return Table{}, false
	}
	return tables[i], true
}

// addColumns adds the columns of users in the database that no source declares.
func (a *adapter) addColumns(tables []Table) {
	if a.name == "" || a.unusable {
		return
	}
	users, _ := visibleTable(tables, a.table("User"))
	for _, c := range users.Columns {
		if a.fields[c.Name] == "" {
			a.fields[c.Name] = c.Name
		}
	}
}

// column returns the column of a field of User.
func (a *adapter) column(field string) (name string, known bool) {
	if name, known = a.fields[field]; !known && a.preset == "snake" {
		name, known = a.fields[snake(field)]
	}
	return name, known
}

// String returns the name and the number of rows.
func (t Table) String() string {
	name := t.Name
	if t.Schema != "" && !t.Visible {
		name = t.Schema + "." + name
	}
	if t.Rows == 1 {
		return name + " (1 row)"
	}
	return fmt.Sprintf("%s (%d rows)", name, t.Rows)
}

// compareColumns reports missing columns, and columns that need a value that authsvc
// does not know.
func (r *Report) compareColumns(logical string, t Table) {
	wrong := false
	complain := func(format string, args ...any) {
		wrong = true
		r.Add(Open, "database", fmt.Sprintf(format, args...))
	}
	has := func(name string) bool {
		return slices.ContainsFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	}
	known := []string{"createdat", "updatedat", "created_at", "updated_at"}
	for _, column := range logicalColumns[logical] {
		name := r.Storage.name(logical + "." + column)
		known = append(known, strings.ToLower(name))
		if !has(name) && (column != "id" || logical == "User") {
			complain("%s has no column %s: add it, or set storage.columns: {%s.%s: NAME}", t.Name, name, logical, column)
		}
	}
	for _, column := range r.Storage.UserColumns {
		if logical == "User" && !has(column) {
			complain("%s has no column %s, which storage.user_columns lists", t.Name, column)
		}
	}
	var further []string
	for _, c := range t.Columns {
		if slices.Contains(known, strings.ToLower(c.Name)) {
			continue
		}
		further = append(further, c.Name)
		if c.Required {
			complain("%s.%s needs a value that authsvc does not know: give it a default", t.Name, c.Name)
		}
	}
	text := ""
	if logical == "User" && len(further) > 0 {
		text = ", further columns: " + listed(further)
	}
	if !wrong {
		r.Add(OK, "database", t.String()+text)
	}
}

// name returns the name of a table or a column in the database.
func (s *Storage) name(logical string) string {
	table, column, is := strings.Cut(logical, ".")
	if !is {
		a := adapter{preset: s.Preset, tables: s.Tables}
		return a.table(table)
	}
	if name := s.Columns[logical]; name != "" {
		return name
	}
	if s.Preset == "snake" {
		return snake(column)
	}
	return column
}
