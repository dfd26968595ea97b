package postgres

import (
	"strings"

	"authsvc/internal/sql/sqlschema"
)

// remedy returns the statement that makes a column usable. A number that becomes a time
// is taken for milliseconds since 1970, as in JavaScript.
func remedy(table string, _ *sqlschema.Table, c *sqlschema.Column, r sqlschema.Repair) string {
	column := quote(c.Name)
	var steps []string
	if r.Null && c.NotNull {
		steps = append(steps, "DROP NOT NULL")
	}
	if !r.Keep {
		if c.HasDefault {
			steps = append(steps, "DROP DEFAULT")
		}
		steps = append(steps, converted(column, r))
	}
	for i := range steps {
		steps[i] = "ALTER COLUMN " + column + " " + steps[i]
	}
	return "ALTER TABLE " + quote(table) + " " + strings.Join(steps, ", ")
}

func converted(column string, r sqlschema.Repair) string {
	switch {
	case r.Type != "":
		return "TYPE " + r.Type + " USING " + column + "::text::" + r.Type
	case r.Use == sqlschema.UseTime:
		from := map[string]string{"bool": "CASE WHEN " + column + " THEN now() END", "number": "to_timestamp(" + column + " / 1000.0)"}[r.Was]
		if from == "" {
			from = column + "::timestamptz"
		}
		return "TYPE TIMESTAMPTZ(3) USING " + from
	case r.Use == sqlschema.UseNumber:
		from := map[string]string{"time": "extract(epoch FROM " + column + ")::bigint", "bool": "NULL"}[r.Was]
		if from == "" {
			from = column + "::bigint"
		}
		return "TYPE BIGINT USING " + from
	}
	return "TYPE TEXT USING " + column + "::text"
}
