package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/sqladapter"
)

// Writers of two processes wait for each other, not for a long reader.
func TestWritersBesideLongReader(t *testing.T) {
	t.Parallel()
	a := newShared(t, Options{}, sqladapter.TestHooks{})
	b := a.Reopen(t)
	rows, err := a.reader.QueryContext(t.Context(), `SELECT name FROM sqlite_schema`)
	if err != nil || !rows.Next() {
		t.Fatal("cannot read", err)
	}
	defer rows.Close()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			store := []authsvc.Adapter{a, b}[i%2]
			s := authsvc.SessionRecord{ID: fmt.Sprint(i), SessionToken: fmt.Sprint("t", i), Digest: fmt.Sprint("d", i), Expires: time.Now()}
			if _, err := store.SignUp(t.Context(), authsvc.User{ID: fmt.Sprint("u", i)}, nil, &s); err != nil {
				t.Error(err)
			}
			if _, err := store.DeleteSession(t.Context(), s.SessionToken); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestMain turns the test into the program that TestKill kills.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "write" {
		writeForever(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == "full" {
		fullDisk(os.Args[2])
	}
	os.Exit(m.Run())
}

// writeForever signs people up and tells of each when it is acknowledged.
func writeForever(path string) {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Migrate: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	run := time.Now().UnixNano()
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%d", run, i)
		acc := authsvc.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
		rec := authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now()}
		if _, err := s.SignUp(ctx, authsvc.User{ID: id}, &acc, &rec); err != nil {
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

// What was acknowledged before the process was killed is there afterwards.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.db")
	in, out := map[string]bool{}, map[string]bool{}
	for range 3 {
		killed(t, path, in, out)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for id := range in {
			if list, err := s.ListAccounts(t.Context(), id); err != nil || len(list) != 1 {
				t.Errorf("%s: accounts %v, %v", id, list, err)
			}
			_, _, err := s.GetSession(t.Context(), id, id)
			if out[id] && !errors.Is(err, authsvc.ErrNotFound) {
				t.Errorf("%s: signed out, but got %v", id, err)
			}
		}
		if got := query(t, s.writer, `SELECT COUNT(*) FROM User u LEFT JOIN Account a ON a.userId = u.id WHERE a.id IS NULL`); got[0] != "0" {
			t.Errorf("%s users without account", got[0])
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(in) == 0 || len(out) == 0 {
		t.Error("nothing was written")
	}
}

// killed runs the writer until it is killed and adds what it acknowledged.
func killed(t *testing.T, path string, in, out map[string]bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "write", path)
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
			in[id] = true
		case "out":
			out[id] = true
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

func BenchmarkGetSession(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "auth.db"), Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range 1000 {
		id := fmt.Sprint(i)
		rec := authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now(), AuthTime: time.Now(), Provider: "github"}
		if _, err := s.SignUp(b.Context(), authsvc.User{ID: id, Name: "Ann", Email: id + "@example.com"}, nil, &rec); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint(rand.IntN(1000))
			if _, _, err := s.GetSession(b.Context(), id, id); err != nil {
				b.Error(err)
			}
		}
	})
}
