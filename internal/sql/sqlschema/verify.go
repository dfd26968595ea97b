package sqlschema

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"authsvc/internal/sql/stores"
)

// checkUsable checks, before any change, whether the existing tables will be usable
// once missing tables and indexes are created. It reports all problems at once.
func (d *Database) checkUsable(ctx context.Context, q Querier) error {
	found, err := d.inspect(ctx, q)
	if err != nil {
		return err
	}
	v := verifier{Database: d, found: found}
	missed := d.checkMissed(ctx, q, found)
	v.columns()
	if err := v.err(); err != nil { // later checks would report missing columns again
		return errors.Join(missed, err)
	}
	for _, r := range d.indexRules() {
		if t := found[r.table]; t != nil && r.unique {
			if index := d.indexFor(r, t); index == nil {
				v.add(d.duplicates(ctx, q, r))
			} else {
				v.add(v.exact(r, index))
			}
		}
	}
	return errors.Join(missed, v.err())
}

// Verify checks that the shared tables follow the rules that the adapter relies on.
func (d *Database) Verify(ctx context.Context) error {
	found, err := d.Tables(ctx)
	if err != nil {
		return err
	}
	return d.verify(found)
}

func (d *Database) verify(found Tables) error {
	v := verifier{Database: d, found: found}
	for _, logical := range tables() {
		if found[logical] == nil {
			v.fail("there is no table %s: restore it, or set storage.naming or storage.tables to the name that it has", d.Names[logical])
		}
	}
	v.columns()
	if err := v.err(); err != nil {
		return err
	}
	for _, r := range d.indexRules() {
		if !r.unique {
			continue // slow without the index, but correct
		}
		index := d.indexFor(r, found[r.table])
		if index == nil {
			v.fail("table %s has no unique index over (%s): %s", d.Names[r.table], strings.Join(r.columns, ", "), d.createIndex(r))
			continue
		}
		v.add(v.exact(r, index))
	}
	return v.err()
}

type verifier struct {
	*Database
	found   Tables
	errs    []error
	lacking error // columns of the application that the table of users does not have
}

func (v *verifier) add(err error) {
	if err != nil {
		v.errs = append(v.errs, err)
	}
}

func (v *verifier) fail(format string, args ...any) { v.add(fmt.Errorf(format, args...)) }

func (v *verifier) err() error {
	if len(v.errs) == 0 {
		return v.lacking
	}
	return errors.Join(&stores.UnusableError{Err: errors.Join(v.errs...)}, v.lacking)
}

// lackingColumns returns a [stores.ColumnsError] if the table of users lacks columns of
// the application.
func (d *Database) lackingColumns(t *Table) error {
	var names, statements []string
	for _, name := range d.Names.UserColumns() {
		if d.named(t, name) == nil {
			names = append(names, name)
			statements = append(statements, "ALTER TABLE "+d.Quote(d.Names["User"])+" ADD COLUMN "+d.newColumn(name))
		}
	}
	if names == nil {
		return nil
	}
	return &stores.ColumnsError{Statements: statements,
		Problem: fmt.Sprintf("lists columns that table %s does not have: %s", d.Names["User"], strings.Join(names, ", "))}
}

// newColumns defines the columns of the application in a new table of users.
func (d *Database) newColumns() string {
	var b strings.Builder
	for _, name := range d.Names.UserColumns() {
		b.WriteString(",\n    " + d.newColumn(name))
	}
	return b.String()
}

// newColumn defines a column of the application that takes any text.
func (d *Database) newColumn(name string) string { return d.Quote(name) + " TEXT" }

// columns requires the columns of the interface with types that take what authsvc
// writes, and requires that no other column needs a value.
func (v *verifier) columns() {
	known := map[string]map[*Column]bool{}
	for _, logical := range v.Names.Columns() {
		table, _, _ := strings.Cut(logical, ".")
		t := v.found[table]
		if t == nil {
			continue
		}
		c := v.column(t, logical)
		if c == nil && optional(logical) && v.Names[logical] == "id" {
			continue
		}
		if c == nil {
			v.fail("table %s has no column %s: add it, or set storage.columns: {%s: NAME} to the name that it has",
				v.Names[table], v.Names[logical], logical)
			continue
		}
		if logical == table+".id" && c.Number && !c.HasDefault {
			v.fail("table %s has numbers in column %s that the database does not generate: make it an identity column", v.Names[table], c.Name)
		}
		if known[table] == nil {
			known[table] = map[*Column]bool{}
		}
		known[table][c] = true
	}
	never, _ := v.judgements(v.found)
	for _, text := range never {
		v.add(errors.New(text))
	}
	if t := v.found["User"]; t != nil {
		v.lacking = v.lackingColumns(t)
	}
	for _, table := range tables() {
		t := v.found[table]
		if t == nil {
			continue
		}
		for i := range t.Columns {
			if c := &t.Columns[i]; c.Required && !known[table][c] && !v.isTimestamp(table, t, c) {
				v.fail("table %s has a column %s that requires a value, which authsvc does not know: give it a default", v.Names[table], c.Name)
			}
		}
	}
}

// exact requires a unique index to compare byte for byte, unless the adapter compares
// again in this database.
func (v *verifier) exact(r indexRule, index *Index) error {
	if !index.Folded || v.FoldText {
		return nil
	}
	return fmt.Errorf("table %s has no unique index over (%s) that compares byte for byte: %s ignores case or accents",
		v.Names[r.table], strings.Join(r.columns, ", "), index.Name)
}
