package mysql

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
		Schema: kysely, Lock: "LOCK TABLES `Session` WRITE", Unlock: `UNLOCK TABLES`,
		Waiting: `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%' AND INFO LIKE 'CREATE INDEX%'`,
		Least:   time.Second, Most: 30 * time.Second,
	})
}

func TestServerKilled(t *testing.T) {
	sqltest.ServerKilled(t, testDatabase, servertest.OwnMySQL(t), time.Minute)
}

func TestServerFrozen(t *testing.T) { sqltest.ServerFrozen(t, testDatabase, servertest.OwnMySQL(t)) }

func BenchmarkGetSession(b *testing.B) { sqltest.BenchmarkGetSession(b, testDatabase) }
