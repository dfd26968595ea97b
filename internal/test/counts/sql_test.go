package counts_test

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"sync"

	"authsvc/internal/sql/sqladapter"
)

// A sqlSession counts the statements of one connection.
type sqlSession struct{ inside bool } // a transaction has begun

var writes = regexp.MustCompile("(?is)\\b(insert\\s+(ignore\\s+)?into|delete\\s+from|replace\\s+into|update\\s+[\"`\\w.]+)\\s")

// statement counts a statement by its text. A text that is only a comment is the
// pool's ping of a connection that was idle for a second.
func (s *sqlSession) statement(text string, n *figures) (pings bool) {
	text = strings.TrimSpace(text)
	if text == "" || text == ";" || strings.HasPrefix(text, "--") {
		return true
	}
	n.statements++
	switch first := strings.ToLower(strings.Fields(text)[0]); {
	case first == "begin" || first == "start":
		n.transactions++
		s.inside = true
	case first == "commit":
		n.commits++
		s.inside = false
	case first == "rollback" && !strings.Contains(strings.ToLower(text), " to "):
		s.inside = false
	case !s.inside && writes.MatchString(text):
		n.commits++
	}
	return false
}

// A sqlCounter counts the statements of a store without a server.
type sqlCounter struct {
	mu sync.Mutex
	n  figures
}

func (c *sqlCounter) read() figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *sqlCounter) statement(s *sqlSession, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.statement(text, &c.n)
}

func (c *sqlCounter) wrap(d sqladapter.Database) sqladapter.Database {
	return countedDatabase{countedQuerier{d, c, &sqlSession{}}, d}
}

type countedQuerier struct {
	sqladapter.Querier
	counter *sqlCounter
	session *sqlSession
}

func (q countedQuerier) Query(ctx context.Context, s *sqladapter.Statement, args []any) (sqladapter.Rows, error) {
	q.counter.statement(q.session, s.Text)
	return q.Querier.Query(ctx, s, args)
}

func (q countedQuerier) Exec(ctx context.Context, s *sqladapter.Statement, args []any) (sql.Result, error) {
	q.counter.statement(q.session, s.Text)
	return q.Querier.Exec(ctx, s, args)
}

type countedDatabase struct {
	countedQuerier
	inner sqladapter.Database
}

func (d countedDatabase) Prepare(ctx context.Context, s *sqladapter.Statement) error {
	return d.inner.Prepare(ctx, s)
}

func (d countedDatabase) Begin(ctx context.Context) (sqladapter.Tx, error) {
	tx, err := d.inner.Begin(ctx)
	if err != nil {
		return nil, err
	}
	s := &sqlSession{}
	d.counter.statement(s, "BEGIN")
	return countedTx{countedQuerier{tx, d.counter, s}, tx}, nil
}

type countedTx struct {
	countedQuerier
	inner sqladapter.Tx
}

func (t countedTx) Commit(ctx context.Context) error {
	t.counter.statement(t.session, "COMMIT")
	return t.inner.Commit(ctx)
}

// Rollback has no effect after a commit.
func (t countedTx) Rollback(ctx context.Context) error {
	if t.session.inside {
		t.counter.statement(t.session, "ROLLBACK")
	}
	return t.inner.Rollback(ctx)
}
