package verify

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/process"
	large "authsvc/internal/test/scale"
)

// lifecycle08 migrates a store with many users from the last version to this one
// while sessions are read and people sign up. No statement may wait long, and all
// records must stay the same.
func lifecycle08(t *T) {
	users := t.Scale("users with 2 accounts and 5 sessions each", 500, 20_000, 1_000_000)
	near := process.NewNeighbours(t)
	lifecycleStores(t, func(t *T, kind stores.Kind) {
		if kind.Name != "sqlite" && kind.Name != "postgres" {
			return // cannot be filled fast
		}
		env := kind.Env(t, t.TempDir())
		storage, _ := storeURL(env)
		people := large.Population{Seed: 1, Users: users, Accounts: 2, Sessions: 5, Now: time.Now()}
		if err := large.Fill(t.Context(), storage, people, func(string) {}); err != nil {
			t.Fatal(err)
		}
		s := storeAt(t, env)
		p := process.Prepare(t, near.YAML(""), env...)
		if out, code := p.Command("migrate", "down", "--yes"); code != 0 {
			t.Fatalf("migrate down: %d %s", code, out)
		}
		before := lifecycleSum(t, storage)
		stop := lifecycleTraffic(t, s)
		out, code := p.Command("migrate", "up")
		longest, n := stop()
		if code != 0 || !strings.Contains(out, fmt.Sprintf("version %[1]d of %[1]d", sqlschema.Latest())) {
			t.Errorf("migrate up: %d %s", code, out)
		}
		if after := lifecycleSum(t, storage); after != before {
			t.Errorf("the records changed:\n%s\n%s", before, after)
		}
		if measures() && longest > time.Second || n == 0 {
			t.Errorf("%d statements beside the migration, the longest took %v", n, longest)
		}
		t.Figure("%s: %d statements beside it, the longest %d ms", kind.Name, n, longest.Milliseconds())
	})
}

// lifecycleTraffic reads and writes until the returned function is called. That
// function returns the longest time of an operation, and the number of operations.
func lifecycleTraffic(t *T, s adapter.Adapter) (stop func() (time.Duration, int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	for worker := range 4 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("traffic-%d-%d", worker, i)
				rec := adapter.SessionRecord{ID: name, SessionToken: name, Digest: name, Expires: time.Now().Add(time.Hour)}
				begun := time.Now()
				_, err := s.SignUp(t.Context(), authsvc.User{ID: name, Email: name + "@traffic.test"}, nil, &rec, "", nil)
				if err == nil {
					_, _, err = s.GetSession(t.Context(), name, name)
				}
				// The last version would not use the new tables.
				if err != nil && !strings.Contains(err.Error(), "is the schema migrated?") {
					t.Errorf("beside the migration: %v", err)
				}
				mu.Lock()
				took = append(took, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	return func() (time.Duration, int) {
		cancel()
		all.Wait()
		return slices.Max(took), len(took)
	}
}

// lifecycleSum returns a checksum of all users, accounts and sessions that existed
// before the traffic.
func lifecycleSum(t *T, storage string) string {
	t.Helper()
	db := storeSQL(t, storage)
	var sum []string
	for _, table := range []string{`"User" WHERE "id" NOT LIKE 'traffic%'`, `"Account"`, `"Session" WHERE "userId" NOT LIKE 'traffic%'`} {
		rows, err := db.QueryContext(t.Context(), `SELECT * FROM `+table)
		if err != nil {
			t.Fatal(err)
		}
		n, hash := lifecycleRows(t, rows)
		sum = append(sum, fmt.Sprintf("%d rows %x", n, hash))
	}
	return strings.Join(sum, ", ")
}

// lifecycleRows counts rows and adds up their hashes, so that their order does not
// matter.
func lifecycleRows(t *T, rows *sql.Rows) (n int, sum uint64) {
	t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		h := fnv.New64a()
		fmt.Fprint(h, values...)
		sum += h.Sum64()
		n++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n, sum
}
