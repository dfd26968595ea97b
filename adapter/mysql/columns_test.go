package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/sqltest"
)

func TestUserColumns(t *testing.T) {
	t.Parallel()
	var settings any = map[string]any{"a": []any{int64(1), 2.5, "x"}}
	if version := sqltest.Query(t, testDatabase.Connected(t, testDatabase.Empty(t)), `SELECT VERSION()`); strings.Contains(version[0], "MariaDB") {
		settings = `{"a":[1,2.5,"x"]}` // JSON is stored as text
	}
	sqltest.UserColumns(t, testDatabase, []sqltest.Column{
		{Name: "role", Type: "VARCHAR(20)", Value: `'ad''min'`, Want: "ad'min"},
		{Name: "kind", Type: "ENUM('a','b')", Value: `'b'`, Want: "b"},
		{Name: "größe", Type: "BIGINT", Value: `-9007199254740993`, Want: int64(-9007199254740993)},
		{Name: "large", Type: "BIGINT UNSIGNED", Value: `18446744073709551615`, Want: "18446744073709551615"},
		{Name: "team id", Type: "INT", Value: `7`, Want: int64(7)},
		{Name: "score", Type: "DOUBLE", Value: `2`, Want: float64(2)},
		{Name: "ratio", Type: "FLOAT", Value: `0.1`, Want: 0.1},
		{Name: "active", Type: "BOOLEAN", Value: `true`, Want: true},
		{Name: "bit", Type: "BIT(1)", Value: `b'1'`, Want: true},
		{Name: "off", Type: "BIT(1)", Value: `b'0'`, Want: false},
		{Name: "createdAt", Type: "DATETIME(3)", Value: `'2030-01-01 00:00:00.123'`, Want: time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)},
		{Name: "born", Type: "DATE", Value: `'1815-12-10'`, Want: "1815-12-10"},
		{Name: "settings", Type: "JSON", Value: `'{"a":[1,2.5,"x"]}'`, Want: settings},
		{Name: "balance", Type: "DECIMAL(30,10)", Value: `12345678901234567890.5`, Want: "12345678901234567890.5000000000"},
		{Name: "key", Type: "VARBINARY(8)", Value: `x'00ff'`, Want: []byte{0, 255}},
	}, func(ctx context.Context, url string, names []string) (sqltest.Store, error) {
		return Open(ctx, url, Options{Migrate: true, Naming: Naming{UserColumns: names}})
	})
}
