package scale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/process"
)

// Limits for `authsvc users list`.
const (
	pageMost = 50 * time.Millisecond // the first page, from the store
	rssMost  = 40                    // MiB, for the process that lists all
)

func TestMain(m *testing.M) {
	code := m.Run()
	process.RemoveBinary()
	os.Exit(code)
}

// TestListScale searches for users in a full store, page by page, and lists all of
// them with the command, which must keep at most a page in memory. With only a few
// users, it checks no limits and does not build the command.
func TestListScale(t *testing.T) {
	users := size(t)
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		storage := fresh(t)
		p := Population{Seed: 4, Users: max(users, 1000), Accounts: 1, Sessions: 0, Now: time.Now()}
		if err := Fill(t.Context(), storage, p, func(line string) { t.Log(line) }); err != nil {
			t.Fatal(err)
		}
		store, err := Open(t.Context(), storage)
		if err != nil {
			t.Fatal(err)
		}
		blocked := blockSome(t, store, p)
		last := p.user(p.Users - 1)
		for _, look := range []struct {
			what string
			q    adapter.UserQuery
			want int
			page bool // an index finds it; for others, the store may read all blocked users
		}{
			{"the first 50", adapter.UserQuery{Limit: 50}, 50, true},
			{"the first 500", adapter.UserQuery{Limit: 500}, 500, true},
			{"500 in the middle", adapter.UserQuery{Limit: 500, After: p.userID(p.Users / 3)}, 500, true},
			{"one by its address", adapter.UserQuery{Limit: 50, Prefix: last.Email}, 1, true},
			{"ten by a prefix", adapter.UserQuery{Limit: 50, Prefix: last.Email[:len("person0000000")-1]}, 10, true},
			{"all by a prefix", adapter.UserQuery{Limit: 500, Prefix: "person"}, 500, true},
			{"all by a prefix, in the middle", adapter.UserQuery{Limit: 500, Prefix: "person", After: p.user(p.Users / 3).Email}, 500, true},
			{"no match", adapter.UserQuery{Limit: 50, Prefix: "zz"}, 0, true},
			{"blocked users", adapter.UserQuery{Limit: 50, Blocked: true}, min(blocked, 50), false},
		} {
			var took times
			for range 21 {
				began := time.Now()
				got, err := store.SearchUsers(t.Context(), look.q)
				if took = append(took, time.Since(began)); err != nil || len(got) != look.want {
					t.Fatalf("%s: %d of %d, %v", look.what, len(got), look.want, err)
				}
			}
			t.Logf("%s of %d: first %v, then %v", look.what, p.Users, took[0].Round(10*time.Microsecond), took)
			if users > 0 && look.page && (took[0] > slack*pageMost || took.at(0.5) > pageMost) {
				t.Errorf("%s: over %v", look.what, pageMost)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if users > 0 {
			listAll(t, storage, p)
		}
	})
}

// blockSome blocks one user in a thousand, a hundred at most, and returns their
// number.
func blockSome(t *testing.T, store adapter.Adapter, p Population) int {
	t.Helper()
	n := min(max(p.Users/1000, 1), 100)
	now := time.Now()
	for i := range n {
		if err := store.SetPerson(t.Context(), p.userID(i*(p.Users/n)), adapter.PersonUpdate{Blocked: &now}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// listAll runs the command for all users in both formats.
func listAll(t *testing.T, storage string, p Population) {
	t.Helper()
	config := configured(t, storage)
	for _, args := range [][]string{{"--limit", "0", "--json"}, {"--limit", "0"}} {
		cmd := exec.Command(process.Binary(t), append([]string{"-c", config, "users", "list"}, args...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first, lines, most, err := count(out, cmd.Process.Pid)
		if err = errors.Join(err, cmd.Wait()); err != nil {
			t.Fatalf("%v: %s", err, said.Bytes())
		}
		took := time.Since(began)
		t.Logf("authsvc users list %s: first line after %v, %d lines in %v, at most %d MiB of its own and %d MiB with mapped files", strings.Join(args, " "),
			first.Sub(began).Round(time.Millisecond), lines, took.Round(time.Millisecond), most.own, most.mapped)
		if lines < p.Users || lines > p.Users+1 {
			t.Errorf("%d lines of %d users", lines, p.Users)
		}
		if most.own > rssMost {
			t.Errorf("over %d MiB", rssMost)
		}
	}
}

// count reads lines, returns when the first one came, and measures the memory of the
// writing process.
func count(r io.Reader, pid int) (first time.Time, lines int, most memory, err error) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		if lines++; lines == 1 {
			first = time.Now()
		}
		if lines%1000 == 0 {
			most.look(pid)
		}
	}
	return first, lines, most, s.Err()
}

// memory is the memory of a process in MiB, as Linux counts it: its own, and mapped,
// which includes pages of files such as the program and SQLite's file, which the
// kernel may drop.
type memory struct{ own, mapped int64 }

// look updates m with the process's current memory if it is more.
func (m *memory) look(pid int) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(line, ":")
		var kib int64
		fmt.Sscan(rest, &kib) //nolint:errcheck // other lines have no number
		switch name {
		case "RssAnon":
			m.own = max(m.own, kib>>10)
		case "VmHWM":
			m.mapped = max(m.mapped, kib>>10)
		}
	}
}
