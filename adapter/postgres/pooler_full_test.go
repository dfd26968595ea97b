//go:build full

package postgres

import (
	"context"
	"testing"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

// TestPoolerSuite runs the whole suite behind a pooler that pools transactions. Its
// concurrent calls have five seconds each, and the pooler is one thread.
func TestPoolerSuite(t *testing.T) {
	t.Parallel()
	through := servertest.PgBouncer(t, servertest.Postgres(t), 20)
	fresh := servertest.PostgresFrom(t, func(url string) error {
		return testDatabase.Prepare(url, "", func(ctx context.Context, url string) (sqltest.Store, error) {
			return Open(ctx, with(through(url), "default_query_exec_mode=exec"), Options{Migrate: true})
		})
	})
	adaptertest.Run(t, func(t *testing.T) adapter.Adapter {
		return opened(t, with(through(fresh(t)), "pool_max_conns=8&default_query_exec_mode=exec"), Options{Migrate: true}, other{}, sqladapter.TestHooks{})
	})
}
