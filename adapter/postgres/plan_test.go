package postgres

import (
	"strings"
	"testing"

	"authsvc/internal/sqladapter"
	"authsvc/internal/test/sqltest"
)

func TestQueryPlans(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	sqltest.Fill(t, s.Application, `ANALYZE %s`)
	sqltest.Plans(t, s.Adapter, func(text string) []string {
		plan := strings.Join(sqltest.Query(t, s.db, "EXPLAIN "+sqltest.Literals(text)), "\n\t")
		if strings.Contains(plan, "Seq Scan") {
			return []string{plan}
		}
		return nil
	}, "authsvc_sequence") // of one row
}
