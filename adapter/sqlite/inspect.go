package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"authsvc/internal/sql/sqlschema"
)

// catalog describes tables from SQLite's pragmas.
var catalog = sqlschema.Catalog{
	// A single INTEGER PRIMARY KEY is an alias of the row id, which SQLite generates.
	Columns: `SELECT name, type, upper(type) LIKE '%INT%', false, 0, false, "notnull" AND dflt_value IS NULL AND NOT pk,
		dflt_value IS NOT NULL OR pk = 1 AND upper(type) = 'INTEGER', type, "notnull", false FROM pragma_table_info(?)`,
	Indexes: `SELECT l.name, l."unique", COALESCE(x.name, ''), upper(x.coll) IS NOT 'BINARY'
		FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) x
		WHERE l.partial = 0 AND x.key = 1 ORDER BY l.seq, x.seqno`,
	References: `SELECT "table", "from", on_delete = 'CASCADE' FROM pragma_foreign_key_list(?)`,
}

const allColumns = `SELECT '', t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid`

// textTimes reports whether the program that shares the file writes times as text. The
// latest row decides. If there are no rows, the column type decides: text suits every
// type except DATETIME, where older Prisma versions store numbers and newer ones read
// both.
func (s *Store) textTimes(ctx context.Context, found sqlschema.Tables) (bool, error) {
	for _, logical := range []string{"Session.expires", "VerificationToken.expires", "User.emailVerified"} {
		if table, _, _ := strings.Cut(logical, "."); found[table] == nil {
			continue
		}
		kind, err := s.kind(ctx, logical)
		if err != nil || kind != "" {
			return kind == "text", err
		}
	}
	if t := found["Session"]; t != nil {
		for _, c := range t.Columns {
			if strings.EqualFold(c.Name, s.names["Session.expires"]) {
				return !strings.EqualFold(c.Type, "DATETIME") && !c.Number, nil
			}
		}
	}
	return false, nil
}

// folds reports whether a column treats different texts as equal. No pragma tells the
// collation of a column, but the first part of a UNION decides which rows are equal.
func (s *Store) folds(ctx context.Context, found sqlschema.Tables, logical string) (folds bool, err error) {
	table, _, _ := strings.Cut(logical, ".")
	if found[table] == nil {
		return false, nil
	}
	query, err := s.names.Expand(`SELECT COUNT(*) < 3 FROM (SELECT {`+logical+`} FROM {`+table+`} WHERE 0 UNION SELECT 'a' UNION SELECT 'A' UNION SELECT 'a ')`, quote)
	if err == nil {
		err = s.db.QueryRowContext(ctx, query).Scan(&folds)
	}
	return folds, err
}

// kind returns the type of the latest value in a column, or "" if there is none. In a
// WITHOUT ROWID table, it uses any row.
func (s *Store) kind(ctx context.Context, logical string) (kind string, err error) {
	table, _, _ := strings.Cut(logical, ".")
	for _, order := range []string{` ORDER BY rowid DESC`, ``} {
		var query string
		query, err = s.names.Expand(`SELECT typeof({`+logical+`}) FROM {`+table+`} WHERE {`+logical+`} IS NOT NULL`+order+` LIMIT 1`, quote)
		if err != nil {
			return "", err
		}
		if err = s.db.QueryRowContext(ctx, query).Scan(&kind); !noSuchTable(err) {
			break
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return kind, err
}
