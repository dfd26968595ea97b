package sqladapter

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A journal is a database that records its calls. Commits wait for gate, unless it is
// nil.
type journal struct {
	Database
	gate chan struct{}
	fail map[string]error // by statement, or "commit"

	panics string // statement that panics

	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	if line == j.panics {
		panic("driver")
	}
	return j.fail[line]
}

func (j *journal) Begin(context.Context) (Tx, error) { return journalTx{j: j}, j.note("begin") }

type journalTx struct {
	Tx
	j *journal
}

func (t journalTx) Exec(_ context.Context, s *Statement, _ []any) (sql.Result, error) {
	return driver.RowsAffected(1), t.j.note(s.Text)
}

func (t journalTx) Commit(context.Context) error {
	if t.j.gate != nil {
		<-t.j.gate
	}
	return t.j.note("commit")
}

func (t journalTx) Rollback(context.Context) error { return nil }

// errForeignKey is the error of a foreign key that the database checks at the commit.
var errForeignKey = errors.New("a deferred foreign key refuses")

// grouped returns an adapter with a group over j.
func grouped(j *journal) *Adapter {
	a := &Adapter{writer: j}
	a.dialect.ForeignKey = func(err error) bool { return errors.Is(err, errForeignKey) }
	a.group = &group{adapter: a}
	a.savepoint, a.rollbackTo, a.releaseSavepoint = &Statement{Text: "savepoint"}, &Statement{Text: "rollback to"}, &Statement{Text: "release"}
	return a
}

// step returns a step that writes a line and then fails with err.
func step(line string, err error) queryFunc {
	return func(ctx context.Context, r runner) error {
		if _, e := r.exec(ctx, &Statement{Text: line}); e != nil {
			return e
		}
		return err
	}
}

// TestGroup checks that steps that arrive during a commit share the next one, and that
// no caller gets an answer before the commit.
func TestGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{gate: make(chan struct{})}
		a := grouped(j)
		answered := make(chan string, 100)
		run := func(line string) {
			if err := a.group.run(t.Context(), step(line, nil)); err != nil {
				t.Error(err)
			}
			answered <- line
		}
		go run("first")
		synctest.Wait()
		for i := range 64 {
			go run(fmt.Sprint("step ", i))
		}
		synctest.Wait()
		if len(answered) > 0 {
			t.Error("answered before a commit")
		}
		j.gate <- struct{}{}
		synctest.Wait()
		if len(answered) != 1 {
			t.Errorf("%d are answered after the first commit, which held one", len(answered))
		}
		j.gate <- struct{}{}
		synctest.Wait()
		if len(answered) != 65 {
			t.Errorf("%d are answered after the second commit", len(answered))
		}
		if n := strings.Count(strings.Join(j.lines, "\n"), "commit"); n != 2 {
			t.Errorf("%d commits", n)
		}
	})
}

// together runs steps that share one commit and returns their errors or panics.
func together(t *testing.T, a *Adapter, j *journal, steps ...queryFunc) (results []any) {
	t.Helper()
	results = make([]any, len(steps))
	j.gate = make(chan struct{})
	go a.group.run(t.Context(), step("first", nil)) //nolint:errcheck // it only keeps the others waiting
	synctest.Wait()
	for i, f := range steps {
		go func() {
			defer func() {
				if v := recover(); v != nil {
					results[i] = v
				}
			}()
			if err := a.group.run(t.Context(), f); err != nil {
				results[i] = err
			}
		}()
		synctest.Wait()
	}
	j.mu.Lock()
	j.lines = nil
	j.mu.Unlock()
	close(j.gate)
	synctest.Wait()
	return results
}

// TestGroupDriverPanics checks that no caller is told that its step is stored if the
// driver panics.
func TestGroupDriverPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{panics: "release"}
		a := grouped(j)
		for i, got := range together(t, a, j, step("one", nil), step("two", nil), step("three", nil)) {
			want := "commit: panic: driver"
			if i == 0 {
				want = "driver"
			}
			if fmt.Sprint(got) != want {
				t.Errorf("step %d: %v", i, got)
			}
		}
		j.panics = ""
		if err := a.group.run(t.Context(), step("later", nil)); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestGroupFailures checks that a failed step is undone and reported on its own.
func TestGroupFailures(t *testing.T) {
	t.Parallel()
	broken, full := errors.New("broken"), errors.New("disk full")
	panics := func(context.Context, runner) error { panic("panicked") }
	for name, c := range map[string]struct {
		fail  map[string]error
		steps []queryFunc
		want  []string // texts of the results
		lines string
	}{
		"all is well": {
			steps: []queryFunc{step("a", nil), step("b", nil)}, want: []string{"", ""},
			lines: "commit, begin, savepoint, a, release, savepoint, b, release, commit",
		},
		"one fails": {
			steps: []queryFunc{step("a", nil), step("b", broken), step("c", nil)}, want: []string{"", "broken", ""},
			lines: "commit, begin, savepoint, a, release, savepoint, b, rollback to, release, savepoint, c, release, commit",
		},
		"one panics": {
			steps: []queryFunc{panics, step("b", nil)}, want: []string{"panicked", ""},
			lines: "commit, begin, savepoint, rollback to, release, savepoint, b, release, commit",
		},
		"the transaction is lost": {
			fail:  map[string]error{"rollback to": broken},
			steps: []queryFunc{step("a", nil), step("b", full), step("c", nil)}, want: []string{"", "disk full", ""},
			lines: "commit, begin, savepoint, a, release, savepoint, b, rollback to, begin, a, commit, begin, b, begin, c, commit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &journal{fail: c.fail}
				got := together(t, grouped(j), j, c.steps...)
				for i, want := range c.want {
					if text := fmt.Sprint(got[i]); text != want && (want != "" || got[i] != nil) {
						t.Errorf("step %d: %v, want %s", i, got[i], want)
					}
				}
				if lines := strings.Join(j.lines, ", "); lines != c.lines {
					t.Errorf("got %s\nwant %s", lines, c.lines)
				}
			})
		})
	}
}

// TestGroupCommitFails checks that every step of a failed commit gets its error, except
// steps that fail on their own.
func TestGroupCommitFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own, lost := errors.New("own"), errors.New("the outcome is unknown")
		j := &journal{fail: map[string]error{"commit": lost}}
		got := together(t, grouped(j), j, step("a", nil), step("b", own))
		for i, want := range []error{lost, own} {
			if err, _ := got[i].(error); !errors.Is(err, want) {
				t.Errorf("step %d: %v, want %v", i, got[i], want)
			}
		}
		var before uncommitted
		if err, _ := got[0].(error); errors.As(err, &before) {
			t.Error("a failed commit counts as not having happened")
		}
	})
}

// TestGroupLostConflict checks that a step that conflicted with another step of the
// group runs again if that other step was not stored.
func TestGroupLostConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost, taken := errors.New("lost"), errors.New("taken")
		j := &journal{fail: map[string]error{"commit": lost}}
		runs := 0
		second := func(ctx context.Context, r runner) error {
			if runs++; runs == 1 {
				return taken
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			delete(j.fail, "commit")
			return nil
		}
		got := together(t, grouped(j), j, step("first", nil), second)
		if err, _ := got[0].(error); !errors.Is(err, lost) {
			t.Errorf("the lost step: %v", got[0])
		}
		if got[1] != nil || runs != 2 {
			t.Errorf("the step behind it: %v after %d runs", got[1], runs)
		}
	})
}

// TestGroupLeft checks that a step whose caller no longer waits does not run.
func TestGroupLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{gate: make(chan struct{})}
		a := grouped(j)
		ctx, cancel := context.WithCancel(t.Context())
		var left, stays error
		go a.group.run(t.Context(), step("first", nil)) //nolint:errcheck // it only keeps the others waiting
		synctest.Wait()
		go func() { left = a.group.run(ctx, step("left", nil)) }()
		go func() { stays = a.group.run(t.Context(), step("stays", nil)) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(left, context.Canceled) {
			t.Errorf("got %v", left)
		}
		close(j.gate)
		synctest.Wait()
		if slices.Contains(j.lines, "left") || !slices.Contains(j.lines, "stays") || stays != nil {
			t.Errorf("%v, %q", stays, j.lines)
		}
		if a.group.leading || len(a.group.waiting) > 0 {
			t.Error("the line is not empty")
		}
	})
}

// TestGroupDeferredKey checks that the steps of a commit that a deferred foreign key
// refused run again, each alone, so that only the step to blame fails.
func TestGroupDeferredKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{fail: map[string]error{"commit": errForeignKey}}
		first, runs := step("a", nil), 0
		blameless := func(ctx context.Context, r runner) error {
			if runs++; runs == 2 {
				j.mu.Lock()
				delete(j.fail, "commit")
				j.mu.Unlock()
			}
			return first(ctx, r)
		}
		got := together(t, grouped(j), j, step("to blame", nil), blameless)
		if err, _ := got[0].(error); !errors.Is(err, errForeignKey) || got[1] != nil || runs != 2 {
			t.Errorf("the step to blame: %v; the other: %v after %d runs", got[0], got[1], runs)
		}
	})
}
