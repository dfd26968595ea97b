// Package stores has every kind of store, for tests of all of them. It is apart
// from package arena since whoever imports it needs the drivers of all.
package stores

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/adapter/mongodb"
	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/adapter/redis"
	"authsvc/adapter/sqlite"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/servertest"
)

// A Kind is one of the stores that a service can have.
type Kind struct {
	Name string

	// Open gives a test a store of its own, empty. It skips the test where the
	// server is missing.
	Open func(t testing.TB) authsvc.Adapter

	// Env are the variables that make a service process use a store of its
	// own, empty: "NAME=value". Calling it twice gives two stores. A file is
	// in dir.
	Env func(t testing.TB, dir string) []string
}

// All are memory, sqlite, postgres, mysql, mongodb, redis.
func All() []Kind {
	return []Kind{
		{"memory", func(testing.TB) authsvc.Adapter { return memory.New() },
			func(testing.TB, string) []string { return []string{"AUTHSVC_STORAGE_URL=memory:"} }},
		{"sqlite", func(t testing.TB) authsvc.Adapter {
			return opened(t)(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), sqlite.Options{Migrate: true}))
		}, func(_ testing.TB, dir string) []string {
			return []string{"AUTHSVC_STORAGE_URL=sqlite:" + filepath.Join(dir, "auth.db")}
		}},
		{"postgres", func(t testing.TB) authsvc.Adapter {
			return opened(t)(postgres.Open(t.Context(), servertest.Postgres(t), postgres.Options{Migrate: true}))
		}, variable(servertest.Postgres)},
		{"mysql", func(t testing.TB) authsvc.Adapter {
			return opened(t)(mysql.Open(t.Context(), servertest.MySQL(t), mysql.Options{Migrate: true}))
		}, variable(servertest.MySQL)},
		{"mongodb", func(t testing.TB) authsvc.Adapter {
			return opened(t)(mongodb.Open(t.Context(), mongoURL(t), mongodb.Options{Migrate: true}))
		}, variable(mongoURL)},
		{"redis", func(t testing.TB) authsvc.Adapter {
			url, prefix := servertest.Redis(t)
			return opened(t)(redis.Open(t.Context(), url, redis.Options{Prefix: prefix}))
		}, func(t testing.TB, _ string) []string {
			url, prefix := servertest.Redis(t)
			return []string{"AUTHSVC_STORAGE_URL=" + url, "AUTHSVC_STORAGE_PREFIX=" + prefix}
		}},
	}
}

// Combined are All, and users in SQLite with sessions and what is used once in Redis
// (session.store).
func Combined() []Kind {
	return append(All(), Kind{BesideRedis, func(t testing.TB) authsvc.Adapter {
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

// BesideRedis is the name of a kind that needs the server of redis.
const BesideRedis = "sqlite beside redis"

// mongoURL is that of a MongoDB, or of a FerretDB as if it were one. Since that
// does one command after another, those of many callers may take long.
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

// opened ends a store with its test.
func opened(t testing.TB) func(authsvc.Adapter, error) authsvc.Adapter {
	return func(s authsvc.Adapter, err error) authsvc.Adapter {
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
