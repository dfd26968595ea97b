// Package sqladapter implements [adapter.Adapter] for SQL databases over [Database]. A
// store for a database adds a [Database] such as [SQL], a [Dialect], its own
// migrations, and Ping, which checks them.
//
// The records of the interface are in four tables that a NextAuth.js application may
// share. [Naming] sets their names. Data that only authsvc needs is in its own tables:
//
//	authsvc_session    digest (key), session_token, user_id, expires, auth_time (the sign-in), proved_at, provider, claims, amr, second_at, seen, agent, network, client, actor
//	authsvc_jwt_session digest (key), user_id, expires, and the rest of authsvc_session
//	authsvc_person     user_id (key), blocked, blocked_why, delete_after, second_step, recover_after, locale
//	authsvc_credential kind, id (key), user_id, name, data, version, tries, created, used, expires
//	authsvc_mail       id (key), payload, due, expires, attempts
//	authsvc_once       id (key), expires
//	authsvc_revocation id (key), user_id, seq, not_before, expires
//	authsvc_sequence   id (key), value
//	authsvc_permit     id (key), expires
//	authsvc_lease      id (key), holder, expires
//	authsvc_meta       id (key), value
//	authsvc_audit      id (key), occurred, name, outcome, code, reason, provider, user_id, client, agent, request, actor
//
// The schema must enforce uniqueness, compare bytes and cascade deletes; this package
// does not. User cascades to Account, Session, authsvc_session, authsvc_person,
// authsvc_credential and authsvc_jwt_session. Session cascades to authsvc_session.
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
	"authsvc/adapter"
	"authsvc/internal/sql/stores"
)

// maxTries bounds the attempts of a step with retryable errors.
const maxTries = 8

// An Adapter stores the records in a SQL database.
type Adapter struct {
	writer  Database
	dialect Dialect
	traits  Traits
	group   *group // nil: every step has its own transaction

	statements
	all       []*Statement
	preparing sync.Mutex
	prepared  atomic.Bool
}

var _ authsvc.AuditLog = (*Adapter)(nil)

// New builds all statements for a database. Statements that change data go to writer,
// all others to reader; both may be the same pool. New does not access the database:
// the first call prepares the statements. The caller owns the pools and must close
// them.
func New(reader, writer Database, d Dialect, n Naming, t Traits) (*Adapter, error) {
	names, err := n.Resolve()
	if err != nil {
		return nil, err
	}
	d.setDefaults()
	a := &Adapter{writer: writer, dialect: d, traits: t}
	b := &builder{reader: reader, writer: writer, dialect: &a.dialect, names: names, traits: t}
	a.statements = build(b)
	a.all = b.all
	if d.OneWriter {
		a.group = &group{adapter: a}
	}
	return a, b.err
}

// callTimeout bounds one call with all its retries, so that a hanging database does not
// block requests.
const callTimeout = 5 * time.Second

// A queryFunc runs statements. Its context has the deadline of the call.
type queryFunc func(ctx context.Context, r runner) error

// read runs f, which runs statements that only read, each on its own. op names the call
// in errors.
func (a *Adapter) read(ctx context.Context, op string, f queryFunc) error {
	try := func(ctx context.Context) error {
		if err := f(ctx, runner{}); err != nil {
			return uncommitted{err}
		}
		return nil
	}
	if a.dialect.LocalReads {
		if err := ctx.Err(); err != nil {
			return a.contractError(op, err)
		}
		return a.repeat(ctx, op, try)
	}
	return a.retry(ctx, op, try)
}

// run runs f without a transaction.
func (a *Adapter) run(ctx context.Context, op string, f queryFunc) error {
	return a.retry(ctx, op, func(ctx context.Context) error {
		changed := false
		err := f(ctx, runner{changed: &changed})
		if err != nil && !changed {
			return uncommitted{err}
		}
		return err
	})
}

// write runs f, which runs one statement that changes data. It uses no transaction
// unless the step can be grouped with others.
func (a *Adapter) write(ctx context.Context, op string, f queryFunc) error {
	if a.group != nil {
		return a.transact(ctx, op, f)
	}
	return a.run(ctx, op, f)
}

// transact runs f in one transaction, all or nothing.
func (a *Adapter) transact(ctx context.Context, op string, f queryFunc) error {
	return a.retry(ctx, op, func(ctx context.Context) error { return a.transactOnce(ctx, f) })
}

// retry is repeat within callTimeout. The call continues if the client of the request
// disconnects, because canceling a statement costs its connection.
func (a *Adapter) retry(ctx context.Context, op string, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return a.contractError(op, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return a.repeat(ctx, op, f)
}

// repeat calls f, and calls it again after errors that guarantee that nothing was
// changed. f must not keep state from an earlier call.
func (a *Adapter) repeat(ctx context.Context, op string, f func(context.Context) error) error {
	for try := 1; ; try++ {
		err := a.prepare(ctx)
		if err == nil {
			err = f(ctx)
		}
		if err == nil || try == maxTries || !a.canRetry(err) {
			return a.contractError(op, err)
		}
		// Full jitter keeps callers that collided from colliding again.
		if err := stores.Wait(ctx, rand.N(time.Duration(try*try*2)*time.Millisecond)); err != nil {
			return a.contractError(op, err)
		}
	}
}

// An uncommitted error occurred before anything could have been committed.
type uncommitted struct{ error }

func (e uncommitted) Unwrap() error { return e.error }

// canRetry reports whether the failed step certainly changed nothing and may succeed
// the next time.
func (a *Adapter) canRetry(err error) bool {
	var before uncommitted
	return a.dialect.Retryable(err) ||
		a.dialect.Interrupted != nil && errors.As(err, &before) && a.dialect.Interrupted(err)
}

func (a *Adapter) transactOnce(ctx context.Context, f queryFunc) error {
	if a.group != nil {
		return a.group.run(ctx, f)
	}
	return a.transactAlone(ctx, f)
}

// transactAlone runs f in its own transaction. If there is only one writer, the caller
// must hold its place.
func (a *Adapter) transactAlone(ctx context.Context, f queryFunc) error {
	tx, err := a.writer.Begin(ctx)
	if err != nil {
		return uncommitted{fmt.Errorf("begin: %w", err)}
	}
	defer tx.Rollback(ctx) // does nothing after a commit
	if err := f(ctx, runner{tx: tx}); err != nil {
		return uncommitted{err}
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// contractError translates an error into an error of the contract.
func (a *Adapter) contractError(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows), a.noSuchID(err):
		err = adapter.ErrNotFound
	case a.dialect.Unique(err):
		err = adapter.ErrConflict
	case a.dialect.NoSuchTable != nil && a.dialect.NoSuchTable(err):
		err = fmt.Errorf("is the schema migrated? %w", err)
	case a.dialect.Said != nil:
		err = saidError{err, a.dialect.Said(err)}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// A saidError replaces the text of an error.
type saidError struct {
	error
	text string
}

func (e saidError) Error() string { return e.text }
func (e saidError) Unwrap() error { return e.error }

func (a *Adapter) noSuchID(err error) bool {
	return a.dialect.NoSuchID != nil && a.dialect.NoSuchID(err)
}

// noSuchUser translates the error of a write that refers to a user. A broken foreign
// key means that the user does not exist.
func (a *Adapter) noSuchUser(err error) error {
	if err != nil && a.dialect.ForeignKey(err) {
		return adapter.ErrNotFound
	}
	return err
}
