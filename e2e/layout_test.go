package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/internal/sql/stores"
	"authsvc/internal/test/servertest"
)

// TestTablesStayAsTheyWere migrates up and down, and checks that the other program's
// tables and rows stay the same.
func TestTablesStayAsTheyWere(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, w place) {
		js := w.theirs(t)
		u, err := js.CreateUser(t.Context(), authsvc.User{Name: "Ada", Email: "ada@app.test", EmailVerified: moment(5)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := w.layout(t)
		if len(before) < 8 {
			t.Fatalf("only %d facts: %v", len(before), before)
		}
		s := w.open(t)
		w.unchanged(t, "up", before)
		if own := len(w.layout(t)) - len(before); own < 8 {
			t.Errorf("only %d facts about tables of authsvc", own)
		}
		if err := s.Migrate(t.Context(), stores.Down); err != nil {
			t.Fatal(err)
		}
		w.unchanged(t, "down", before)
		got, err := js.GetUser(t.Context(), u.ID)
		if diff := cmp.Diff(u, got); err != nil || diff != "" {
			t.Errorf("user after down: %v\n%s", err, diff)
		}
	})
}

// unchanged fails unless all earlier facts are still true and all new ones concern
// authsvc's own objects.
func (w place) unchanged(t *testing.T, when string, before []string) {
	t.Helper()
	after := w.layout(t)
	for _, fact := range before {
		if !slices.Contains(after, fact) {
			t.Errorf("missing after %s: %s", when, fact)
		}
	}
	for _, fact := range after {
		if !slices.Contains(before, fact) && !strings.Contains(fact, "authsvc_") {
			t.Errorf("unexpected after %s: %s", when, fact)
		}
	}
}

// layout returns the catalogue's facts about all tables, one per line.
func (w place) layout(t *testing.T) (facts []string) {
	t.Helper()
	for _, query := range map[string][]string{
		"postgresql": {
			`SELECT 'column ' || row_to_json(c) FROM information_schema.columns c WHERE table_schema = 'public'`,
			`SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'`,
			`SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace`,
			`SELECT 'trigger ' || row_to_json(g) FROM information_schema.triggers g`,
			`SELECT 'sequence ' || sequencename || data_type FROM pg_sequences WHERE schemaname = 'public'`,
		},
		"mysql": {
			`SELECT CONCAT_WS(' ', 'column', table_name, ordinal_position, column_name, column_type, is_nullable, column_default, collation_name, extra)
				FROM information_schema.columns WHERE table_schema = DATABASE()`,
			`SELECT CONCAT_WS(' ', 'index', table_name, index_name, seq_in_index, column_name, non_unique, sub_part)
				FROM information_schema.statistics WHERE table_schema = DATABASE()`,
			`SELECT CONCAT_WS(' ', 'constraint', table_name, constraint_name, referenced_table_name, delete_rule, update_rule)
				FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()`,
			`SELECT CONCAT_WS(' ', 'table', table_name, engine, table_collation, row_format) FROM information_schema.tables WHERE table_schema = DATABASE()`,
			`SELECT CONCAT_WS(' ', 'trigger', trigger_name) FROM information_schema.triggers WHERE trigger_schema = DATABASE()`,
		},
		"sqlite": {`SELECT type || ' ' || name || ' on ' || tbl_name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name <> 'sqlite_sequence'`},
	}[w.database] {
		rows, err := w.db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var fact string
			if err := rows.Scan(&fact); err != nil {
				t.Fatal(err)
			}
			facts = append(facts, fact)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return facts
}

// TestPrismaTables compares the files of Prisma's tables with Prisma's output. Its
// WebAssembly engine does not support MySQL.
func TestPrismaTables(t *testing.T) {
	t.Parallel()
	needAdapters(t)
	for _, p := range pairings() {
		if p.adapter != "prisma" || p.database == "mysql" || p.renames != "" || p.env != nil {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			database := p.unused()
			if p.database == "postgresql" {
				database = servertest.Postgres(t) // Prisma asks the server for its version
			}
			want, err := p.prisma(database, "migrate", "diff", "--from-empty", "--to-schema-datamodel", filepath.Join(p.clientDir(), "schema.prisma"), "--script")
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join("testdata", "stores", p.tables+"."+p.database+".sql"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-Prisma +file\n%s", diff)
			}
		})
	}
}
