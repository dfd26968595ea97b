package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"authsvc/adapter"
	"authsvc/internal/seal"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqlfault"
	"authsvc/internal/test/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m, testDatabase) }

func TestEveryStatementFailing(t *testing.T) {
	t.Parallel()
	fresh := schemas(t)
	sqlfault.Run(t, func(t *testing.T, fault *sqlfault.Switch) sqlfault.Store {
		return opened(t, fresh(t), Options{Migrate: true}, other{}, sqladapter.TestHooks{Database: fault.WrapDatabase})
	})
}

// TestRetry checks that a step that certainly had no effect is repeated, wherever it
// failed, and that a step that may have been committed is not.
func TestRetry(t *testing.T) {
	t.Parallel()
	server := func(code string) error { return &pgconn.PgError{Severity: "ERROR", Code: code, Message: "injected"} }
	for name, c := range map[string]struct {
		err            error
		steps, commits bool // repeated if a step, or its commit, fails this way
	}{
		"serialization failure": {server("40001"), true, true},
		"deadlock":              {server("40P01"), true, true},
		"starting":              {server("57P03"), true, true},
		"read-only":             {server("25006"), true, true},
		"not sent":              {driver.ErrBadConn, true, true},
		"shut down":             {server("57P01"), true, false},
		"crashed":               {server("57P02"), true, false},
		"connection failure":    {server("08006"), true, false},
		"lost":                  {fmt.Errorf("receive message failed: %w", io.ErrUnexpectedEOF), true, false},
		"outcome unknown":       {server("40003"), false, false},
		"disk full":             {server("53100"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqltest.Retry(t, func(t *testing.T, fault *sqlfault.Switch) adapter.Adapter {
				return newShared(t, Options{}, sqladapter.TestHooks{Database: fault.WrapDatabase})
			}, c.err, c.steps, c.commits)
		})
	}
}

// TestLostCommit checks that a commit whose answer is lost is not repeated, and returns
// an error of unknown outcome.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	fault := sqlfault.Switch{Err: &pgconn.PgError{Severity: "FATAL", Code: "57P01", Message: "injected"}}
	s := newShared(t, Options{}, sqladapter.TestHooks{Database: fault.WrapDatabase})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	fault.Arm(sqltest.SignUpEvents, true)
	ann := seal.UUIDv7()
	err := sqltest.SignUp(t.Context(), s, ann)
	if !fault.Disarm() || err == nil || errors.Is(err, adapter.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err := s.GetUser(t.Context(), ann); err != nil {
		t.Error(err)
	}
	fault.Arm(1, true)
	err = s.UseOnce(t.Context(), "k", time.Now())
	if !fault.Disarm() || err == nil || errors.Is(err, adapter.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

// TestStaleStatements checks that statements are prepared again if the server has
// dropped them, or refuses them because a column was widened.
func TestStaleStatements(t *testing.T) {
	t.Parallel()
	s := opened(t, with(testDatabase.With(t, pgAdapter), "pool_max_conns=4"), Options{Migrate: true, Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), sqladapter.TestHooks{})
	u, err := s.CreateUser(t.Context(), adapter.User{Name: "Ann"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`ALTER TABLE users ALTER name TYPE TEXT`, `DEALLOCATE ALL`} {
		if _, err := s.GetUser(t.Context(), u.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		name := "Ann B."
		if _, err := s.UpdateUser(t.Context(), u.ID, adapter.UserUpdate{Name: &name}); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
		if _, err := s.GetUser(t.Context(), u.ID); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestDemoted checks that a connection to a server that became a standby is closed.
func TestDemoted(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if _, err := s.CreateUser(t.Context(), adapter.User{ID: "ann"}, nil); err != nil {
		t.Fatal(err)
	}
	all := s.pool.AcquireAllIdle(t.Context())
	for _, conn := range all {
		if _, err := conn.Exec(t.Context(), `SET default_transaction_read_only = on`); err != nil {
			t.Fatal(err)
		}
		conn.Release()
	}
	if len(all) == 0 {
		t.Fatal("there is no connection")
	}
	if err := sqltest.SignUp(t.Context(), s, "bob"); err != nil {
		t.Error(err)
	}
}

// TestPatience checks that a call waits for another transaction's locks up to its
// timeout.
func TestPatience(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if err := sqltest.SignUp(t.Context(), s, "ann"); err != nil {
		t.Fatal(err)
	}
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), `UPDATE "User" SET name = 'held'`); err != nil {
		t.Fatal(err)
	}
	begin, name := time.Now(), "Ann"
	_, err = s.UpdateUser(t.Context(), "ann", adapter.UserUpdate{Name: &name})
	if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took < 4*time.Second || took > quiet.Limit(7*time.Second) {
		t.Errorf("after %v: %v", took, err)
	}
	if !Unreachable(err) {
		t.Error("not reported as unreachable")
	}
}

func TestKill(t *testing.T) { sqltest.Kill(t, testDatabase) }

func TestKilledMigration(t *testing.T) {
	sqltest.KilledMigration(t, testDatabase, sqltest.Blockade{
		Schema: prisma, Lock: `BEGIN; LOCK TABLE "Account"`, Unlock: `ROLLBACK`,
		Waiting: `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX%'`,
		Most:    20 * time.Second,
	})
}

func TestServerKilled(t *testing.T) {
	sqltest.ServerKilled(t, testDatabase, servertest.OwnPostgres(t), 10*time.Second)
}

func TestServerFrozen(t *testing.T) { sqltest.ServerFrozen(t, testDatabase, servertest.OwnPostgres(t)) }

func TestLinksAtOnce(t *testing.T) {
	sqltest.LinksAtOnce(t, func(t *testing.T, hooks sqladapter.TestHooks) adapter.Adapter { return newShared(t, Options{}, hooks) })
}
