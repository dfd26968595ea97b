package sqlschema

import (
	"context"
	"slices"
	"strings"
	"time"

	"authsvc/internal/sql/sqladapter"
)

// Traits returns the traits of the existing tables. Missing tables have none.
func (d *Database) Traits(found Tables) sqladapter.Traits {
	traits := sqladapter.Traits{
		GeneratedIDs: map[string]bool{}, UUIDs: map[string]bool{}, NoIDs: map[string]bool{}, Timestamps: map[string][]string{},
		Folded: map[string]bool{}, Precision: map[string]time.Duration{},
	}
	for table, t := range found {
		if id := d.column(t, table+".id"); id != nil {
			traits.GeneratedIDs[table], traits.UUIDs[table] = id.Number, id.UUID
		} else {
			traits.NoIDs[table] = optional(table + ".id")
		}
		traits.Timestamps[table] = d.timestamps(table, t)
		for _, logical := range d.Names.Columns() {
			if of, _, _ := strings.Cut(logical, "."); of != table {
				continue
			}
			c := d.column(t, logical)
			if c == nil {
				continue
			}
			if c.Folded {
				traits.Folded[logical] = true
			}
			if c.Precision > 0 {
				traits.Precision[logical] = c.Precision
			}
		}
	}
	for _, table := range []string{"Account", "Session"} {
		if t := found[table]; t != nil && !d.cascades(t, table) {
			traits.NoCascade = true
		}
	}
	if t := found["User"]; t != nil {
		for _, name := range d.Names.UserColumns() {
			if c := d.named(t, name); c != nil {
				traits.UserColumns = append(traits.UserColumns, sqladapter.UserColumn{Name: name, Kind: kindOf(c)})
			}
		}
	}
	if t := found["Account"]; t != nil {
		if c := d.column(t, "Account.expires_at"); c != nil {
			traits.NarrowExpiry = c.Number && c.Size == 4
		}
	}
	return traits
}

// kindOf returns the kind for reading a column of the application.
func kindOf(c *Column) sqladapter.Kind {
	t := strings.ToLower(c.Type)
	for _, one := range []struct {
		kind     sqladapter.Kind
		prefixes []string
	}{
		{sqladapter.JSON, []string{"json"}},
		{sqladapter.Bool, []string{"bool", "tinyint(1)", "bit(1)"}},
		{sqladapter.Time, []string{"timestamp", "datetime"}},
		{sqladapter.Float, []string{"real", "double", "float"}},
		{sqladapter.Decimal, []string{"numeric", "decimal", "money"}},
		{sqladapter.Bytes, []string{"bytea", "blob", "tinyblob", "mediumblob", "longblob", "binary", "varbinary"}},
	} {
		if slices.ContainsFunc(one.prefixes, func(p string) bool { return strings.HasPrefix(t, p) }) {
			if strings.HasSuffix(t, "[]") {
				return sqladapter.List
			}
			return one.kind
		}
	}
	switch {
	case strings.HasSuffix(t, "[]"):
		return sqladapter.List
	case c.Number:
		return sqladapter.Integer
	}
	return sqladapter.Text
}

// optional reports whether a column may be missing: only Account.id and Session.id may.
// Nothing refers to these ids, and neither Auth.js nor its documentation for Prisma has
// them any more.
func optional(logical string) bool { return logical == "Account.id" || logical == "Session.id" }

// timestamps names the application's columns for the time at which a row was created or
// changed, if an INSERT must supply it. Prisma's @updatedAt columns are an example.
func (d *Database) timestamps(table string, t *Table) (names []string) {
	for i := range t.Columns {
		if c := &t.Columns[i]; d.isTimestamp(table, t, c) {
			names = append(names, c.Name)
		}
	}
	return names
}

func (d *Database) isTimestamp(table string, t *Table, c *Column) bool {
	if !c.Required || table == "VerificationToken" || !isTime(c.Type) || strings.ContainsAny(c.Name, "?{},") {
		return false
	}
	return !slices.ContainsFunc(d.Names.Columns(), func(logical string) bool {
		return strings.HasPrefix(logical, table+".") && d.column(t, logical) == c
	})
}

func isTime(sqlType string) bool {
	sqlType = strings.ToLower(sqlType)
	return strings.HasPrefix(sqlType, "timestamp") || strings.HasPrefix(sqlType, "datetime")
}

// cascades reports whether deleting a user deletes its rows in the table.
func (d *Database) cascades(t *Table, table string) bool {
	for _, r := range t.References {
		if d.sameName(r.Table, d.Names["User"]) && d.sameName(r.Column, d.Names[table+".userId"]) && r.Cascade {
			return true
		}
	}
	return false
}

// Warnings lists conditions that work, but not well.
func (d *Database) Warnings(ctx context.Context) ([]string, error) {
	found, err := d.prepared, error(nil)
	if found == nil {
		if found, err = d.Tables(ctx); err != nil {
			return nil, err
		}
	}
	_, some := d.judgements(found)
	list := append(d.createdWarning(), some...)
	t := found["Account"]
	for _, logical := range []string{"Account.refresh_token", "Account.access_token", "Account.id_token"} {
		if t == nil {
			break
		}
		if c := d.column(t, logical); c != nil && c.Size > 0 && c.Size < 1<<16-1 {
			list = append(list, "table "+d.Names["Account"]+": column "+c.Name+" ("+c.Type+
				") is too narrow for some tokens, so sign-ins with them will fail: widen it to the longest text type, or set storage.provider_tokens: drop")
		}
	}
	return list, nil
}
