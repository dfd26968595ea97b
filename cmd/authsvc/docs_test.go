package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/sqladapter"
)

var update = flag.Bool("update", false, "write the tables into docs/stores")

// TestDocumentedTables: the pages of the SQL stores show the tables that
// migrations make, with the names of preset prisma.
func TestDocumentedTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ store, page, text, id string }{
		{"sqlite", "sqlite.md", "TEXT", "TEXT"},
		{"postgres", "postgresql.md", `TEXT COLLATE "C"`, "TEXT"},
		{"mysql", "mysql.md", "VARCHAR(255) COLLATE utf8mb4_nopad_bin", "VARCHAR(255) COLLATE utf8mb4_nopad_bin"},
	} {
		page := filepath.Join("..", "..", "docs", "stores", c.page)
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(raw), "<!-- tables -->\n")
		_, after, closed := strings.Cut(rest, "<!-- end of tables -->\n")
		if !found || !closed {
			t.Fatalf("%s has no place for the tables", c.page)
		}
		want := before + "<!-- tables -->\n```sql\n" + schemaStatements(t, c.store, c.text, c.id) + "```\n<!-- end of tables -->\n" + after
		if *update {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(raw)); diff != "" {
			t.Errorf("docs/stores/%s is stale; run go test ./cmd/authsvc -run TestDocumentedTables -update (-want +have):\n%s", c.page, diff)
		}
	}
}

// TestCIKillsByID: CI scripts end processes by id, never by name.
func TestCIKillsByID(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("..", "..", ".ci", "*"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		raw, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"pkill", "killall", "pidof"} {
			if strings.Contains(string(raw), word) {
				t.Errorf("%s uses %s", filepath.Base(script), word)
			}
		}
	}
}

// schemaStatements are those of a store, without quotes.
func schemaStatements(t *testing.T, store, text, id string) string {
	t.Helper()
	names, err := sqladapter.Naming{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range []string{"user", "account", "session", "verificationtoken", "own.up", "leases.up", "audit.up"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "adapter", store, "schema", file+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		sql := strings.ReplaceAll(strings.ReplaceAll(string(raw), "{text}", text), "IF NOT EXISTS ", "")
		for _, column := range []string{"User.id", "Session.sessionToken", "VerificationToken.token"} {
			sql = strings.ReplaceAll(sql, "{type "+column+"}", id)
		}
		if sql, err = names.Expand(sql, func(name string) string { return name }); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if all.Len() > 0 {
			all.WriteString("\n")
		}
		all.WriteString(sql)
	}
	return all.String()
}
