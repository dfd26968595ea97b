package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"authsvc/adapter"
)

// TestDiskFull checks that on a full disk only writes fail. When there is space again,
// writes succeed, and all acknowledged records exist. The disk is a small tmpfs or,
// where mounting is not permitted, a limit on file sizes.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		out, err := exec.CommandContext(t.Context(), os.Args[0], "full", dir).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "recovered") {
			t.Fatalf("with a limit on files: %v\n%s", err, out)
		}
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fillUp(dir, func() error { return os.Remove(ballast) }); err != nil {
		t.Fatal(err)
	}
}

var fullDisk = limited

// limited runs fillUp in a process whose files cannot grow beyond 1 MiB.
func limited(dir string) {
	signal.Ignore(syscall.SIGXFSZ) // makes the write fail instead
	var before syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: before.Max})
	}
	if err == nil {
		err = fillUp(dir, func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) })
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("recovered")
	os.Exit(0)
}

// fillUp writes until the disk is full, calls room to make space, and writes again.
func fillUp(dir string, room func() error) error {
	ctx, path := context.Background(), filepath.Join(dir, "auth.db")
	s, err := Open(ctx, path, Options{Migrate: true})
	if err != nil {
		return err
	}
	n, name := 0, strings.Repeat("x", 10_000)
	write := func() error {
		_, err := s.CreateUser(ctx, adapter.User{ID: fmt.Sprint(n), Name: name}, nil)
		if err == nil {
			n++
		}
		return err
	}
	for err == nil && n < 10_000 {
		err = write()
	}
	switch {
	case err == nil:
		return errors.New("the disk never filled up")
	case errors.Is(err, adapter.ErrConflict), errors.Is(err, adapter.ErrNotFound):
		return fmt.Errorf("a full disk is taken for something else: %w", err)
	case n == 0:
		return fmt.Errorf("there was no room at all: %w", err)
	}
	for range 3 {
		if err := write(); err == nil {
			break // a little space remained
		}
	}
	if _, err := s.GetUser(ctx, "0"); err != nil {
		return fmt.Errorf("reads on a full disk: %w", err)
	}
	if err := s.Ping(ctx); err != nil {
		return fmt.Errorf("ping on a full disk: %w", err)
	}
	if err := room(); err != nil {
		return err
	}
	for range 20 {
		if err := write(); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	again, err := Open(ctx, path, Options{}) // checks every page
	if err != nil {
		return err
	}
	defer again.Close()
	for i := range n {
		if _, err := again.GetUser(ctx, fmt.Sprint(i)); err != nil {
			return fmt.Errorf("acknowledged user %d: %w", i, err)
		}
	}
	return nil
}
