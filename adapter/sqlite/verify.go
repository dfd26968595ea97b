package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"authsvc/internal/sqladapter"
)

// A querier is a connection pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// verify makes sure that the shared tables, which may be somebody else's, keep
// the rules that authsvc relies on: columns, uniqueness byte for byte, and
// cascades from the user. All that is wrong is reported at once.
func verify(ctx context.Context, q querier, names sqladapter.Names) error {
	v := verifier{ctx: ctx, q: q, names: names}
	v.columns()
	v.unique("User", "email")
	v.unique("Account", "provider", "providerAccountId")
	v.unique("Session", "sessionToken")
	v.unique("VerificationToken", "token")
	v.cascade("Account", "userId")
	v.cascade("Session", "userId")
	if len(v.errs) == 0 {
		return nil
	}
	return fmt.Errorf("sqlite: the tables cannot be used: %w", errors.Join(v.errs...))
}

type verifier struct {
	ctx   context.Context
	q     querier
	names sqladapter.Names
	errs  []error
}

func (v *verifier) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

// strings runs a query for a table that returns rows of text.
func (v *verifier) strings(query, table string, width int) (list [][]string) {
	rows, err := v.q.QueryContext(v.ctx, query, v.names[table])
	if err != nil {
		v.errs = append(v.errs, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]string, width)
		into := make([]any, width)
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			v.errs = append(v.errs, err)
			return nil
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		v.errs = append(v.errs, err)
	}
	return list
}

func (v *verifier) columns() {
	have := map[string]bool{}
	for _, table := range []string{"User", "Account", "Session", "VerificationToken"} {
		for _, row := range v.strings(`SELECT name FROM pragma_table_info(?)`, table, 1) {
			have[table+"."+strings.ToLower(row[0])] = true
		}
	}
	for _, logical := range v.names.Columns() {
		table, _, _ := strings.Cut(logical, ".")
		if !have[table+"."+strings.ToLower(v.names[logical])] {
			v.fail("table %s has no column %s", v.names[table], v.names[logical])
		}
	}
}

// unique demands a unique index, not partial, over exactly these columns.
func (v *verifier) unique(table string, columns ...string) {
	indexes := map[string][]string{}
	for _, row := range v.strings(`SELECT l.name, lower(x.name), x.coll FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) x `+
		`WHERE l."unique" = 1 AND l.partial = 0 AND x.key = 1 AND x.name IS NOT NULL`, table, 3) {
		indexes[row[0]] = append(indexes[row[0]], row[1]+" "+row[2])
	}
	var want []string
	for _, column := range columns {
		want = append(want, strings.ToLower(v.names[table+"."+column])+" BINARY")
	}
	slices.Sort(want)
	for _, have := range indexes {
		slices.Sort(have)
		if slices.Equal(have, want) {
			return
		}
	}
	v.fail("table %s has no unique index over (%s), compared byte for byte", v.names[table], strings.Join(columns, ", "))
}

// cascade demands that rows go with their user.
func (v *verifier) cascade(table, column string) {
	for _, row := range v.strings(`SELECT lower("table"), lower("from"), on_delete FROM pragma_foreign_key_list(?)`, table, 3) {
		if row[0] == strings.ToLower(v.names["User"]) && row[1] == strings.ToLower(v.names[table+"."+column]) && row[2] == "CASCADE" {
			return
		}
	}
	v.fail("table %s does not delete rows with their user (foreign key %s, ON DELETE CASCADE)", v.names[table], column)
}
