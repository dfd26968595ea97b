package scale

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc/internal/sql/stores"
)

const (
	peopleVersion = 6                // of the migration that adds the tables about people
	upMost        = 60 * time.Second // for it and back, with 100 000 users, 500 000 accounts and as many sessions in SQLite
)

// A schemaStore is a store whose schema can be changed.
type schemaStore interface {
	Store
	Migrate(ctx context.Context, d stores.Direction) error
	Status(ctx context.Context) (stores.Status, error)
}

// TestMigrationScale rolls back the migration that adds the tables about people, and
// applies it again in a full store. Nothing else may be lost, even if the command is
// killed midway. With only a few users, it checks no times and kills nothing.
func TestMigrationScale(t *testing.T) {
	users := size(t)
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		storage := fresh(t)
		p := Population{Seed: 6, Users: max(users, 20), Accounts: 5, Sessions: 5, Ended: 8, Now: time.Now()}
		if err := Fill(t.Context(), storage, p, func(line string) { t.Log(line) }); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), storage)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		m := s.(schemaStore)
		with := dump(t, storage)
		down := bringTo(t, m, stores.Down)
		without := dump(t, storage)
		up := bringTo(t, m, stores.Up)
		if !slices.Equal(dump(t, storage), with) || slices.Equal(with, without) {
			t.Errorf("up, down and up again are not the same:\n%s\n%s", with, dump(t, storage))
		}
		t.Logf("%d users, %d accounts, %d sessions: down in %v, up in %v", p.Users, p.Users*p.Accounts, p.live(), down.Round(time.Millisecond), up.Round(time.Millisecond))
		if users > 0 && strings.HasPrefix(storage, "sqlite:") && up+down > upMost*time.Duration(max(1, users/100_000)) {
			t.Errorf("down and up took over %v", upMost)
		}
		if users > 0 {
			killMidway(t, storage, m, with)
		}
		bringTo(t, m, stores.Down)
		if got := dump(t, storage); !slices.Equal(got, without) {
			t.Errorf("down is not the same as before:\n%s\n%s", without, got)
		}
		if err := m.Migrate(t.Context(), stores.Up); err != nil {
			t.Error(err)
		}
	})
}

// bringTo migrates up to the latest version, or down to the one without the tables
// about people. It returns the time taken.
func bringTo(t *testing.T, m schemaStore, d stores.Direction) time.Duration {
	t.Helper()
	begun := time.Now()
	for {
		status, err := m.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d == stores.Up && status.Current == status.Latest || d == stores.Down && status.Current < peopleVersion {
			return time.Since(begun)
		}
		if err := m.Migrate(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// configured returns a configuration file for the command.
func configured(t *testing.T, storage string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authsvc.yaml")
	text := fmt.Sprintf("url: https://app.test\nsecret: kT3vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4\nstorage: {url: %q}\nproviders: [{id: provider0, type: oidc, issuer: https://id.test, client_id: id, client_secret: secret}]\n", storage)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// dump describes every table except goose's: its columns, number of rows, sum of row
// hashes, and indexes.
func dump(t *testing.T, storage string) (list []string) {
	t.Helper()
	driver, name := "pgx", storage
	tables, indexes := `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`, `SELECT indexname FROM pg_indexes WHERE schemaname = 'public'`
	if path, file := strings.CutPrefix(storage, "sqlite:"); file {
		driver, name = "sqlite", "file:"+path+"?_busy_timeout=5000"
		tables, indexes = `SELECT name FROM sqlite_schema WHERE type = 'table'`, `SELECT name FROM sqlite_schema WHERE type = 'index'`
	}
	db, err := sql.Open(driver, name) // a new connection: existing ones cache columns
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range column(t, db, tables) {
		if strings.HasPrefix(table, "authsvc_goose") || strings.HasPrefix(table, "sqlite_") {
			continue
		}
		list = append(list, dumpTable(t, db, table))
	}
	return append(list, strings.Join(slices.DeleteFunc(column(t, db, indexes), func(name string) bool { return strings.Contains(name, "goose") }), " "))
}

func dumpTable(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), `SELECT * FROM `+quoted(table))
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	n, sum := 0, uint64(0)
	for ; found.Next(); n++ {
		if err := found.Scan(places...); err != nil {
			t.Fatal(err)
		}
		h := fnv.New64a()
		fmt.Fprint(h, values...)
		sum += h.Sum64() // independent of the order
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s (%s): %d rows, %x", table, strings.Join(columns, ", "), n, sum)
}

// column returns the first column of a query, sorted.
func column(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
