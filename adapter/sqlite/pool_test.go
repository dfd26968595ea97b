package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

// TestTimesOfBothDrivers checks that times written by other programs are read alike by
// the writing connection and by the readers, which use different drivers.
func TestTimesOfBothDrivers(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	for i, value := range []string{`1893456000123`, `1893456000123.0`, `'2030-01-01T00:00:00.123Z'`, `'2030-01-01 00:00:00.123+00:00'`,
		`'2030-01-01 00:00:00.123'`, `'2030-01-01 01:00:00.123 +0100 CET'`} {
		id := fmt.Sprint("u", i)
		if _, err := s.CreateUser(t.Context(), adapter.User{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Exec(t.Context(), `UPDATE "User" SET emailVerified = `+value+` WHERE id = '`+id+`'`); err != nil {
			t.Fatal(err)
		}
		read, err := s.GetUser(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", value, err)
		}
		written, err := s.UpdateUser(t.Context(), id, adapter.UserUpdate{})
		if err != nil {
			t.Errorf("%s: %v", value, err)
		}
		if read.EmailVerified.UnixMilli() != 1893456000123 || !read.EmailVerified.Equal(written.EmailVerified) {
			t.Errorf("%s: %v and %v", value, read.EmailVerified, written.EmailVerified)
		}
	}
}

// TestReadersBusy checks that, while all connections read, a call waits for one or for
// the end of its context, and that it fails after Close.
func TestReadersBusy(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if _, err := s.CreateUser(t.Context(), adapter.User{ID: "ann"}, nil); err != nil {
		t.Fatal(err)
	}
	var held []sqladapter.Rows
	for range readers {
		rows, err := s.reader.Query(t.Context(), &sqladapter.Statement{Text: `SELECT id FROM "User"`}, nil)
		if err != nil || !rows.Next() {
			t.Fatal("cannot read", err)
		}
		held = append(held, rows)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.GetUser(ctx, "ann"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	got := make(chan error)
	go func() {
		_, err := s.GetUser(t.Context(), "ann")
		got <- err
	}()
	held[0].Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	for _, rows := range held[1:] {
		rows.Close()
		rows.Close() // returns nothing twice
	}
	if n := len(s.reader.free); n != readers || len(s.reader.idle) != readers {
		t.Errorf("%d of %d connections came back", n, readers)
	}
	if err := s.reader.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.GetUser(t.Context(), "ann"); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestMissingColumn checks that a missing column is found when the file is opened:
// SQLite takes an unknown name in double quotes for a string.
func TestMissingColumn(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	other, err := Open(t.Context(), s.location, Options{Naming: Naming{Columns: map[string]string{"User.image": "photo"}}})
	if err == nil {
		other.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "photo") {
		t.Errorf("got %v", err)
	}
}

// TestEndedTransaction checks that, after SQLite has ended a transaction because the
// disk is full, no later statement is committed on its own, and the connection remains
// usable.
func TestEndedTransaction(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	tx, err := s.writer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	once := &sqladapter.Statement{Text: `INSERT INTO authsvc_once (id, expires) VALUES (?, 1)`}
	if _, err := tx.Exec(t.Context(), once, []any{"a"}); err != nil {
		t.Fatal(err)
	}
	// Simulate a disk error.
	if _, err := tx.Exec(t.Context(), rollback, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), once, []any{"b"}); !errors.Is(err, errEnded) {
		t.Errorf("a statement after the end: %v", err)
	}
	if _, err := tx.Query(t.Context(), once, []any{"c"}); !errors.Is(err, errEnded) {
		t.Errorf("a query after the end: %v", err)
	}
	if err := tx.Commit(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("commit: %v", err)
	}
	if got := sqltest.Query(t, s.db, `SELECT COUNT(*) FROM authsvc_once`); got[0] != "0" {
		t.Errorf("%s rows were written", got[0])
	}
	if err := s.UseOnce(t.Context(), "d", time.Now()); err != nil {
		t.Error(err)
	}
}

// TestCancelledTransaction checks that a transaction whose context has ended is rolled
// back, and that its connection is free again.
func TestCancelledTransaction(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := s.writer.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	once := &sqladapter.Statement{Text: `INSERT INTO authsvc_once (id, expires) VALUES ('a', 1)`}
	if _, err := tx.Exec(ctx, once, nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := tx.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	if got := sqltest.Query(t, s.db, `SELECT COUNT(*) FROM authsvc_once`); got[0] != "0" {
		t.Errorf("%s rows were written", got[0])
	}
	if _, err := s.writer.Begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("begin: %v", err)
	}
	if err := s.UseOnce(t.Context(), "a", time.Now()); err != nil {
		t.Error(err)
	}
}
