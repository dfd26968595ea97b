package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strings"

	"authsvc/internal/sqladapter"
)

// files are the statements of the schema, with logical names in braces.
//
//go:embed schema/*.sql
var files embed.FS

// upInitial makes the tables. Those of the interface may be there already,
// made by Prisma; then they are left as they are, but have to keep the rules.
func upInitial(ctx context.Context, tx *sql.Tx, names sqladapter.Names) error {
	for _, table := range []string{"User", "Account", "Session", "VerificationToken"} {
		there, err := exists(ctx, tx, names[table])
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := execFile(ctx, tx, names, strings.ToLower(table)+".sql"); err != nil {
			return err
		}
	}
	there, err := exists(ctx, tx, "authsvc_session")
	if err != nil {
		return err
	}
	if !there { // else another process was first, and its note refuses ours
		if err := execFile(ctx, tx, names, "own.up.sql"); err != nil {
			return err
		}
	}
	return verify(ctx, tx, names)
}

// downInitial removes authsvc's own tables only.
func downInitial(ctx context.Context, tx *sql.Tx, names sqladapter.Names) error {
	return execFile(ctx, tx, names, "own.down.sql")
}

// upLeases adds what replicas share beside records: rate limits and leases.
func upLeases(ctx context.Context, tx *sql.Tx, names sqladapter.Names) error {
	return execFile(ctx, tx, names, "leases.up.sql")
}

func downLeases(ctx context.Context, tx *sql.Tx, names sqladapter.Names) error {
	return execFile(ctx, tx, names, "leases.down.sql")
}

func execFile(ctx context.Context, tx *sql.Tx, names sqladapter.Names, file string) error {
	text, err := files.ReadFile("schema/" + file)
	if err != nil {
		return err
	}
	statements, err := names.Expand(string(text), quote)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, err := tx.ExecContext(ctx, statements); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func exists(ctx context.Context, q querier, table string) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)`, table).Scan(&n)
	return n > 0, err
}
