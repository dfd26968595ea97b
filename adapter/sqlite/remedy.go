package sqlite

import (
	"slices"
	"strings"

	"authsvc/internal/sql/sqlschema"
)

// remedy returns the statements that make a column usable. SQLite cannot change a
// column, so a new one takes its place.
func remedy(table string, t *sqlschema.Table, c *sqlschema.Column, r sqlschema.Repair) string {
	kind, from := "TEXT", quote(c.Name+"_old")
	switch {
	case r.Keep:
		kind = c.Type
	case r.Use == sqlschema.UseTime:
		kind = "DATETIME"
		if r.Was == "bool" {
			from = "CASE WHEN " + from + " THEN unixepoch() * 1000 END"
		}
	case r.Use == sqlschema.UseNumber:
		kind = "INTEGER"
		switch r.Was {
		case "time":
			from = "CASE typeof(" + from + ") WHEN 'text' THEN unixepoch(" + from + ") ELSE " + from + " END"
		case "bool":
			from = "NULL"
		}
	}
	if slices.ContainsFunc(t.Indexes, func(i sqlschema.Index) bool { return slices.Contains(i.Columns, c.Name) }) {
		return "SQLite cannot change a column that an index covers: create the table again with " + quote(c.Name) + " " + kind + ", copy its rows, and rename it"
	}
	alter := "ALTER TABLE " + quote(table) + " "
	return strings.Join([]string{
		alter + "RENAME COLUMN " + quote(c.Name) + " TO " + quote(c.Name+"_old"),
		alter + "ADD COLUMN " + quote(c.Name) + " " + kind,
		"UPDATE " + quote(table) + " SET " + quote(c.Name) + " = " + from,
		alter + "DROP COLUMN " + quote(c.Name+"_old"),
	}, "; ")
}
