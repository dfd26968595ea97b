package postgres

import (
	"testing"
	"time"

	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m, testDatabase) }

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

func BenchmarkGetSession(b *testing.B) { sqltest.BenchmarkGetSession(b, testDatabase) }
