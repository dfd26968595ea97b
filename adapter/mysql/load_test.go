package mysql

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

// signUp stores a user with everything, all of one name.
func signUp(ctx context.Context, s authsvc.Adapter, id string) error {
	acc := authsvc.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
	rec := authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now().Add(time.Hour), AuthTime: time.Now(), Provider: "github"}
	_, err := s.SignUp(ctx, authsvc.User{ID: id, Name: "Ann", Email: id + "@example.com"}, &acc, &rec)
	return err
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
	if got := query(t, s.db, "SELECT COUNT(*) FROM `User` u LEFT JOIN `Account` a ON a.userId = u.id WHERE a.id IS NULL"); got[0] != "0" {
		t.Errorf("%s users without account", got[0])
	}
	if len(l.in) == 0 || len(l.out) == 0 {
		t.Error("nothing was written")
	}
}

// What was acknowledged before the process was killed is there afterwards.
func TestKill(t *testing.T) {
	t.Parallel()
	url := servertest.MySQL(t)
	l := newLedger()
	for range 3 {
		killed(t, url, l)
		l.holds(t, at(t, url, Options{}))
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

// A process that is killed while it migrates holds the next one up until its
// lease ends, and no longer; that one finishes the work.
func TestKilledMigration(t *testing.T) {
	t.Parallel()
	url := made(t, kysely)
	s := at(t, url, Options{})
	// Its missing index cannot be made meanwhile.
	holder, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := holder.ExecContext(t.Context(), "LOCK TABLES `Session` WRITE"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "migrate", url)
	cmd.Stdout = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const waiting = `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%' AND INFO LIKE 'CREATE INDEX%'`
	for begun := time.Now(); query(t, s.db, waiting)[0] == "0"; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the migration does not come to the index")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the migration ended by itself")
	}
	if _, err := holder.ExecContext(t.Context(), `UNLOCK TABLES`); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < time.Second || took > 30*time.Second {
		t.Errorf("the lease of 10 s held the next one up for %v", took)
	}
	if got := versionsApplied(t, s); got != "[0 1 1 1 2 1 3 1 4 1]" {
		t.Errorf("applied: %s", got)
	}
	if err := signUp(t.Context(), at(t, url, Options{}), "ann"); err != nil {
		t.Error(err)
	}
}

// traffic signs people up, in and out until it is stopped; it notes what was
// acknowledged and counts the sign-ups.
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
				passed.Add(1)
				if _, _, err := s.GetSession(ctx, id, id); err != nil || i%2 == 1 {
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
	server := servertest.OwnMySQL(t)
	s := at(t, server.URL, Options{Migrate: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var passed atomic.Int64
	l := newLedger()
	wg := traffic(ctx, s, l, &passed)
	for range 2 {
		awaitTraffic(t, &passed)
		server.Kill()
		if err := s.Ping(ctx); err == nil || !Unreachable(err) {
			t.Errorf("ping of a dead server: %v", err)
		}
		server.Start()
		back := time.Now()
		awaitTraffic(t, &passed)
		t.Logf("200 sign-ups within %v of the restart", time.Since(back).Round(time.Millisecond))
	}
	cancel()
	wg.Wait()
	l.holds(t, s)
	t.Logf("%d sign-ups, %d sign-outs acknowledged", len(l.in), len(l.out))
}

// awaitTraffic waits until some more sign-ups have passed.
func awaitTraffic(t *testing.T, passed *atomic.Int64) {
	t.Helper()
	begun, want := time.Now(), passed.Load()+200
	for ; passed.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("it does not recover")
		}
	}
}

// A server that hangs holds no call for longer than the adapter's 5 s.
func TestServerFrozen(t *testing.T) {
	server := servertest.OwnMySQL(t)
	s := at(t, server.URL, Options{Migrate: true})
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
	s, err := Open(b.Context(), servertest.MySQL(b), Options{Migrate: true})
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
