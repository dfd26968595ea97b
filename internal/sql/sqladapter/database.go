package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
)

// A Database runs statements on the connections of a pool. [SQL] makes one for
// database/sql.
type Database interface {
	Querier
	// Prepare prepares and checks a statement, if the database prepares statements
	// before their first use.
	Prepare(ctx context.Context, s *Statement) error
	// Begin begins a transaction, which holds a connection until it ends.
	Begin(ctx context.Context) (Tx, error)
}

// A Querier runs statements. The arguments must be values of package driver. ctx has
// the deadline of the call.
type Querier interface {
	Query(ctx context.Context, s *Statement, args []any) (Rows, error)
	Exec(ctx context.Context, s *Statement, args []any) (sql.Result, error)
}

// A Tx is a transaction. Rollback after Commit does nothing.
type Tx interface {
	Querier
	Commit(context.Context) error
	Rollback(context.Context) error
}

// A Pipeline is a Tx that can send statements together with the following ones, which
// saves a round trip to the server for each.
type Pipeline interface {
	Tx
	// Later runs a statement together with the next statement that returns rows, or
	// with Commit. If the statement fails, that call fails with its error. translate,
	// unless nil, translates the error. affected, unless nil, is set to the number of
	// affected rows before that call returns.
	Later(s *Statement, args []any, affected *int, translate func(error) error)
}

// BeforeCommit marks an error of Commit that occurred before the commit: nothing is
// committed.
func BeforeCommit(err error) error { return uncommitted{err} }

// Rows holds the rows that a statement returns, as [sql.Rows] does.
type Rows interface {
	Next() bool
	Scan(to ...any) error
	Err() error
	Close() error
}

// SQL returns the database for a pool of database/sql. Its transactions have the given
// isolation level.
func SQL(db *sql.DB, isolation sql.IsolationLevel) Database { return &sqlDatabase{db, isolation} }

type sqlDatabase struct {
	db        *sql.DB
	isolation sql.IsolationLevel
}

// prepared holds the statement of database/sql, which prepares it again on each
// connection.
type prepared struct{ atomic.Pointer[sql.Stmt] }

func (d *sqlDatabase) Prepare(ctx context.Context, s *Statement) error {
	if s.prepared.Load() != nil {
		return nil
	}
	p, err := d.db.PrepareContext(ctx, s.Text)
	if err == nil {
		s.prepared.Store(p)
	}
	return err
}

func (d *sqlDatabase) Query(ctx context.Context, s *Statement, args []any) (Rows, error) {
	return s.prepared.Load().QueryContext(ctx, args...)
}

func (d *sqlDatabase) Exec(ctx context.Context, s *Statement, args []any) (sql.Result, error) {
	return s.prepared.Load().ExecContext(ctx, args...)
}

func (d *sqlDatabase) Begin(ctx context.Context) (Tx, error) {
	tx, err := d.db.BeginTx(ctx, &sql.TxOptions{Isolation: d.isolation})
	return sqlTx{tx}, err
}

type sqlTx struct{ *sql.Tx }

func (t sqlTx) Query(ctx context.Context, s *Statement, args []any) (Rows, error) {
	return t.StmtContext(ctx, s.prepared.Load()).QueryContext(ctx, args...)
}

func (t sqlTx) Exec(ctx context.Context, s *Statement, args []any) (sql.Result, error) {
	return t.StmtContext(ctx, s.prepared.Load()).ExecContext(ctx, args...)
}

func (t sqlTx) Commit(context.Context) error { return t.Tx.Commit() }

func (t sqlTx) Rollback(context.Context) error { return t.Tx.Rollback() }

// A row is the first row of a result.
type row struct {
	rows Rows
	err  error
}

// Scan reads the row. Without a row it returns [sql.ErrNoRows].
func (r row) Scan(to ...any) (err error) {
	if r.err != nil {
		return r.err
	}
	if !r.rows.Next() {
		if err := errors.Join(r.rows.Err(), r.rows.Close()); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	return errors.Join(r.rows.Scan(to...), r.rows.Close())
}
