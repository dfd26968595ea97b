package mysql

import (
	"fmt"
	"strings"

	"authsvc/internal/sql/sqlschema"
)

// remedy returns the statements that make a column usable. If the server cannot convert
// the values, the old column stays under another name. A number that becomes a time is
// taken for milliseconds since 1970, as in JavaScript.
func remedy(table string, _ *sqlschema.Table, c *sqlschema.Column, r sqlschema.Repair) string {
	column, old := quote(c.Name), quote(c.Name+"_old")
	null := " NOT NULL"
	if r.Null {
		null = " NULL"
	}
	alter := "ALTER TABLE " + quote(table) + " "
	switch {
	case r.Keep:
		return alter + "MODIFY " + column + " " + c.Type + null
	case r.Use == sqlschema.UseNumber && c.Number:
		return alter + "MODIFY " + column + " BIGINT" + null
	case r.Use == sqlschema.UseText, r.Use == sqlschema.UseID:
		return alter + "MODIFY " + column + " " + textType(c, r.Width) + null
	case c.Base == "date":
		return alter + "MODIFY " + column + " DATETIME(3)" + null
	}
	kind, from := "DATETIME(3)", map[string]string{
		"bool":   "CASE WHEN " + old + " THEN CURRENT_TIMESTAMP(3) END",
		"number": "FROM_UNIXTIME(" + old + " / 1000)",
		"text":   "STR_TO_DATE(LEFT(" + old + ", 23), '%Y-%m-%dT%H:%i:%s.%f')",
	}[r.Was]
	if r.Was == "number" && strings.HasPrefix(c.Type, "tinyint") {
		from = "CASE WHEN " + old + " THEN CURRENT_TIMESTAMP(3) END"
	}
	if r.Use == sqlschema.UseNumber {
		kind, from = "BIGINT", map[string]string{"time": "UNIX_TIMESTAMP(" + old + ")"}[r.Was]
	}
	if from == "" {
		from = "NULL"
	}
	return fmt.Sprintf("%sCHANGE %s %s %s NULL, ADD COLUMN %s %s NULL; UPDATE %s SET %s = %s",
		alter, column, old, c.Type, column, kind, quote(table), column, from)
}

// textType returns a type of text with the collation of the column, if it has one.
func textType(c *sqlschema.Column, width int) string {
	kind := "VARCHAR(255)"
	if width > 255 {
		kind = "TEXT"
	}
	if _, collation, found := strings.Cut(c.Type, " CHARACTER SET "); found {
		kind += " CHARACTER SET " + collation
	}
	return kind
}
