// Package stores offers every kind of store to tests. It is separate from package
// arena because it imports the drivers of all stores.
package stores

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adapter/mongodb"
	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/adapter/redis"
	"authsvc/adapter/sqlite"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/servertest"
)

// A Kind is a kind of store that a service can use.
type Kind struct {
	Name string

	// Open gives a test an empty store of its own. It skips the test if the server is
	// missing.
	Open func(t testing.TB) adapter.Adapter

	// Env returns the variables, as "NAME=value", that make a service process use an
	// empty store of its own. Each call makes another store. A file goes to dir.
	Env func(t testing.TB, dir string) []string
}

// All returns memory, sqlite, postgres, mysql, mongodb and redis.
func All() []Kind {
	return []Kind{
		{"memory", func(testing.TB) adapter.Adapter { return memory.New() },
			func(testing.TB, string) []string { return []string{"AUTHSVC_STORAGE_URL=memory:"} }},
		{"sqlite", func(t testing.TB) adapter.Adapter {
			return opened(t)(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), sqlite.Options{Migrate: true}))
		}, func(_ testing.TB, dir string) []string {
			return []string{"AUTHSVC_STORAGE_URL=sqlite:" + filepath.Join(dir, "auth.db")}
		}},
		{"postgres", func(t testing.TB) adapter.Adapter {
			return opened(t)(postgres.Open(t.Context(), servertest.Postgres(t), postgres.Options{Migrate: true}))
		}, variable(servertest.Postgres)},
		{"mysql", func(t testing.TB) adapter.Adapter {
			return opened(t)(mysql.Open(t.Context(), servertest.MySQL(t), mysql.Options{Migrate: true}))
		}, variable(servertest.MySQL)},
		{"mongodb", func(t testing.TB) adapter.Adapter {
			return opened(t)(mongodb.Open(t.Context(), mongoURL(t), mongodb.Options{Migrate: true}))
		}, variable(mongoURL)},
		{"redis", func(t testing.TB) adapter.Adapter {
			url, prefix := servertest.Redis(t)
			return opened(t)(redis.Open(t.Context(), url, redis.Options{Prefix: prefix}))
		}, func(t testing.TB, _ string) []string {
			url, prefix := servertest.Redis(t)
			return []string{"AUTHSVC_STORAGE_URL=" + url, "AUTHSVC_STORAGE_PREFIX=" + prefix}
		}},
	}
}

// Combined returns All, and the combination of users in SQLite with sessions and
// single-use records in Redis (session.store).
func Combined() []Kind {
	return append(All(), Kind{BesideRedis, func(t testing.TB) adapter.Adapter {
		t.Helper()
		main := opened(t)(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), sqlite.Options{Migrate: true}))
		url, prefix := servertest.Redis(t)
		sessions, err := redis.Open(t.Context(), url, redis.Options{Prefix: prefix})
		opened(t)(sessions, err)
		return redis.Beside(main, sessions)
	}, func(t testing.TB, dir string) []string {
		url, prefix := servertest.Redis(t)
		return []string{"AUTHSVC_STORAGE_URL=sqlite:" + filepath.Join(dir, "auth.db"), "AUTHSVC_SESSION_STORE=" + url, "AUTHSVC_STORAGE_PREFIX=" + prefix}
	}})
}

// BesideRedis names a kind that needs the Redis server.
const BesideRedis = "sqlite beside redis"

// mongoURL returns the URL of a MongoDB, or of a FerretDB in its place. FerretDB gets
// one command at a time, so that many concurrent callers may take long.
func mongoURL(t testing.TB) string {
	t.Helper()
	storage := arena.InTurn(t, servertest.MongoDB(t))
	if strings.Contains(storage, "?") {
		return storage + "&timeoutMS=120000"
	}
	return storage + "?timeoutMS=120000"
}

func variable(database func(testing.TB) string) func(testing.TB, string) []string {
	return func(t testing.TB, _ string) []string { return []string{"AUTHSVC_STORAGE_URL=" + database(t)} }
}

// opened closes a store when its test ends.
func opened(t testing.TB) func(adapter.Adapter, error) adapter.Adapter {
	return func(s adapter.Adapter, err error) adapter.Adapter {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := s.(io.Closer); ok {
			t.Cleanup(func() { c.Close() })
		}
		return s
	}
}
