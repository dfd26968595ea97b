package sqlfault

import (
	"context"
	"database/sql"

	"authsvc/internal/sql/sqladapter"
)

// WrapDatabase puts the switch between an adapter and a database that does not use
// database/sql.
func (s *Switch) WrapDatabase(d sqladapter.Database) sqladapter.Database {
	return database{querier{d, s}, d}
}

type database struct {
	querier
	inner sqladapter.Database
}

func (d database) Prepare(ctx context.Context, s *sqladapter.Statement) error {
	return d.inner.Prepare(ctx, s)
}

func (d database) Begin(ctx context.Context) (sqladapter.Tx, error) {
	inner, err := do(d.s, func() (sqladapter.Tx, error) { return d.inner.Begin(ctx) })
	if err != nil {
		return nil, err
	}
	t := transaction{querier{inner, d.s}, inner}
	if p, ok := inner.(sqladapter.Pipeline); ok {
		return &pipeline{transaction: t, inner: p}, nil
	}
	return t, nil
}

type querier struct {
	sqladapter.Querier
	s *Switch
}

func (q querier) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	return do(q.s, func() (sqladapter.Rows, error) { return q.Querier.Query(ctx, s, args) })
}

func (q querier) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	return do(q.s, func() (sql.Result, error) { return q.Querier.Exec(ctx, s, args) })
}

type transaction struct {
	querier
	inner sqladapter.Tx
}

func (t transaction) Commit(ctx context.Context) error {
	return commit(t.s, func() error { return t.inner.Commit(ctx) }, func() error { return t.inner.Rollback(ctx) })
}

func (t transaction) Rollback(ctx context.Context) error { return t.inner.Rollback(ctx) }

// A pipeline fails deferred statements as the server does: after a failure, the later
// statements fail too and have no effect.
type pipeline struct {
	transaction
	inner  sqladapter.Pipeline
	failed error
}

func (p *pipeline) Later(s *sqladapter.Statement, args []any, affected *int, translate func(error) error) {
	before, after := p.s.turn()
	if !before {
		p.inner.Later(s, args, affected, translate)
	}
	if (before || after) && p.failed == nil {
		p.failed = p.s.fault()
	}
}

func (p *pipeline) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	if p.failed != nil {
		return nil, p.failed
	}
	return p.transaction.Query(ctx, s, args)
}

func (p *pipeline) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	if p.failed != nil {
		return nil, p.failed
	}
	return p.transaction.Exec(ctx, s, args)
}

func (p *pipeline) Commit(ctx context.Context) error {
	if p.failed != nil {
		return sqladapter.BeforeCommit(p.failed)
	}
	return p.transaction.Commit(ctx)
}
