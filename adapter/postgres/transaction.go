package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"authsvc/internal/sql/sqladapter"
)

// Each step locks the rows it relies on, and must then see everything committed before,
// whatever the default isolation level of the database.
const (
	beginText    = "begin isolation level read committed"
	commitText   = "commit"
	rollbackText = "rollback"
)

// Begin acquires a connection. The transaction starts with its first statement.
func (d pgxDatabase) Begin(ctx context.Context) (sqladapter.Tx, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	t := &transaction{conn: conn}
	t.pending = []pending{{text: beginText}}
	return t, nil
}

// A transaction holds its connection until it ends. A statement whose result is not
// needed at once is sent together with the next one whose result is, in one round trip
// (pipeline mode, https://www.postgresql.org/docs/current/libpq-pipeline-mode.html):
// the six commands of a sign-up take a single round trip.
type transaction struct {
	conn    *pgxpool.Conn // nil once the transaction has ended
	sent    bool          // part of it may have reached the server
	pending []pending
}

// A pending statement has not been sent yet.
type pending struct {
	text      string
	args      []any
	affected  *int              // gets the number of affected rows; may be nil
	translate func(error) error // translates the statement's error; may be nil
}

// Later implements [sqladapter.Pipeline].
func (t *transaction) Later(s *sqladapter.Statement, args []any, affected *int, translate func(error) error) {
	t.pending = append(t.pending, pending{s.Text, args, affected, translate})
}

// flush sends the pending statements and then text, and reads all results except the
// last. The caller must close the returned results.
func (t *transaction) flush(ctx context.Context, text string, args []any) (pgx.BatchResults, error) {
	var b pgx.Batch
	for _, p := range t.pending {
		b.Queue(p.text, p.args...)
	}
	b.Queue(text, args...)
	earlier := t.pending
	t.pending, t.sent = nil, true
	results := t.conn.SendBatch(ctx, &b)
	for _, p := range earlier {
		tag, err := results.Exec()
		if p.affected != nil {
			*p.affected = int(tag.RowsAffected())
		}
		if err != nil {
			results.Close() //nolint:errcheck // it is the same
			if p.translate != nil {
				err = p.translate(err)
			}
			return nil, err
		}
	}
	return results, nil
}

// Query implements [sqladapter.Querier].
func (t *transaction) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	if len(t.pending) == 0 {
		return query(ctx, t.conn, s, args)
	}
	results, err := t.flush(ctx, s.Text, args)
	if err != nil {
		return nil, err
	}
	r, err := results.Query()
	if err != nil {
		results.Close() //nolint:errcheck // it is the same
		return nil, err
	}
	return lastRows{rows{r}, results}, nil
}

// lastRows holds the rows of the last statement in a batch.
type lastRows struct {
	rows
	results pgx.BatchResults
}

func (r lastRows) Close() error { return errors.Join(r.rows.Close(), r.results.Close()) }

// Exec implements [sqladapter.Querier].
func (t *transaction) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	if len(t.pending) == 0 {
		return exec(ctx, t.conn, s, args)
	}
	tag, err := t.last(ctx, s.Text, args)
	return affected(tag.RowsAffected()), err
}

// last sends the pending statements and then text, and returns the result of text.
func (t *transaction) last(ctx context.Context, text string, args []any) (pgconn.CommandTag, error) {
	results, err := t.flush(ctx, text, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	return tag, errors.Join(err, results.Close())
}

// Commit implements [sqladapter.Tx]. After an error, the caller must roll back.
func (t *transaction) Commit(ctx context.Context) error {
	if t.conn == nil {
		return pgx.ErrTxClosed
	}
	results, err := t.flush(ctx, commitText, nil)
	if err != nil {
		// The server skips the rest of the batch after a statement it refuses. Without
		// such an error, the commit may have happened.
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			return sqladapter.BeforeCommit(err)
		}
		return err
	}
	tag, err := results.Exec()
	if err := errors.Join(err, results.Close()); err != nil {
		return err
	}
	if tag.String() != "COMMIT" {
		return sqladapter.BeforeCommit(fmt.Errorf("commit: the server answered %s", tag))
	}
	t.release()
	return nil
}

// Rollback implements [sqladapter.Tx].
func (t *transaction) Rollback(ctx context.Context) error {
	if t.conn == nil {
		return nil
	}
	defer t.release()
	if !t.sent || t.conn.Conn().PgConn().TxStatus() == 'I' {
		return nil
	}
	// If the rollback fails, releasing the connection closes it.
	_, err := t.conn.Exec(ctx, rollbackText)
	return err
}

func (t *transaction) release() {
	t.conn.Release()
	t.conn = nil
}
