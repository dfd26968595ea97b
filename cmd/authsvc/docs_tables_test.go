package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"authsvc/internal/test/servertest"
)

var update = flag.Bool("update", false, "write the tables into docs/stores")

// A catalog is how a database tells its tables: columns and indexes. Each query returns
// rows of five texts.
type catalog struct {
	page    string
	open    func(t *testing.T) (storage, driver, source string)
	columns string // table, column, type, "not null" or "", the table that it references or ""
	indexes string // table, index, "primary key" or "unique" or "index", columns, ""
}

var catalogs = []catalog{
	{"sqlite.md", func(t *testing.T) (string, string, string) {
		file := filepath.Join(t.TempDir(), "authsvc.db")
		return "sqlite:" + file, "sqlite", file
	}, `SELECT t.name, c.name, c.type, CASE WHEN c."notnull" OR c.pk THEN 'not null' ELSE '' END,
		COALESCE((SELECT f."table" FROM pragma_foreign_key_list(t.name) f WHERE f."from" = c.name), '')
		FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid`,
		`SELECT t.name, i.name, CASE WHEN i.origin = 'pk' THEN 'primary key' WHEN i."unique" THEN 'unique' ELSE 'index' END,
		COALESCE((SELECT group_concat(x.name, ', ') FROM pragma_index_info(i.name) x HAVING count(x.name) = count(*)),
			(SELECT substr(s.sql, instr(s.sql, '(') + 1, length(s.sql) - instr(s.sql, '(') - 1) FROM sqlite_schema s WHERE s.name = i.name)), ''
		FROM sqlite_schema t, pragma_index_list(t.name) i WHERE t.type = 'table'`},
	{"postgresql.md", func(t *testing.T) (string, string, string) {
		u := servertest.Postgres(t)
		return u, "pgx", u
	}, `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attcollation = '"C"'::regcollation THEN ' by bytes' ELSE '' END, CASE WHEN a.attnotnull THEN 'not null' ELSE '' END,
		COALESCE((SELECT r.relname FROM pg_constraint f JOIN pg_class r ON r.oid = f.confrelid WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.conkey = ARRAY[a.attnum]), '')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
		AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`,
		`SELECT c.relname, i.relname, CASE WHEN x.indisprimary THEN 'primary key' WHEN x.indisunique THEN 'unique' ELSE 'index' END,
		(SELECT string_agg(pg_get_indexdef(x.indexrelid, n, true) || CASE WHEN x.indcollation[n - 1] = '"C"'::regcollation AND a.attcollation <> x.indcollation[n - 1] THEN ' by bytes' ELSE '' END, ', ' ORDER BY n)
			FROM generate_series(1, x.indnkeyatts) n LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[n - 1]), ''
		FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid WHERE c.relnamespace = current_schema()::regnamespace`},
	{"mysql.md", func(t *testing.T) (string, string, string) {
		storage := servertest.MySQL(t)
		u, err := url.Parse(storage)
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		return storage, "mysql", fmt.Sprintf("%s:%s@tcp(%s)%s", u.User.Username(), password, u.Host, u.Path)
	}, `SELECT c.table_name, c.column_name, CONCAT(c.column_type, IF(c.collation_name LIKE '%bin', ' by bytes', '')), IF(c.is_nullable = 'NO', 'not null', ''),
		COALESCE((SELECT MAX(k.referenced_table_name) FROM information_schema.key_column_usage k WHERE k.table_schema = c.table_schema AND k.table_name = c.table_name
			AND k.column_name = c.column_name), '')
		FROM information_schema.columns c WHERE c.table_schema = DATABASE() ORDER BY c.table_name, c.ordinal_position`,
		`SELECT table_name, index_name, IF(index_name = 'PRIMARY', 'primary key', IF(MAX(non_unique) = 0, 'unique', 'index')),
		GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', '), '' FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name`},
}

// rows returns the rows of a query, except those of goose's own tables.
func (c *catalog) rows(t *testing.T, db *sql.DB, query string) (all [][5]string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", c.page, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r [5]string
		if err := rows.Scan(&r[0], &r[1], &r[2], &r[3], &r[4]); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(r[0], "authsvc_goose") && !strings.HasPrefix(r[0], "sqlite_") {
			all = append(all, r)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// sharedTables come first on the pages.
var sharedTables = []string{"User", "Account", "Session", "VerificationToken"}

// describe returns the tables of a database as the pages show them.
func (c *catalog) describe(t *testing.T, db *sql.DB) string {
	t.Helper()
	columns, indexes := c.rows(t, db, c.columns), c.rows(t, db, c.indexes)
	rank := func(table string) int {
		if i := slices.Index(sharedTables, table); i >= 0 {
			return i
		}
		return len(sharedTables)
	}
	slices.SortStableFunc(columns, func(a, b [5]string) int { return cmp.Or(rank(a[0])-rank(b[0]), cmp.Compare(a[0], b[0])) })
	kinds := []string{"primary key", "unique", "index"}
	slices.SortFunc(indexes, func(a, b [5]string) int {
		return cmp.Or(slices.Index(kinds, a[2])-slices.Index(kinds, b[2]), cmp.Compare(a[1], b[1]), cmp.Compare(a[3], b[3]))
	})
	width := regexp.MustCompile(`(?i)^((?:big|small|tiny)?int)\(\d+\)`) // of the display, which MySQL 8 leaves out
	var all strings.Builder
	table := ""
	end := func() {
		for _, i := range indexes {
			name := ""
			if i[0] != table {
				continue
			}
			if strings.HasPrefix(i[1], "authsvc_") {
				name = " " + i[1]
			}
			fmt.Fprintf(&all, "    %s%s (%s)\n", i[2], name, strings.ReplaceAll(i[3], `"`, ""))
		}
	}
	for _, r := range columns {
		if r[0] != table {
			if table != "" {
				end()
				all.WriteString("\n")
			}
			table = r[0]
			fmt.Fprintf(&all, "%s\n", table)
		}
		line := fmt.Sprintf("    %-18s %s", r[1], strings.ToLower(width.ReplaceAllString(r[2], "$1")))
		if r[3] != "" {
			line += " " + r[3]
		}
		if r[4] != "" {
			line += ", references " + r[4]
		}
		all.WriteString(line + "\n")
	}
	end()
	return all.String()
}

// TestDocumentedTables: the pages of the SQL stores show all tables as migrations make
// them in an empty database, and sql.md says what each of authsvc's own tables holds.
func TestDocumentedTables(t *testing.T) {
	t.Parallel()
	shared, err := os.ReadFile(filepath.Join("..", "..", "docs", "stores", "sql.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range catalogs {
		t.Run(c.page, func(t *testing.T) {
			t.Parallel()
			storage, driver, source := c.open(t)
			runMigration(t, storage, "migrate", "up")
			db := openDatabase(t, driver, source)
			tables := c.describe(t, db)
			for _, m := range regexp.MustCompile(`(?m)^authsvc_\w+`).FindAllString(tables, -1) {
				if !strings.Contains(string(shared), "`"+m+"`") {
					t.Errorf("sql.md does not say what %s holds", m)
				}
			}
			page := filepath.Join("..", "..", "docs", "stores", c.page)
			raw, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			const begin, end = "<!-- tables: go test ./cmd/authsvc -run TestDocumentedTables -update -->\n", "<!-- end of tables -->\n"
			before, rest, found := strings.Cut(string(raw), begin)
			_, after, closed := strings.Cut(rest, end)
			if !found || !closed {
				t.Fatalf("%s has no place for the tables", c.page)
			}
			want := before + begin + "```text\n" + tables + "```\n" + end + after
			if *update {
				if err := os.WriteFile(page, []byte(want), 0o644); err != nil { // #nosec G306 -- a page
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(want, string(raw)); diff != "" {
				t.Errorf("docs/stores/%s is stale; run go test ./cmd/authsvc -run TestDocumentedTables -update (-want +have):\n%s", c.page, diff)
			}
		})
	}
}

// TestMigrationsByHand: the statements that a dry run prints, applied by hand, make the
// same tables as the command, and the service accepts them.
func TestMigrationsByHand(t *testing.T) {
	t.Parallel()
	for _, c := range catalogs[:2] { // the driver of MySQL runs one statement at a time
		t.Run(c.page, func(t *testing.T) {
			t.Parallel()
			storage, driver, source := c.open(t)
			statements := runMigration(t, storage, "migrate", "up", "--dry-run", "--sql")
			db := openDatabase(t, driver, source)
			if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statements); err != nil {
				t.Fatalf("%v\n%s", err, statements)
			}
			byHand := c.describe(t, db)
			if got := runMigration(t, storage, "migrate", "up", "--dry-run"); got != "nothing to do\n" {
				t.Errorf("after the statements: %s", got)
			}
			runMigration(t, storage, "check", "--offline")
			other, driver, source := c.open(t)
			runMigration(t, other, "migrate", "up")
			if diff := gocmp.Diff(c.describe(t, openDatabase(t, driver, source)), byHand); diff != "" {
				t.Errorf("the tables differ (-command +by hand):\n%s", diff)
			}
		})
	}
}

// runMigration runs a command on a storage and returns its output.
func runMigration(t *testing.T, storage string, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if code := run(t.Context(), append(args, "--config", storageConfig(t, storage)), nil, strings.NewReader(""), &out, &problems); code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, &out, &problems)
	}
	return out.String()
}

func openDatabase(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
