package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
)

// A statement is written once, in New, and prepared once per connection.
type statement struct {
	text     string
	db       *sql.DB
	prepared atomic.Pointer[sql.Stmt]
}

// A builder writes statements in the words of a database.
type builder struct {
	reader, writer *sql.DB
	dialect        *Dialect
	names          Names
	all            []*statement
	err            error
}

// read makes a statement that runs on its own and changes nothing.
func (b *builder) read(text string) *statement { return b.add(b.reader, text) }

// write makes a statement that changes something or belongs to a step that
// does.
func (b *builder) write(text string) *statement { return b.add(b.writer, text) }

func (b *builder) add(db *sql.DB, text string) *statement {
	expanded, err := b.names.Expand(b.dialect.placeholders(text), b.dialect.Quote)
	b.err = errors.Join(b.err, err)
	s := &statement{text: expanded, db: db}
	b.all = append(b.all, s)
	return s
}

// prepare prepares all statements that are not yet. It runs outside of every
// transaction, since a transaction may hold the only connection.
func (a *Adapter) prepare(ctx context.Context) error {
	if a.prepared.Load() {
		return nil
	}
	a.preparing.Lock()
	defer a.preparing.Unlock()
	for _, s := range a.all {
		if s.prepared.Load() != nil {
			continue
		}
		p, err := s.db.PrepareContext(ctx, s.text)
		if err != nil {
			return fmt.Errorf("prepare statements (is the schema migrated?): %w", err)
		}
		s.prepared.Store(p)
	}
	a.prepared.Store(true)
	return nil
}

// A runner runs statements in one transaction, or in none when tx is nil.
type runner struct{ tx *sql.Tx }

func (r runner) on(ctx context.Context, s *statement) *sql.Stmt {
	p := s.prepared.Load()
	if r.tx == nil {
		return p
	}
	return r.tx.StmtContext(ctx, p)
}

// exec returns how many rows were affected.
func (r runner) exec(ctx context.Context, s *statement, args ...any) (int, error) {
	result, err := r.on(ctx, s).ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// must is exec for a change that is not found when it affects no row.
func (r runner) must(ctx context.Context, s *statement, args ...any) error {
	n, err := r.exec(ctx, s, args...)
	if err == nil && n == 0 {
		return sql.ErrNoRows
	}
	return err
}

func (r runner) row(ctx context.Context, s *statement, args ...any) *sql.Row {
	return r.on(ctx, s).QueryRowContext(ctx, args...)
}

// rows calls scan for each row.
func (r runner) rows(ctx context.Context, s *statement, args []any, scan func(*sql.Rows) error) (err error) {
	rows, err := r.on(ctx, s).QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Statements returns the text of all statements of an adapter, for tests of
// their plans.
func Statements(a *Adapter) (texts []string) {
	for _, s := range a.all {
		texts = append(texts, s.text)
	}
	return texts
}
