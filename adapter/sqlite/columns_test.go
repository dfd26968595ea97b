package sqlite

import (
	"context"
	"testing"
	"time"

	"authsvc/internal/test/sqltest"
)

func TestUserColumns(t *testing.T) {
	t.Parallel()
	sqltest.UserColumns(t, testDatabase, []sqltest.Column{
		{Name: "role", Type: "TEXT", Value: `'ad''min'`, Want: "ad'min"},
		{Name: "größe", Type: "INTEGER", Value: `-9007199254740993`, Want: int64(-9007199254740993)},
		{Name: "team id", Type: "VARCHAR(20)", Value: `'7'`, Want: "7"},
		{Name: "score", Type: "REAL", Value: `2`, Want: float64(2)},
		{Name: "active", Type: "BOOLEAN", Value: `1`, Want: true},
		{Name: "blocked", Type: "BOOLEAN", Value: `0`, Want: false},
		{Name: "createdAt", Type: "DATETIME", Value: `1893456000123`, Want: time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)},
		{Name: "updatedAt", Type: "DATETIME", Value: `'2030-01-01T01:00:00.123+01:00'`, Want: time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)},
		{Name: "odd", Type: "DATETIME", Value: `'yesterday'`},
		{Name: "settings", Type: "JSONB", Value: `'{"a":[1,2.5,"x"]}'`, Want: map[string]any{"a": []any{int64(1), 2.5, "x"}}},
		{Name: "broken", Type: "JSON", Value: `'{'`},
		{Name: "balance", Type: "DECIMAL(10,2)", Value: `12.5`, Want: "12.5"},
		{Name: "key", Type: "BLOB", Value: `x'00ff'`, Want: []byte{0, 255}},
		{Name: "untyped", Type: "", Value: `3.5`, Want: 3.5},
	}, func(ctx context.Context, url string, names []string) (sqltest.Store, error) {
		return Open(ctx, url, Options{Migrate: true, Naming: Naming{UserColumns: names}})
	})
}
