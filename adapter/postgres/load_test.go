package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/sqladapter"
	"authsvc/internal/test/servertest"
)

// TestMain turns the test into the program that TestKill and
// TestKilledMigration kill.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "write" {
		writeForever(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == "migrate" {
		if _, err := Open(context.Background(), os.Args[2], Options{Migrate: true}); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeForever signs people up and tells of each when it is acknowledged.
func writeForever(url string) {
	ctx := context.Background()
	s, err := Open(ctx, url, Options{Migrate: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	run := time.Now().UnixNano()
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%d", run, i)
		if err := signUp(ctx, s, id); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("in", id)
		if i%2 == 0 {
			if _, err := s.DeleteSession(ctx, id); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			fmt.Println("out", id)
		}
	}
}

// A ledger is what a store has acknowledged.
type ledger struct {
	mu      sync.Mutex
	in, out map[string]bool
}

func newLedger() *ledger { return &ledger{in: map[string]bool{}, out: map[string]bool{}} }

func (l *ledger) note(of map[string]bool, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of[id] = true
}

// grow waits for more sign-ups and sign-outs.
func (l *ledger) grow(t *testing.T, more int) {
	t.Helper()
	size := func() (int, int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.in), len(l.out)
	}
	in, out := size()
	for from := time.Now(); time.Since(from) < 30*time.Second; time.Sleep(5 * time.Millisecond) {
		if nowIn, nowOut := size(); nowIn >= in+more && nowOut > out {
			return
		}
	}
	t.Fatal("too little traffic passes")
}

// holds checks that everything acknowledged is there, and nothing half.
func (l *ledger) holds(t *testing.T, s *Store) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.in {
		if list, err := s.ListAccounts(t.Context(), id); err != nil || len(list) != 1 {
			t.Errorf("%s: accounts %v, %v", id, list, err)
		}
		_, _, err := s.GetSession(t.Context(), id, id)
		if l.out[id] && !errors.Is(err, authsvc.ErrNotFound) {
			t.Errorf("%s: signed out, but got %v", id, err)
		}
	}
	if got := query(t, s.db, `SELECT COUNT(*) FROM "User" u LEFT JOIN "Account" a ON a."userId" = u.id WHERE a.id IS NULL`); got[0] != "0" {
		t.Errorf("%s users without account", got[0])
	}
	if len(l.in) == 0 || len(l.out) == 0 {
		t.Error("nothing was written")
	}
}

// What was acknowledged before the process was killed is there afterwards.
func TestKill(t *testing.T) {
	t.Parallel()
	url := servertest.Postgres(t)
	l := newLedger()
	for range 3 {
		killed(t, url, l)
		l.holds(t, opened(t, url, Options{}, other{}, sqladapter.TestHooks{}).Store)
	}
}

// killed runs the writer until it is killed and adds what it acknowledged.
func killed(t *testing.T, url string, l *ledger) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "write", url)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for n := 20 + rand.IntN(30); lines.Scan(); n-- {
		word, id, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "in":
			l.note(l.in, id)
		case "out":
			l.note(l.out, id)
		default:
			t.Error(lines.Text())
		}
		if n == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the writer ended by itself")
	}
}

// A process that is killed in the middle of a migration holds the next one up
// until its lease ends, and no longer; that one finishes the work.
func TestKilledMigration(t *testing.T) {
	t.Parallel()
	url := made(t, prisma)
	s := opened(t, url, Options{}, other{}, sqladapter.TestHooks{}).Store
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), `LOCK TABLE "Account"`); err != nil { // which is about to get an index
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "migrate", url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const waiting = `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX%'`
	for query(t, s.db, waiting)[0] == "0" {
		time.Sleep(5 * time.Millisecond) // the server has no way to tell
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the migration ended by itself")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if got := versionsApplied(t, s.db); got != "[0 1 1 1 2 1 3 1 4 1]" {
		t.Errorf("applied: %s", got)
	}
	if err := signUp(t.Context(), opened(t, url, Options{}, other{}, sqladapter.TestHooks{}), "ann"); err != nil {
		t.Error(err)
	}
}

// traffic signs people up, in and out until it is stopped; it notes what was
// acknowledged and when the last call passed.
func traffic(ctx context.Context, s *Store, l *ledger, passed *atomic.Int64) *sync.WaitGroup {
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", worker, i)
				if signUp(ctx, s, id) != nil {
					continue
				}
				l.note(l.in, id)
				passed.Store(time.Now().UnixNano())
				if _, _, err := s.GetSession(ctx, id, id); err != nil || i%2 == 0 {
					continue
				}
				if _, err := s.DeleteSession(ctx, id); err == nil {
					l.note(l.out, id)
				}
			}
		})
	}
	return &wg
}

// A server that is killed and comes back loses nothing that was acknowledged,
// and the store finds it again by itself.
func TestServerKilled(t *testing.T) {
	server := servertest.OwnPostgres(t)
	s := opened(t, server.URL, Options{Migrate: true}, other{}, sqladapter.TestHooks{}).Store
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var passed atomic.Int64
	l := newLedger()
	wg := traffic(ctx, s, l, &passed)
	for range 2 {
		awaitTraffic(t, &passed)
		l.grow(t, 100)
		server.Kill()
		if err := s.Ping(ctx); err == nil || !Unreachable(err) {
			t.Errorf("ping of a dead server: %v", err)
		}
		server.Start()
		back := time.Now()
		awaitTraffic(t, &passed)
		if took := time.Since(back); took > 10*time.Second {
			t.Errorf("recovered after %v", took)
		}
	}
	cancel()
	wg.Wait()
	l.holds(t, s)
	t.Logf("%d sign-ups, %d sign-outs acknowledged", len(l.in), len(l.out))
}

// awaitTraffic waits until a call passes that ended after now.
func awaitTraffic(t *testing.T, passed *atomic.Int64) {
	t.Helper()
	for from := time.Now(); passed.Load() <= from.UnixNano(); time.Sleep(10 * time.Millisecond) {
		if time.Since(from) > 30*time.Second {
			t.Fatal("no call passes")
		}
	}
}

// A server that hangs holds no call for longer than the adapter's 5 s.
func TestServerFrozen(t *testing.T) {
	server := servertest.OwnPostgres(t)
	s := opened(t, server.URL, Options{Migrate: true}, other{}, sqladapter.TestHooks{}).Store
	if err := signUp(t.Context(), s, "ann"); err != nil {
		t.Fatal(err)
	}
	server.Freeze()
	var wg sync.WaitGroup
	for i := range 64 { // more than there are connections
		wg.Go(func() {
			begun := time.Now()
			call := func() error { _, _, err := s.GetSession(t.Context(), "ann", "ann"); return err }
			if i%2 == 0 {
				call = func() error { return signUp(t.Context(), s, fmt.Sprint(i)) }
			}
			err := call()
			if took := time.Since(begun); took > 8*time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	wg.Wait()
	server.Thaw()
	thawed := time.Now()
	for {
		if _, _, err := s.GetSession(t.Context(), "ann", "ann"); err == nil {
			break
		} else if time.Since(thawed) > 10*time.Second {
			t.Fatalf("does not go on: %v", err)
		}
	}
	if err := signUp(t.Context(), s, "bob"); err != nil {
		t.Error(err)
	}
}

func BenchmarkGetSession(b *testing.B) {
	s, err := Open(b.Context(), servertest.Postgres(b), Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range 1000 {
		if err := signUp(b.Context(), s, fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint(rand.IntN(1000))
			if _, _, err := s.GetSession(b.Context(), id, id); err != nil {
				b.Error(err)
			}
		}
	})
}
