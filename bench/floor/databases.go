package main

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A postgresDatabase prepares statements at their first use on a connection, as pgx
// does.
type postgresDatabase struct {
	pool  *pgxpool.Pool
	texts sync.Map // by the text with angle brackets
}

func signInsPostgres(ctx context.Context, location string) (http.Handler, error) {
	location, mail, provider, err := splitNeighbours(location)
	if err != nil {
		return nil, err
	}
	pool, err := openPool(ctx, location)
	if err != nil {
		return nil, err
	}
	return signIns{&postgresDatabase{pool: pool}, mail, provider}.handler(), nil
}

func (d *postgresDatabase) text(s step) string {
	if text, ok := d.texts.Load(s.text); ok {
		return text.(string)
	}
	text := postgresText(s.text)
	d.texts.Store(s.text, text)
	return text
}

func (d *postgresDatabase) run(ctx context.Context, s step) error {
	if s.into != nil {
		return d.pool.QueryRow(ctx, d.text(s), s.args...).Scan(s.into...)
	}
	_, err := d.pool.Exec(ctx, d.text(s), s.args...)
	return err
}

// transact sends all steps in one round trip, as one transaction.
func (d *postgresDatabase) transact(ctx context.Context, steps ...step) error {
	var b pgx.Batch
	for _, s := range steps {
		b.Queue(d.text(s), s.args...)
	}
	return d.pool.SendBatch(ctx, &b).Close()
}

func (*postgresDatabase) moment(t time.Time) any { return t.UTC() }

// A sqliteDatabase has one connection for writes and four for reads.
type sqliteDatabase struct {
	writer, reader *sql.DB
	mu             sync.Mutex
	statements     map[prepared]*sql.Stmt
}

// A prepared statement belongs to one pool.
type prepared struct {
	db   *sql.DB
	text string
}

func signInsSQLite(_ context.Context, location string) (http.Handler, error) {
	file, mail, provider, err := splitNeighbours(location)
	if err != nil {
		return nil, err
	}
	const pragmas = "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	writer, err := sql.Open("sqlite", "file:"+file+pragmas)
	if err != nil {
		return nil, err
	}
	reader, err := sql.Open("sqlite", "file:"+file+pragmas+"&_pragma=query_only(1)&_pragma=mmap_size(2147418112)")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader.SetMaxOpenConns(4)
	reader.SetMaxIdleConns(4)
	return signIns{&sqliteDatabase{writer: writer, reader: reader, statements: map[prepared]*sql.Stmt{}}, mail, provider}.handler(), nil
}

// prepare returns a statement, prepared at its first use.
func (d *sqliteDatabase) prepare(ctx context.Context, db *sql.DB, s step) (*sql.Stmt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := prepared{db, s.text}
	if statement, ok := d.statements[key]; ok {
		return statement, nil
	}
	statement, err := db.PrepareContext(context.WithoutCancel(ctx), sqliteText(s.text))
	if err == nil {
		d.statements[key] = statement
	}
	return statement, err
}

func (s step) reads() bool { return strings.HasPrefix(s.text, "SELECT") }

func (d *sqliteDatabase) run(ctx context.Context, s step) error {
	db := d.writer
	if s.reads() {
		db = d.reader
	}
	statement, err := d.prepare(ctx, db, s)
	if err != nil {
		return err
	}
	return s.on(ctx, statement)
}

// on runs a step and reads its rows.
func (s step) on(ctx context.Context, statement *sql.Stmt) error {
	if !s.reads() && !strings.Contains(s.text, "RETURNING") {
		_, err := statement.ExecContext(ctx, s.args...)
		return err
	}
	rows, err := statement.QueryContext(ctx, s.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if s.into == nil {
			continue
		}
		if err := rows.Scan(s.into...); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (d *sqliteDatabase) transact(ctx context.Context, steps ...step) error {
	statements := make([]*sql.Stmt, len(steps)) // prepare first: the transaction has the only connection
	for i, s := range steps {
		var err error
		if statements[i], err = d.prepare(ctx, d.writer, s); err != nil {
			return err
		}
	}
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after a commit
	for i, s := range steps {
		if err := s.on(ctx, tx.StmtContext(ctx, statements[i])); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (*sqliteDatabase) moment(t time.Time) any { return t.UnixMilli() }
