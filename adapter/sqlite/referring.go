package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	lib "modernc.org/sqlite/lib"
)

// foreignKeys lists the columns of all foreign keys, with the columns that they refer
// to. Keys that set columns to null or to a default refuse no deletion.
const foreignKeys = `SELECT t.name, f.id, f."table", f."from", COALESCE(f."to", p.name, 'rowid'), f.on_delete
	FROM sqlite_schema t, pragma_foreign_key_list(t.name) f LEFT JOIN pragma_table_info(f."table") p ON p.pk = f.seq + 1
	WHERE t.type = 'table' AND f.on_delete IN ('NO ACTION', 'RESTRICT', 'CASCADE') ORDER BY t.name, f.id, f.seq`

// A foreignKey is one foreign key of a table.
type foreignKey struct {
	table, parent string
	number        int
	columns       [][2]string // own column, column of the parent
	follows       bool        // its rows are deleted with the parent's
}

// referring finds the table of the rows that refer to a user, because the database does
// not tell. If the search fails, the table stays unknown.
func (s *Store) referring(ctx context.Context, userID string, err error) (table string, refers bool) {
	refused := is(lib.SQLITE_CONSTRAINT_FOREIGNKEY)(err) || // RESTRICT fails like a trigger:
		is(lib.SQLITE_CONSTRAINT_TRIGGER)(err) && strings.Contains(err.Error(), "FOREIGN KEY constraint failed")
	if !refused {
		return "", false
	}
	const searchTimeout = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), searchTimeout)
	defer cancel()
	keys, err := s.foreignKeys(ctx)
	if err != nil {
		return "", true
	}
	user := s.names["User"]
	return s.findReferring(ctx, keys, chain{[]string{user}, quote(user) + " r0", "r0." + quote(s.names["User.id"]) + " = ?"}, userID), true
}

// A chain selects rows that are deleted with a user. Each of its tables refers to the
// one before it; the first is the table of users.
type chain struct {
	tables      []string
	from, where string // the tables are r0, r1 and so on
}

// add returns the chain with one more table.
func (c chain) add(k foreignKey) chain {
	n := len(c.tables)
	next := chain{append(slices.Clone(c.tables), k.table), fmt.Sprintf("%s, %s r%d", c.from, quote(k.table), n), c.where}
	for _, column := range k.columns {
		next.where += fmt.Sprintf(" AND r%d.%s = r%d.%s", n, quote(column[0]), n-1, quote(column[1]))
	}
	return next
}

// findReferring returns a table with rows that refer to the last table of a chain, or to
// tables that follow it, and that are not deleted with them.
func (s *Store) findReferring(ctx context.Context, keys []foreignKey, c chain, userID string) string {
	for _, k := range keys {
		if !strings.EqualFold(k.parent, c.tables[len(c.tables)-1]) {
			continue
		}
		next := c.add(k)
		if !k.follows {
			var one int
			if s.db.QueryRowContext(ctx, "SELECT 1 FROM "+next.from+" WHERE "+next.where+" LIMIT 1", userID).Scan(&one) == nil {
				return k.table
			}
			continue
		}
		if slices.ContainsFunc(c.tables, func(t string) bool { return strings.EqualFold(t, k.table) }) {
			continue
		}
		if found := s.findReferring(ctx, keys, next, userID); found != "" {
			return found
		}
	}
	return ""
}

// foreignKeys reads all foreign keys of the file.
func (s *Store) foreignKeys(ctx context.Context) (list []foreignKey, err error) {
	rows, err := s.db.QueryContext(ctx, foreignKeys)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var k foreignKey
		var column [2]string
		var onDelete string
		if err := rows.Scan(&k.table, &k.number, &k.parent, &column[0], &column[1], &onDelete); err != nil {
			return nil, err
		}
		if n := len(list); n == 0 || list[n-1].table != k.table || list[n-1].number != k.number {
			k.follows = onDelete == "CASCADE" || k.table == s.names["Account"] || k.table == s.names["Session"]
			list = append(list, k)
		}
		last := &list[len(list)-1]
		last.columns = append(last.columns, column)
	}
	return list, rows.Err()
}
