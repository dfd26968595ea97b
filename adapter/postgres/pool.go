package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"authsvc/internal/sql/sqladapter"
)

// newPool creates the pool of a target. It does not connect.
func (t *target) newPool(ctx context.Context) (*pgxpool.Pool, error) {
	// Only the pool defaults of this configuration are used. The URL names everything
	// else, so that libpq variables cannot make parsing fail.
	config, err := pgxpool.ParseConfig("postgres://localhost:5432/?sslmode=disable&connect_timeout=1&target_session_attrs=any")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = t.config
	config.MaxConns = int32(t.pool.Size) // #nosec G115 -- checked by takePool
	config.MaxConnIdleTime, config.MaxConnLifetime = t.pool.IdleTime, t.pool.Lifetime
	config.MaxConnLifetimeJitter = t.pool.Lifetime / 10
	config.MinConns = 0
	return pgxpool.NewWithConfig(ctx, config)
}

// A pgxDatabase runs statements through pgx itself. database/sql would add a goroutine
// per statement to wait for the end of its context.
type pgxDatabase struct{ pool *pgxpool.Pool }

// Prepare does nothing: pgx prepares a statement when it first runs on a connection.
func (d pgxDatabase) Prepare(context.Context, *sqladapter.Statement) error { return nil }

func (d pgxDatabase) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	return query(ctx, d.pool, s, args)
}

func (d pgxDatabase) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	return exec(ctx, d.pool, s, args)
}

// A querier is a pool or a connection.
type querier interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
}

func query(ctx context.Context, q querier, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	r, err := q.Query(ctx, s.Text, args...)
	if err != nil {
		return nil, err
	}
	return rows{r}, nil
}

func exec(ctx context.Context, q querier, s *sqladapter.Statement, args []any) (sql.Result, error) {
	tag, err := q.Exec(ctx, s.Text, args...)
	return affected(tag.RowsAffected()), err
}

// rows adapts pgx.Rows, whose Close returns nothing.
type rows struct{ pgx.Rows }

func (r rows) Close() error {
	r.Rows.Close()
	return r.Err()
}

// affected is the number of rows that a statement changed.
type affected int64

func (affected) LastInsertId() (int64, error) {
	return 0, errors.New("PostgreSQL returns ids by RETURNING")
}

func (a affected) RowsAffected() (int64, error) { return int64(a), nil }
