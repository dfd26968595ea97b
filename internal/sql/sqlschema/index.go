package sqlschema

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// An indexRule describes an index that the adapter relies on.
type indexRule struct {
	name    string // used if authsvc creates the index
	table   string
	columns []string
	unique  bool
	time    bool // the sweep uses it to find expired rows
	prefix  bool // finds text by its prefix; over the expression PrefixIndex
}

// addressIndex is the name of the index that finds users by a prefix of the address.
const addressIndex = "authsvc_user_address"

func (d *Database) indexRules() []indexRule {
	rules := []indexRule{
		{name: "authsvc_user_email", table: "User", columns: []string{"email"}, unique: true},
		{name: "authsvc_account_identity", table: "Account", columns: []string{"provider", "providerAccountId"}, unique: true},
		{name: "authsvc_account_user", table: "Account", columns: []string{"userId"}},
		{name: "authsvc_session_key", table: "Session", columns: []string{"sessionToken"}, unique: true},
		{name: "authsvc_session_owner", table: "Session", columns: []string{"userId"}},
		{name: "authsvc_session_end", table: "Session", columns: []string{"expires"}, time: true},
		{name: "authsvc_token_key", table: "VerificationToken", columns: []string{"token"}, unique: true},
		{name: "authsvc_token_end", table: "VerificationToken", columns: []string{"expires"}, time: true},
	}
	if d.PrefixIndex == nil {
		return rules
	}
	return append(rules, indexRule{name: addressIndex, table: "User", columns: []string{"email"}, prefix: true})
}

// indexFor returns the index of a table that satisfies a rule. A unique index must have
// exactly the columns of the rule, in any order; another index must begin with them. It
// prefers an index that compares byte for byte.
func (d *Database) indexFor(r indexRule, t *Table) (best *Index) {
	for i := range t.Indexes {
		index := &t.Indexes[i]
		if !d.satisfies(r, index) {
			continue
		}
		if best == nil || best.Folded && !index.Folded {
			best = index
		}
	}
	return best
}

func (d *Database) satisfies(r indexRule, index *Index) bool {
	if index.Name == r.name {
		return true
	}
	if r.time && d.TimeIndex != nil || r.prefix {
		return false // an expression, found only by its name
	}
	if r.unique && (!index.Unique || len(index.Columns) != len(r.columns)) || len(index.Columns) < len(r.columns) {
		return false
	}
	for _, column := range r.columns {
		physical := d.Names[r.table+"."+column]
		if !slices.ContainsFunc(index.Columns[:len(r.columns)], func(name string) bool { return d.sameName(name, physical) }) {
			return false
		}
	}
	return true
}

// addIndexes creates the missing indexes.
func (d *Database) addIndexes(ctx context.Context, q Querier) error {
	found, err := d.inspect(ctx, q)
	if err != nil {
		return err
	}
	for _, r := range d.indexRules() {
		if d.indexFor(r, found[r.table]) != nil {
			continue
		}
		if _, err := q.ExecContext(ctx, d.createIndex(r)); err != nil {
			return fmt.Errorf("index %s on table %s (%s): %w; if the user in the URL does not own the table, its owner must first run: %s",
				r.name, d.Names[r.table], strings.Join(r.columns, ", "), err, d.createIndex(r))
		}
	}
	return nil
}

// downAddresses removes the index that finds users by a prefix of the address. A database
// that needs none for this keeps its unique index.
func (d *Database) downAddresses(ctx context.Context, q Querier) error {
	if d.PrefixIndex == nil {
		return nil
	}
	_, err := q.ExecContext(ctx, `DROP INDEX IF EXISTS `+addressIndex)
	return err
}

func (d *Database) createIndex(r indexRule) string {
	kind := "INDEX"
	if r.unique {
		kind = "UNIQUE INDEX"
	}
	return fmt.Sprintf("CREATE %s %s ON %s (%s)", kind, r.name, d.Quote(d.Names[r.table]), d.indexed(r))
}

func (d *Database) indexed(r indexRule) string {
	var columns []string
	for _, column := range r.columns {
		quoted := d.Quote(d.Names[r.table+"."+column])
		if r.time && d.TimeIndex != nil {
			quoted = "(" + d.TimeIndex(quoted) + ")"
		}
		if r.prefix {
			quoted = "(" + d.PrefixIndex(quoted) + ")"
		}
		columns = append(columns, quoted)
	}
	return strings.Join(columns, ", ")
}

// duplicates refuses to create a unique index over duplicate values, because only a
// person can decide which row is correct.
func (d *Database) duplicates(ctx context.Context, q Querier, r indexRule) error {
	columns := d.indexed(r)
	query := `SELECT COUNT(*) FROM (SELECT 1 AS one FROM ` + d.Quote(d.Names[r.table]) + d.notNull(r) +
		` GROUP BY ` + columns + ` HAVING COUNT(*) > 1) twice`
	var n int
	if err := q.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return fmt.Errorf("look for duplicates in table %s: %w", d.Names[r.table], err)
	}
	repeated := fmt.Sprintf("%d values of (%s) that occur", n, strings.Join(r.columns, ", "))
	if n == 1 {
		repeated = "1 value of (" + strings.Join(r.columns, ", ") + ") that occurs"
	}
	if n > 0 {
		return fmt.Errorf("table %s has %s more than once but must be unique: remove all but one of each; this query finds them: SELECT %s, COUNT(*) FROM %s%s GROUP BY %s HAVING COUNT(*) > 1",
			d.Names[r.table], repeated, columns, d.Quote(d.Names[r.table]), d.notNull(r), columns)
	}
	return nil
}

// notNull excludes absent values, which are not compared.
func (d *Database) notNull(r indexRule) string {
	var conditions []string
	for _, column := range r.columns {
		conditions = append(conditions, d.Quote(d.Names[r.table+"."+column])+" IS NOT NULL")
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}
