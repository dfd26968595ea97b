// Package sqlfault makes single statements of a SQL adapter fail, below database/sql.
// It checks that each step of the adapter has its whole effect or none.
package sqlfault

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"authsvc/internal/sql/sqladapter"
)

// ErrFault is the error of a statement that fails on purpose.
var ErrFault = errors.New("sqlfault: injected fault")

// A Switch makes the n-th event fail. Statements, and the begin and commit of
// transactions, are events; preparing a statement is not.
type Switch struct {
	// Err is the error of the failing event. Nil: ErrFault.
	Err error

	mu    sync.Mutex
	left  int  // events until the fault; 0: disarmed
	after bool // the event happens, then reports an error
	fired bool
}

// Arm makes the n-th event from now fail, either before or after it takes effect.
func (s *Switch) Arm(n int, after bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.after, s.fired = n, after, false
}

// Disarm switches the fault off and reports whether an event failed.
func (s *Switch) Disarm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
	return s.fired
}

func (s *Switch) fault() error {
	if s.Err != nil {
		return s.Err
	}
	return ErrFault
}

// turn counts an event and reports whether it must fail before or after it takes
// effect.
func (s *Switch) turn() (before, after bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return false, false
	}
	s.left--
	if s.left > 0 {
		return false, false
	}
	s.fired = true
	return !s.after, s.after
}

// do runs one event.
func do[T any](s *Switch, event func() (T, error)) (T, error) {
	var none T
	before, after := s.turn()
	if before {
		return none, s.fault()
	}
	result, err := event()
	if err == nil && after {
		if rows, ok := any(result).(interface{ Close() error }); ok {
			rows.Close() // the statement completes
		}
		switch tx := any(result).(type) { // nothing else ends it
		case driver.Tx:
			tx.Rollback()
		case sqladapter.Tx:
			tx.Rollback(context.Background())
		}
		return none, s.fault()
	}
	return result, err
}

// Wrap puts the switch between database/sql and a driver.
func (s *Switch) Wrap(c driver.Connector) driver.Connector { return connector{c, s} }

type connector struct {
	driver.Connector
	s *Switch
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{inner, c.s}, nil
}

type conn struct {
	driver.Conn
	s *Switch
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &stmt{inner, c.s}, nil
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	inner, err := do(c.s, func() (driver.Tx, error) { return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o) })
	if err != nil {
		return nil, err
	}
	return &tx{inner, c.s}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return do(c.s, func() (driver.Result, error) { return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args) })
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return do(c.s, func() (driver.Rows, error) { return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args) })
}

func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type stmt struct {
	driver.Stmt
	s *Switch
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return do(s.s, func() (driver.Result, error) { return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args) })
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return do(s.s, func() (driver.Rows, error) { return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args) })
}

type tx struct {
	driver.Tx
	s *Switch
}

func (t *tx) Commit() error { return commit(t.s, t.Tx.Commit, t.Rollback) }

// commit behaves, if it fails before, as if the server went away: nothing is
// committed.
func commit(s *Switch, commit, rollback func() error) error {
	before, after := s.turn()
	if before {
		return errors.Join(s.fault(), rollback())
	}
	err := commit()
	if err == nil && after {
		return s.fault()
	}
	return err
}
