package mysql

import (
	"database/sql/driver"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqlfault"
	"authsvc/internal/test/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m, testDatabase) }

func TestEveryStatementFailing(t *testing.T) {
	t.Parallel()
	fresh := template(t, Options{}, "")
	sqlfault.Run(t, func(t *testing.T, fault *sqlfault.Switch) sqlfault.Store {
		return opened(t, fresh(t), Options{}, sqladapter.TestHooks{Connector: fault.Wrap})
	})
}

// TestRetry checks that a step is repeated from its beginning if the server asks for
// that, and only if it certainly had no effect.
func TestRetry(t *testing.T) {
	t.Parallel()
	fresh := template(t, Options{}, "")
	number := func(n uint16) error { return &mysql.MySQLError{Number: n} }
	for name, c := range map[string]struct {
		err      error
		repeated bool
	}{
		"deadlock":              {number(errDeadlock), true},
		"lock wait":             {number(errLockWait), true},
		"snapshot":              {number(errSnapshot), true},
		"Galera, not ready":     {number(errUnknownCommand), true},
		"read-only option":      {number(errOptionPrevents), true},
		"read-only transaction": {number(errReadOnlyTransaction), true},
		"read-only mode":        {number(errReadOnlyMode), true},
		"nothing was sent":      {driver.ErrBadConn, true},
		"connection lost":       {mysql.ErrInvalidConn, false},
		"shutdown":              {number(errShutdown), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqltest.Retry(t, func(t *testing.T, fault *sqlfault.Switch) adapter.Adapter {
				return opened(t, fresh(t), Options{}, sqladapter.TestHooks{Connector: fault.Wrap})
			}, c.err, c.repeated, c.repeated)
		})
	}
}

func TestKill(t *testing.T) { sqltest.Kill(t, testDatabase) }

func TestKilledMigration(t *testing.T) {
	sqltest.KilledMigration(t, testDatabase, sqltest.Blockade{
		Schema: kysely, Lock: "LOCK TABLES `Session` WRITE", Unlock: `UNLOCK TABLES`,
		Waiting: `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%' AND INFO LIKE 'CREATE INDEX%'`,
		Least:   time.Second, Most: 30 * time.Second,
	})
}

func TestServerKilled(t *testing.T) {
	sqltest.ServerKilled(t, testDatabase, servertest.OwnMySQL(t), time.Minute)
}

func TestServerFrozen(t *testing.T) { sqltest.ServerFrozen(t, testDatabase, servertest.OwnMySQL(t)) }

func TestLinksAtOnce(t *testing.T) {
	sqltest.LinksAtOnce(t, func(t *testing.T, hooks sqladapter.TestHooks) adapter.Adapter {
		return opened(t, template(t, Options{}, "")(t), Options{}, hooks)
	})
}
