package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestSaidWithoutValues: a server may quote values in the way of its language, and the
// log must not have them. Names, and messages without values, stay.
func TestSaidWithoutValues(t *testing.T) {
	t.Parallel()
	const value = "s3cret-token"
	for name, c := range map[string]struct{ code, message, want string }{
		"English":   {"22P02", `invalid input syntax for type uuid: "` + value + `"`, "invalid input syntax for type uuid: … (SQLSTATE 22P02"},
		"German":    {"22P02", "ungültige Eingabesyntax für Typ uuid: »" + value + "«", "für Typ uuid: … (SQLSTATE 22P02"},
		"French":    {"22P02", "syntaxe en entrée invalide pour le type uuid : « " + value + " »", "pour le type uuid : … (SQLSTATE 22P02"},
		"typeset":   {"22P02", "invalid: “" + value + "”", "invalid: … (SQLSTATE 22P02"},
		"inside":    {"22003", `value "` + value + `" is out of range for type integer`, "value … is out of range for type integer"},
		"too long":  {"22001", "value too long for type character varying(36)", "character varying(36) (SQLSTATE 22001"},
		"no values": {"42P01", "Relation »Session« existiert nicht", "Relation »Session« existiert nicht (SQLSTATE 42P01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := said(fmt.Errorf("insert: %w", &pgconn.PgError{Severity: "ERROR", Code: c.code, Message: c.message, Detail: value, ColumnName: "sessionToken"}))
			if !strings.Contains(got, c.want) || !strings.Contains(got, "column sessionToken") || strings.Contains(got, value) {
				t.Errorf("%s", got)
			}
		})
	}
}
