package sqlite

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

// TestMain turns the test into the program that TestKill or TestDiskFull runs.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "full" {
		fullDisk(os.Args[2])
	}
	sqltest.Main(m, testDatabase)
}

// TestWritersBesideLongReader checks that writers of two processes wait for each other,
// but not for a long reader.
func TestWritersBesideLongReader(t *testing.T) {
	t.Parallel()
	a := newShared(t, Options{}, sqladapter.TestHooks{})
	b := a.Reopen(t)
	rows, err := a.reader.Query(t.Context(), &sqladapter.Statement{Text: `SELECT name FROM sqlite_schema`}, nil)
	if err != nil || !rows.Next() {
		t.Fatal("cannot read", err)
	}
	defer rows.Close()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			store := []adapter.Adapter{a, b}[i%2]
			s := adapter.SessionRecord{ID: fmt.Sprint(i), SessionToken: fmt.Sprint("t", i), Digest: fmt.Sprint("d", i), Expires: time.Now()}
			if _, err := store.SignUp(t.Context(), adapter.User{ID: fmt.Sprint("u", i)}, nil, &s, "", nil); err != nil {
				t.Error(err)
			}
			if _, err := store.DeleteSession(t.Context(), s.SessionToken); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestKill(t *testing.T) { sqltest.Kill(t, testDatabase) }

func BenchmarkGetSession(b *testing.B) { sqltest.BenchmarkGetSession(b, testDatabase) }
