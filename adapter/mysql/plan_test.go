package mysql

import (
	"slices"
	"strings"
	"testing"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

func TestQueryPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema  string
		options Options
	}{"own": {"", Options{}}, "Prisma": {prisma, Options{}}, "numbers and bytes": {numbered, Options{Naming: Naming{Preset: "authjs"}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := servertest.MySQL(t)
			if err := prepare(url, c.options, c.schema); err != nil {
				t.Fatal(err)
			}
			s := opened(t, url, c.options, sqladapter.TestHooks{})
			sqltest.Fill(t, s.Application, `ANALYZE TABLE %s`)
			// Pages of users and of persons are read in index order.
			sqltest.Plans(t, s.Adapter, func(text string) []string { return scans(t, s, text) }, "u.`id` LIMIT", "p.user_id LIMIT")
		})
	}
}

// scans returns the lines of a statement's plan that read a whole table.
func scans(t *testing.T, s shared, text string) []string {
	t.Helper()
	if strings.HasPrefix(text, "INSERT") {
		return nil
	}
	return slices.DeleteFunc(sqltest.Query(t, s.db, "EXPLAIN "+sqltest.Literals(text)), func(line string) bool {
		// id, select_type, table, type, possible_keys, key, …
		cells := strings.Split(line, " ")
		access := cells[3]
		if strings.Contains(line, "DEPENDENT SUBQUERY") {
			access = cells[4]
		}
		return access != "ALL" && access != "index"
	})
}
