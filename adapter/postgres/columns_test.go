package postgres

import (
	"context"
	"testing"
	"time"

	"authsvc/internal/test/sqltest"
)

func TestUserColumns(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 0, 0, 0, 123456e3, time.UTC)
	sqltest.UserColumns(t, testDatabase, []sqltest.Column{
		{Name: "role", Type: "TEXT", Value: `'ad''min'`, Want: "ad'min"},
		{Name: "größe", Type: "BIGINT", Value: `-9007199254740993`, Want: int64(-9007199254740993)},
		{Name: "small", Type: "SMALLINT", Value: `3`, Want: int64(3)},
		{Name: "team id", Type: "UUID", Value: `'0190163d-8694-739b-aea5-966c26f8ad91'`, Want: "0190163d-8694-739b-aea5-966c26f8ad91"},
		{Name: "score", Type: "DOUBLE PRECISION", Value: `2`, Want: float64(2)},
		{Name: "ratio", Type: "REAL", Value: `0.1`, Want: 0.1},
		{Name: "active", Type: "BOOLEAN", Value: `true`, Want: true},
		{Name: "createdAt", Type: "TIMESTAMP(3)", Value: `'2030-01-01 00:00:00.123'`, Want: at.Truncate(time.Millisecond)},
		{Name: "updatedAt", Type: "TIMESTAMPTZ", Value: `'2030-01-01 01:00:00.123456+01'`, Want: at},
		{Name: "born", Type: "DATE", Value: `'1815-12-10'`, Want: "1815-12-10"},
		{Name: "settings", Type: "JSONB", Value: `'{"a":[1,2.5,"x"]}'`, Want: map[string]any{"a": []any{int64(1), 2.5, "x"}}},
		{Name: "groups", Type: "TEXT[]", Value: `ARRAY['a','b,c']`, Want: []any{"a", "b,c"}},
		{Name: "balance", Type: "NUMERIC(30,10)", Value: `12345678901234567890.5`, Want: "12345678901234567890.5000000000"},
		{Name: "key", Type: "BYTEA", Value: `'\x00ff'`, Want: []byte{0, 255}},
		{Name: "code", Type: "CHAR(3)", Value: `'ab'`, Want: "ab"},
	}, func(ctx context.Context, url string, names []string) (sqltest.Store, error) {
		return Open(ctx, url, Options{Migrate: true, Naming: Naming{UserColumns: names}})
	})
}
