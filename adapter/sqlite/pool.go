package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	direct "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"authsvc/internal/sql/sqladapter"
)

// readers is the number of connections for reading.
const readers = 4

// A pool holds connections for statements. It replaces database/sql, which needs two
// goroutines and some ninety allocations for a row of a dozen columns, where five are
// enough, and prepares statements that may never run.
type pool struct {
	path   string
	pragma func() []string // returns the settings of a connection

	size   int
	free   chan struct{} // holds an element for each connection not in use
	mu     sync.Mutex
	idle   []*direct.Conn // the unused connections that are open
	closed bool
}

var (
	errClosed = errors.New("sqlite: the store is closed")
	errEnded  = errors.New("sqlite: the transaction has ended")
)

// newPool creates a pool. It opens connections on demand.
func newPool(path string, size int, pragma func() []string) *pool {
	p := &pool{path: path, pragma: pragma, size: size, free: make(chan struct{}, size)}
	for range size {
		p.free <- struct{}{}
	}
	return p
}

// newReaders creates the pool of read-only connections.
func newReaders(path string) *pool {
	return newPool(path, readers, func() []string {
		return []string{"query_only = 1", fmt.Sprintf("mmap_size = %d", mapped), fmt.Sprintf("cache_size = -%d", cacheSize(path)>>10)}
	})
}

// newWriter creates the pool of the single writer. SQLite allows one writer at a time
// anyway, and a queue in the process is fairer than its lock. With synchronous=FULL,
// acknowledged writes survive a power loss.
func newWriter(path string) *pool {
	return newPool(path, 1, func() []string { return []string{"foreign_keys = 1", "synchronous = FULL"} })
}

// open opens a connection. It must not call SetDefensive: in zombiezen.com/go/sqlite
// v1.4.2, that passes one argument where SQLite reads two, and SQLite then writes to an
// arbitrary address.
func (p *pool) open() (*direct.Conn, error) {
	conn, err := direct.OpenConn(p.path, direct.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	for _, pragma := range p.pragma() {
		err = errors.Join(err, sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// take waits for a connection; callers are served in order. It prefers the connection
// returned last, whose cache is warmest.
func (p *pool) take(ctx context.Context) (*direct.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.free:
	default:
		select {
		case <-p.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := p.pop()
	if err != nil {
		p.free <- struct{}{}
	}
	return conn, err
}

// pop returns a connection. The caller must have received an element of free.
func (p *pool) pop() (*direct.Conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	if last := len(p.idle) - 1; last >= 0 {
		conn := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return conn, nil
	}
	p.mu.Unlock()
	return p.open()
}

// give returns a connection to the pool; conn is nil if it was closed.
func (p *pool) give(conn *direct.Conn) {
	if conn != nil {
		p.mu.Lock()
		p.idle = append(p.idle, conn)
		p.mu.Unlock()
	}
	p.free <- struct{}{}
}

// Close waits for statements and transactions in flight, which are short, then closes
// the connections.
func (p *pool) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	for range p.size {
		<-p.free
	}
	var errs []error
	for _, conn := range p.idle {
		errs = append(errs, conn.Close())
	}
	p.idle = nil
	for range p.size {
		p.free <- struct{}{} // wakes the callers in take
	}
	return errors.Join(errs...)
}

// Prepare does nothing: a statement is prepared when it first runs on a connection.
func (p *pool) Prepare(context.Context, *sqladapter.Statement) error { return nil }

// Query implements [sqladapter.Querier]. The rows hold their connection until they are
// closed.
func (p *pool) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	conn, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	stmt, err := start(conn, s, args)
	if err != nil {
		p.give(conn)
		return nil, err
	}
	return &rows{stmt: stmt, conn: conn, pool: p}, nil
}

// Exec implements [sqladapter.Querier].
func (p *pool) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	conn, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	defer p.give(conn)
	return execute(conn, s, args)
}

// Begin implements [sqladapter.Database]. It waits for other processes' writers until
// ctx is done.
func (p *pool) Begin(ctx context.Context) (sqladapter.Tx, error) {
	conn, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	patience := busyTimeout
	if end, ok := ctx.Deadline(); ok {
		patience = min(patience, max(time.Until(end), time.Millisecond))
	}
	conn.SetBusyTimeout(patience)
	if _, err := execute(conn, begin, nil); err != nil {
		p.give(conn)
		return nil, errors.Join(err, ctx.Err())
	}
	return &transaction{pool: p, conn: conn}, nil
}

// Statements of a transaction. BEGIN IMMEDIATE takes the write lock at once, so a
// transaction never fails halfway for lack of it.
var (
	begin    = &sqladapter.Statement{Text: `BEGIN IMMEDIATE`}
	commit   = &sqladapter.Statement{Text: `COMMIT`}
	rollback = &sqladapter.Statement{Text: `ROLLBACK`}
)

// A transaction holds its connection until it ends.
type transaction struct {
	pool *pool
	conn *direct.Conn // nil once the transaction has ended
}

// alive returns an error if the transaction has ended. SQLite ends it after some
// errors, such as a full disk; later statements would then be committed on their own.
func (t *transaction) alive(ctx context.Context) error {
	if t.conn == nil || t.conn.AutocommitEnabled() {
		return errEnded
	}
	return ctx.Err()
}

func (t *transaction) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	if err := t.alive(ctx); err != nil {
		return nil, err
	}
	stmt, err := start(t.conn, s, args)
	if err != nil {
		return nil, err
	}
	return &rows{stmt: stmt}, nil
}

func (t *transaction) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	if err := t.alive(ctx); err != nil {
		return nil, err
	}
	return execute(t.conn, s, args)
}

func (t *transaction) Commit(ctx context.Context) error {
	if err := t.alive(ctx); err != nil {
		return errors.Join(err, t.Rollback(ctx))
	}
	_, err := execute(t.conn, commit, nil)
	return errors.Join(err, t.Rollback(ctx)) // if it was committed, this only returns the connection
}

func (t *transaction) Rollback(context.Context) error {
	if t.conn == nil {
		return nil
	}
	conn := t.conn
	t.conn = nil
	var err error
	if !conn.AutocommitEnabled() {
		_, err = execute(conn, rollback, nil)
	}
	if err != nil { // do not reuse a connection with an open transaction
		err = errors.Join(err, conn.Close())
		conn = nil
	}
	t.pool.give(conn)
	return err
}

// start binds the arguments of a statement, which must not be running.
func start(conn *direct.Conn, s *sqladapter.Statement, args []any) (*direct.Stmt, error) {
	stmt, err := conn.Prepare(s.Text)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case string:
			stmt.BindText(i+1, v)
		case int64:
			stmt.BindInt64(i+1, v)
		case int:
			stmt.BindInt64(i+1, int64(v))
		case []byte:
			stmt.BindBytes(i+1, v)
		default:
			return nil, fmt.Errorf("sqlite: a parameter is a %T", arg)
		}
	}
	return stmt, nil
}

// execute runs a statement to completion.
func execute(conn *direct.Conn, s *sqladapter.Statement, args []any) (result, error) {
	stmt, err := start(conn, s, args)
	for more := err == nil; more && err == nil; {
		more, err = stmt.Step()
	}
	if err != nil {
		return result{}, err
	}
	return result{conn.Changes(), conn.LastInsertRowID()}, stmt.Reset()
}

// A result holds the effect of a statement.
type result struct {
	changes int
	row     int64
}

func (r result) RowsAffected() (int64, error) { return int64(r.changes), nil }

func (r result) LastInsertId() (int64, error) { return r.row, nil }
