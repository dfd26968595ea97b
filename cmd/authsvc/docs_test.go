package main

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"authsvc/internal/sqladapter"
	"authsvc/internal/test/servertest"
)

var update = flag.Bool("update", false, "write the tables into docs/stores")

// TestDocumentedTables: the pages of the SQL stores show the tables that
// migrations make, with the names of preset prisma.
func TestDocumentedTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		store, page, text, id string
		quote                 func(name string) string
	}{
		{"sqlite", "sqlite.md", "TEXT", "TEXT", plainName},
		{"postgres", "postgresql.md", `TEXT COLLATE "C"`, "TEXT", quoteMixedCase},
		{"mysql", "mysql.md", "VARCHAR(255) COLLATE utf8mb4_nopad_bin", "VARCHAR(255) COLLATE utf8mb4_nopad_bin", plainName},
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
		want := before + "<!-- tables -->\n```sql\n" + schemaStatements(t, c.store, c.text, c.id, c.quote) + "```\n<!-- end of tables -->\n" + after
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

func plainName(name string) string { return name }

// quoteMixedCase quotes what PostgreSQL would fold to lower case.
func quoteMixedCase(name string) string {
	if strings.ToLower(name) == name {
		return name
	}
	return `"` + name + `"`
}

// schemaStatements are those of a store.
func schemaStatements(t *testing.T, store, text, id string, quote func(name string) string) string {
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
		statement := strings.ReplaceAll(strings.ReplaceAll(string(raw), "{text}", text), "IF NOT EXISTS ", "")
		for _, column := range []string{"User.id", "Session.sessionToken", "VerificationToken.token"} {
			statement = strings.ReplaceAll(statement, "{type "+column+"}", id)
		}
		if statement, err = names.Expand(statement, quote); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if all.Len() > 0 {
			all.WriteString("\n")
		}
		all.WriteString(statement)
	}
	return all.String()
}

// TestDocumentedTablesRun: the tables of a page can be created from it as they stand,
// and are then those that the service wants.
func TestDocumentedTablesRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page   string
		create func(t *testing.T, sql string) (storage string)
	}{
		{"sqlite.md", func(t *testing.T, statements string) string {
			file := filepath.Join(t.TempDir(), "authsvc.db")
			db, err := sql.Open("sqlite", file)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), statements); err != nil {
				t.Fatal(err)
			}
			return "sqlite:" + file
		}},
		{"postgresql.md", func(t *testing.T, statements string) string {
			url := servertest.Postgres(t)
			db, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close(context.Background())
			if _, err := db.Exec(t.Context(), statements, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			return url
		}},
	} {
		t.Run(c.page, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "stores", c.page))
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(raw), "<!-- tables -->\n```sql\n")
			statements, _, found := strings.Cut(rest, "```\n<!-- end of tables -->\n")
			if !found {
				t.Fatal("the page has no tables")
			}
			config := filepath.Join(t.TempDir(), "authsvc.yaml")
			yaml := fmt.Sprintf("url: https://app.example.com\nsecret: %s\nstorage: {url: %q}\nproviders: [{id: github, client_id: a, client_secret: b}]\n",
				testSecret, c.create(t, statements))
			if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{{"migrate", "up"}, {"check", "--offline"}} {
				var out bytes.Buffer
				if code := run(t.Context(), append(command, "--config", config), nil, strings.NewReader(""), &out, &out); code != 0 {
					t.Errorf("%s: exit code %d\n%s", strings.Join(command, " "), code, out.String())
				}
			}
		})
	}
}
