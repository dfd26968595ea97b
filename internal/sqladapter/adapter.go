// Package sqladapter is the [authsvc.Adapter] for SQL databases, written once
// over database/sql. A database adds a [Dialect] and its own migrations, and
// Ping, which is about them.
//
// The records of the interface live in four tables that a NextAuth.js
// application may share, called as [Naming] says. What only authsvc needs
// lives in its own tables:
//
//	authsvc_session    digest (key), session_token, user_id, expires, auth_time, provider
//	authsvc_mail       id (key), payload, due, expires, attempts
//	authsvc_once       id (key), expires
//	authsvc_revocation id (key), user_id, seq, not_before, expires
//	authsvc_sequence   id (key), value
//	authsvc_permit     id (key), expires
//	authsvc_lease      id (key), holder, expires
//	authsvc_meta       id (key), value
//	authsvc_audit      id (key), occurred, name, outcome, code, reason, provider, user_id, client, agent, request
//
// The schema, not this package, enforces uniqueness, compares bytes and
// cascades: User to Account and Session, Session and User to authsvc_session.
package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/backoff"
)

// maxTries bounds how often a step is tried again after a retryable error.
const maxTries = 8

// An Adapter keeps the records in a SQL database.
type Adapter struct {
	reader, writer *sql.DB
	dialect        Dialect
	traits         Traits
	queue          *writeQueue

	statements
	all       []*statement
	preparing sync.Mutex
	prepared  atomic.Bool
}

var _ authsvc.AuditLog = (*Adapter)(nil)

// New writes all statements for a database. Statements that change something
// go to writer, all others to reader; they may be one pool. New does not
// touch the database: statements are prepared at the first call. The caller
// keeps the pools and closes them.
func New(reader, writer *sql.DB, d Dialect, n Naming, t Traits) (*Adapter, error) {
	names, err := n.Resolve()
	if err != nil {
		return nil, err
	}
	d.setDefaults()
	a := &Adapter{reader: reader, writer: writer, dialect: d, traits: t, queue: newWriteQueue(&d)}
	b := &builder{reader: reader, writer: writer, dialect: &a.dialect, names: names, traits: t}
	a.statements = build(b)
	a.all = b.all
	return a, b.err
}

// callTimeout bounds one call, with all its retries, so that a database that
// hangs does not hold up requests.
const callTimeout = 5 * time.Second

// A queryFunc runs statements. Its context has the deadline of the call.
type queryFunc func(ctx context.Context, r runner) error

// run runs f without a transaction. op names it in errors.
func (a *Adapter) run(ctx context.Context, op string, f queryFunc) error {
	return a.retry(ctx, op, func(ctx context.Context) error {
		changed, slot := false, a.queue.slot()
		defer slot.release()
		err := f(ctx, runner{changed: &changed, slot: slot})
		if err != nil && !changed {
			return uncommitted{err}
		}
		return err
	})
}

// transact runs f in one transaction, all or nothing.
func (a *Adapter) transact(ctx context.Context, op string, f queryFunc) error {
	return a.retry(ctx, op, func(ctx context.Context) error { return a.transactOnce(ctx, f) })
}

// retry calls f, and again after errors that mean that nothing was done. f must
// not keep anything from an earlier call.
func (a *Adapter) retry(ctx context.Context, op string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for try := 1; ; try++ {
		err := a.prepare(ctx)
		if err == nil {
			err = f(ctx)
		}
		if err == nil || try == maxTries || !a.canRetry(err) {
			return a.contractError(op, err)
		}
		// Full jitter: those who collided do not meet again.
		if err := backoff.Wait(ctx, rand.N(time.Duration(try*try*2)*time.Millisecond)); err != nil {
			return a.contractError(op, err)
		}
	}
}

// An uncommitted error came before anything could have been committed.
type uncommitted struct{ error }

func (e uncommitted) Unwrap() error { return e.error }

// canRetry reports whether what failed certainly did nothing and may pass the
// next time.
func (a *Adapter) canRetry(err error) bool {
	var before uncommitted
	return a.dialect.Retryable(err) ||
		a.dialect.Interrupted != nil && errors.As(err, &before) && a.dialect.Interrupted(err)
}

func (a *Adapter) transactOnce(ctx context.Context, f queryFunc) error {
	slot := a.queue.slot()
	slot.acquire(ctx)
	defer slot.release()
	tx, err := a.writer.BeginTx(ctx, &sql.TxOptions{Isolation: a.dialect.Isolation})
	if err != nil {
		return uncommitted{fmt.Errorf("begin: %w", err)}
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := f(ctx, runner{tx: tx}); err != nil {
		return uncommitted{err}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// contractError translates an error into those of the contract.
func (a *Adapter) contractError(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows), a.noSuchID(err):
		err = authsvc.ErrNotFound
	case a.dialect.Unique(err):
		err = authsvc.ErrConflict
	}
	return fmt.Errorf("%s: %w", op, err)
}

func (a *Adapter) noSuchID(err error) bool {
	return a.dialect.NoSuchID != nil && a.dialect.NoSuchID(err)
}

// noSuchUser translates the error of a write that refers to a user: a broken
// foreign key means that there is no such user.
func (a *Adapter) noSuchUser(err error) error {
	if err != nil && a.dialect.ForeignKey(err) {
		return authsvc.ErrNotFound
	}
	return err
}
