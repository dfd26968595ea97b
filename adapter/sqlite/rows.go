package sqlite

import (
	"fmt"

	direct "zombiezen.com/go/sqlite"

	"authsvc/internal/sql/sqladapter"
)

// rows iterates over the rows of one statement.
type rows struct {
	stmt *direct.Stmt // nil once closed
	err  error

	conn *direct.Conn // returned on Close; nil if a transaction owns it
	pool *pool
}

// Next implements [sqladapter.Rows].
func (r *rows) Next() bool {
	if r.stmt == nil {
		return false
	}
	var ok bool
	ok, r.err = r.stmt.Step()
	return ok && r.err == nil
}

// Scan implements [sqladapter.Rows]. Each target must be a [sqladapter.Target], or a
// pointer to an integer or to bytes.
func (r *rows) Scan(to ...any) error {
	if n := r.stmt.ColumnCount(); n != len(to) {
		return fmt.Errorf("sqlite: %d columns for %d targets", n, len(to))
	}
	for i, t := range to {
		switch t := t.(type) {
		case sqladapter.Target:
			if err := r.column(i, t); err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
		case *int:
			*t = r.stmt.ColumnInt(i)
		case *[]byte:
			*t = r.bytes(i)
		default:
			return fmt.Errorf("sqlite: column %d cannot be read into a %T", i, t)
		}
	}
	return nil
}

func (r *rows) column(i int, to sqladapter.Target) error {
	switch r.stmt.ColumnType(i) {
	case direct.TypeText:
		return to.TakeString(r.stmt.ColumnText(i))
	case direct.TypeInteger:
		return to.TakeInt64(r.stmt.ColumnInt64(i))
	case direct.TypeFloat:
		return to.Scan(r.stmt.ColumnFloat(i))
	case direct.TypeBlob:
		return to.Scan(r.bytes(i))
	default:
		return to.Scan(nil)
	}
}

func (r *rows) bytes(i int) []byte {
	b := make([]byte, r.stmt.ColumnLen(i))
	return b[:r.stmt.ColumnBytes(i, b)]
}

// Err implements [sqladapter.Rows].
func (r *rows) Err() error { return r.err }

// Close implements [sqladapter.Rows]. It returns the connection to the pool.
func (r *rows) Close() error {
	if r.stmt == nil {
		return nil
	}
	err := r.stmt.Reset()
	if r.err != nil { // Reset returns the same error again
		err = nil
	}
	r.stmt = nil
	if r.pool != nil {
		r.pool.give(r.conn)
	}
	return err
}
