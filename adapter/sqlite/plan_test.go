package sqlite

import (
	"slices"
	"strings"
	"testing"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

func TestQueryPlans(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	scans := func(text string) (list []string) {
		args := slices.Repeat([]any{1}, strings.Count(text, "?"))
		for _, line := range sqltest.Query(t, s.db, "EXPLAIN QUERY PLAN "+text, args...) {
			scan := strings.Contains(line, "SCAN ") && !strings.Contains(line, "SCAN x") && !strings.Contains(line, "CONSTANT ROW")
			if scan || strings.Contains(line, "AUTOMATIC") {
				list = append(list, line)
			}
		}
		return list
	}
	sqltest.Plans(t, s.Adapter, scans, `u."id" LIMIT`, `p.user_id LIMIT`) // pages, in index order
}

// TestSessionIsReadByKeys checks that a session is read by key from three trees: in a
// large file, each tree costs one page that is in no cache.
func TestSessionIsReadByKeys(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	read := 0
	for _, text := range sqladapter.Statements(s.Adapter) {
		if !strings.Contains(text, "LEFT JOIN authsvc_session o ON o.digest = ?") {
			continue
		}
		read++
		plan := sqltest.Query(t, s.db, "EXPLAIN QUERY PLAN "+text, 1, 1)
		if len(plan) != 3 {
			t.Errorf("the plan has %d steps", len(plan))
		}
		for _, line := range plan {
			if !strings.Contains(line, " USING PRIMARY KEY (") {
				t.Errorf("not by key: %s", line)
			}
		}
	}
	if read != 1 {
		t.Errorf("%d statements read a session", read)
	}
}

func TestDecodeTime(t *testing.T) {
	t.Parallel()
	for _, v := range []any{int64(1893456000123), float64(1893456000123), "2030-01-01T00:00:00.123Z", "2030-01-01T01:00:00.123+01:00",
		"2030-01-01 00:00:00.123+00:00", "2030-01-01 00:00:00.123", "2030-01-01T00:00:00.123"} {
		got, err := decodeTime(v)
		if err != nil || got.UnixMilli() != 1893456000123 {
			t.Errorf("%v: got %v, %v", v, got, err)
		}
	}
	for v, want := range map[string]int64{"2030-01-01": 1893456000000, "2030-01-01 00:01": 1893456060000, "2030-01-01T00:01Z": 1893456060000,
		"2030-01-01 01:00:00.5 +0100 CET": 1893456000500} {
		if got, err := decodeTime(v); err != nil || got.UnixMilli() != want {
			t.Errorf("%v: got %v, %v", v, got, err)
		}
	}
	for _, v := range []any{"", "soon", "2030", "2030-01-01x", []byte("2030"), true} {
		if got, err := decodeTime(v); err == nil {
			t.Errorf("%v: got %v", v, got)
		}
	}
}
