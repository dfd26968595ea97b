package scale

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"authsvc/adapter/postgres"
	"authsvc/adapter/sqlite"
	"authsvc/internal/sql/sqladapter"
)

// An explainer returns a database's plan for a statement.
type explainer struct {
	texts []string // all statements
	scan  string   // text in a plan before the name of a scanned table
	run   func(ctx context.Context, text string) error
	// plan returns the lines of the plan of a statement with parameters.
	plan func(ctx context.Context, text string) ([]string, error)
}

func explain(t *testing.T, storage string, s Store) explainer {
	t.Helper()
	switch s := s.(type) {
	case *sqlite.Store:
		return explainSQLite(t, strings.TrimPrefix(storage, "sqlite:"), sqladapter.Statements(s.Adapter))
	case *postgres.Store:
		return explainPostgres(t, storage, sqladapter.Statements(s.Adapter))
	}
	t.Fatalf("%T is not explained", s)
	return explainer{}
}

func explainSQLite(t *testing.T, path string, texts []string) explainer {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	run := func(ctx context.Context, text string) error {
		_, err := db.ExecContext(ctx, text)
		return err
	}
	plan := func(ctx context.Context, text string) (lines []string, err error) {
		args := slices.Repeat([]any{1}, strings.Count(text, "?"))
		rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused any
			var line string
			if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		return lines, rows.Err()
	}
	return explainer{texts, "SCAN ", run, plan}
}

// explainPostgres uses generic plans, which are valid for all parameters.
func explainPostgres(t *testing.T, storage string, texts []string) explainer {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), storage)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	run := func(ctx context.Context, text string) error {
		_, err := c.Exec(ctx, text).ReadAll()
		return err
	}
	plan := func(ctx context.Context, text string) (lines []string, err error) {
		values := strings.Join(slices.Repeat([]string{"NULL"}, parameters(text)), ", ")
		if values != "" {
			values = "(" + values + ")"
		}
		results, err := c.Exec(ctx, "SET plan_cache_mode = force_generic_plan; PREPARE asked AS "+text+
			"; EXPLAIN (COSTS off) EXECUTE asked"+values+"; DEALLOCATE asked").ReadAll()
		if err != nil {
			return nil, err
		}
		for _, row := range results[2].Rows {
			lines = append(lines, string(row[0]))
		}
		return lines, nil
	}
	return explainer{texts, "Seq Scan on ", run, plan}
}

// parameters returns the number of $1, $2 … in a statement.
func parameters(text string) (n int) {
	for strings.Contains(text, fmt.Sprintf("$%d", n+1)) {
		n++
	}
	return n
}

// TestPlanScale checks that every statement uses an index in the filled tables,
// whether or not the database has current statistics.
func TestPlanScale(t *testing.T) {
	users := max(size(t)/5, 20_000)
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		storage := fresh(t)
		s := serve(t, storage, Population{Seed: 4, Users: users, Accounts: 2, Sessions: 2, Ended: users, Now: time.Now()})
		e := explain(t, storage, s.store)
		fillLog(t, e, users)
		fillPeople(t, e)
		e.check(t, "before ANALYZE")
		if err := e.run(t.Context(), "ANALYZE"); err != nil {
			t.Fatal(err)
		}
		e.check(t, "after ANALYZE")
	})
}

// fillPeople gives each user a person row, a credential and a session of strategy
// jwt.
func fillPeople(t *testing.T, e explainer) {
	t.Helper()
	for _, text := range []string{
		`INSERT INTO authsvc_person (user_id, second_step) SELECT "id", 0 FROM "User"`,
		`INSERT INTO authsvc_credential (kind, id, user_id, version, tries, created, expires) SELECT 'passkey', CAST("id" AS TEXT), "id", 1, 0, 1, 4000000000000 FROM "User"`,
		`INSERT INTO authsvc_jwt_session (digest, user_id, expires) SELECT CAST("id" AS TEXT), "id", 4000000000000 FROM "User"`,
	} {
		if err := e.run(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// check reports statements that scan a filled table.
func (e explainer) check(t *testing.T, when string) {
	t.Helper()
	if len(e.texts) < 40 {
		t.Fatalf("only %d statements", len(e.texts))
	}
	for _, text := range e.texts {
		lines, err := e.plan(t.Context(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// Pages of users and of persons are read in index order. The sweep of rows left by
		// sessions runs once a minute in the background. With unknown parameters,
		// PostgreSQL expects it to match a third of all rows.
		if strings.Contains(text, `"id" LIMIT`) || strings.Contains(text, "p.user_id LIMIT") || strings.Contains(text, "NOT EXISTS") {
			continue
		}
		if slices.ContainsFunc(lines, e.scans) {
			t.Errorf("%s:\n%s\n\t%s", when, text, strings.Join(lines, "\n\t"))
		}
	}
}

// scans reports whether a plan line is slow in a large store: it scans a table, or
// builds an index on the fly. Tables that are empty here, such as the mail queue, may
// be scanned, and so may the table and the subquery x, which always have a single row.
func (e explainer) scans(line string) bool {
	_, after, found := strings.Cut(line, e.scan)
	table, how, _ := strings.Cut(strings.ReplaceAll(after, `"`, ""), " ")
	small := []string{"authsvc_mail", "authsvc_lease", "authsvc_audit", "authsvc_meta", "authsvc_sequence", "CONSTANT", "x"}
	return found && !slices.Contains(small, table) && !strings.Contains(how, "USING") || strings.Contains(line, "AUTOMATIC")
}
