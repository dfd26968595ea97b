package counts_test

import (
	"io"
	"net/url"
	"path/filepath"
	"testing"

	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adapter/mongodb"
	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/adapter/redis"
	"authsvc/adapter/sqlite"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
)

// A kind is a kind of store that a service can use.
type kind struct {
	name string
	open func(t *testing.T) (store adapter.Adapter, meter func() figures)

	local   bool // uses no server
	simple  bool // each command is a transaction, and there are no others
	commits bool // for a simple kind: writing commands are recognised
}

// lacks clears the figures that a store does not have.
func (k *kind) lacks(f *figures) {
	if k.local {
		f.trips = none
	}
	if k.simple {
		f.transactions = none
		if !k.commits {
			f.commits = none
		}
	}
}

// kinds returns all kinds, as in package stores.
func kinds() []kind {
	return []kind{
		{name: "memory", local: true, simple: true, open: func(*testing.T) (adapter.Adapter, func() figures) { return memory.New(), nil }},
		{name: "sqlite", local: true, open: openSQLite},
		{name: "postgres", open: func(t *testing.T) (adapter.Adapter, func() figures) {
			p := before(t, servertest.Postgres(t), func() protocol { return &postgresWire{} })
			return opened(t)(postgres.Open(t.Context(), p.with("sslmode", "disable"), postgres.Options{Migrate: true})), p.sum
		}},
		{name: "mysql", open: func(t *testing.T) (adapter.Adapter, func() figures) {
			p := before(t, servertest.MySQL(t), func() protocol { return &mysqlWire{} })
			return opened(t)(mysql.Open(t.Context(), p.with("tls", "false"), mysql.Options{Migrate: true})), p.sum
		}},
		{name: "redis", simple: true, open: func(t *testing.T) (adapter.Adapter, func() figures) {
			url, prefix := servertest.Redis(t)
			p := before(t, url, func() protocol { return &redisWire{} })
			return opened(t)(redis.Open(t.Context(), p.url.String(), redis.Options{Prefix: prefix})), p.sum
		}},
		{name: "mongodb", simple: true, commits: true, open: func(t *testing.T) (adapter.Adapter, func() figures) {
			p := before(t, servertest.MongoDB(t), func() protocol { return &mongoWire{} })
			return opened(t)(mongodb.Open(t.Context(), p.with("timeoutMS", "120000"), mongodb.Options{Migrate: true})), p.sum
		}},
	}
}

func openSQLite(t *testing.T) (adapter.Adapter, func() figures) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), sqlite.Options{Migrate: true})
	opened(t)(s, err)
	c := &sqlCounter{}
	sqladapter.TestHooks{Database: c.wrap}.Install(s.Adapter)
	return s, c.read
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

// with returns the proxy's URL with a parameter.
func (p *proxy) with(name, value string) string {
	u := *p.url
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func parse(t *testing.T, location string) *url.URL {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil || u.Hostname() == "" {
		t.Skip("a server at a socket cannot be counted: name it by host and port")
	}
	return u
}
