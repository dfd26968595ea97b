package sqltest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/stores"
	"authsvc/internal/test/atonce"
	"authsvc/internal/test/quiet"
)

// Main is the TestMain of an adapter. It runs the tests, or acts as the process that
// Kill and KilledMigration start and kill.
func Main(m *testing.M, d *Database) {
	if len(os.Args) != 3 {
		os.Exit(atonce.Run(m))
	}
	var err error
	switch ctx, url := context.Background(), os.Args[2]; os.Args[1] {
	case "write":
		err = write(ctx, d, url)
	case "migrate":
		_, err = d.Open(ctx, url, true)
	default:
		os.Exit(atonce.Run(m))
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// write signs users up and out until it is killed, and prints every acknowledged
// write.
func write(ctx context.Context, d *Database, url string) error {
	s, err := d.Open(ctx, url, true)
	if err != nil {
		return err
	}
	run := time.Now().UnixNano()
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%d", run, i)
		if err := SignUp(ctx, s, id); err != nil {
			return err
		}
		fmt.Println("in", id)
		if i%2 == 0 {
			if _, err := s.DeleteSession(ctx, id); err != nil {
				return err
			}
			fmt.Println("out", id)
		}
	}
}

// SignUpEvents is the number of [sqlfault.Switch] events in SignUp: begin, a user, an
// account, two rows of the session, commit. The id must be a UUID: others take further
// statements.
const SignUpEvents = 6

// SignUp stores a user, an account and a session under the same id.
func SignUp(ctx context.Context, s adapter.Adapter, id string) error {
	acc := authsvc.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
	rec := adapter.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now().Add(time.Hour), Began: time.Now(), Provider: "github"}
	_, err := s.SignUp(ctx, authsvc.User{ID: id, Name: "Ann", Email: id + "@example.com"}, &acc, &rec, "", nil)
	return err
}

// A ledger records acknowledged sign-ups and sign-outs.
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

func (l *ledger) size() (in, out int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.in), len(l.out)
}

// check fails unless everything acknowledged is stored, and nothing is stored in
// part.
func (l *ledger) check(t *testing.T, d *Database, url string, s Store) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.in {
		if list, err := s.ListAccounts(t.Context(), id); err != nil || len(list) != 1 {
			t.Errorf("%s: accounts %v, %v", id, list, err)
		}
		_, _, err := s.GetSession(t.Context(), id, id)
		if l.out[id] && !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s: signed out, but got %v", id, err)
		}
	}
	names, err := sqladapter.Naming{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	half, err := names.Expand(`SELECT u.{User.id} FROM {User} u LEFT JOIN {Account} a ON a.{Account.userId} = u.{User.id} WHERE a.{Account.id} IS NULL`, d.Dialect.Quote)
	if err != nil {
		t.Fatal(err)
	}
	if got := Query(t, d.Connected(t, url), half); len(got) > 0 {
		t.Errorf("users without account: %s", got)
	}
	if len(l.in) == 0 || len(l.out) == 0 {
		t.Error("nothing was written")
	}
}

// Kill checks that the store keeps everything acknowledged before the process was
// killed.
func Kill(t *testing.T, d *Database) {
	t.Parallel()
	url := d.Empty(t)
	l := newLedger()
	for range 3 {
		killed(t, url, l)
		s, err := d.Open(t.Context(), url, false)
		if err != nil {
			t.Fatal(err)
		}
		l.check(t, d, url, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// killed runs the writer, kills it and records what it acknowledged.
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
	for n := 20 + time.Now().UnixNano()%30; lines.Scan(); n-- {
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

// A Blockade keeps a migration from creating an index.
type Blockade struct {
	Schema       string // another program's schema, without that index
	Lock, Unlock string // run on one connection
	Waiting      string // query that counts the connections waiting to create it
	// Least and Most bound how long the lease of the killed migration delays the next
	// one, in a run of make full.
	Least, Most time.Duration
}

// KilledMigration kills a process during a migration. The next migration must wait
// until the lease ends, but no longer, and then finish the work.
func KilledMigration(t *testing.T, d *Database, b Blockade) {
	t.Parallel()
	url := d.With(t, b.Schema)
	s, db := d.Opened(t, url, false), d.Connected(t, url)
	holder, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := holder.ExecContext(t.Context(), b.Lock); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "migrate", url)
	cmd.Stdout = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); Query(t, db, b.Waiting)[0] == "0"; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("the migration does not come to the index")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the migration ended by itself")
	}
	if _, err := holder.ExecContext(t.Context(), b.Unlock); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := s.Migrate(t.Context(), stores.Up); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); quiet.Full && (took < b.Least || took > b.Most) {
		t.Errorf("the lease of 10 s held the next one up for %v", took)
	}
	d.CheckApplied(t, url)
	if err := SignUp(t.Context(), d.Opened(t, url, false), "ann"); err != nil {
		t.Error(err)
	}
}
