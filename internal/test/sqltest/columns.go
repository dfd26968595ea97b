package sqltest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"authsvc/adaptertest"
)

// A Column is a column that belongs to an application.
type Column struct {
	Name, Type string
	Value      string // a SQL literal
	Want       any
}

// UserColumns checks that a store reads the application's own columns with their
// types. open opens a store that reads the named columns.
func UserColumns(t *testing.T, d *Database, columns []Column, open func(ctx context.Context, url string, names []string) (Store, error)) {
	t.Helper()
	url := d.Empty(t)
	first, err := open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	var names, sets []string
	want, none := map[string]any{}, map[string]any{}
	for i, c := range columns {
		for _, name := range []string{c.Name, fmt.Sprintf("none%d", i)} {
			if err := d.Execute(t.Context(), url, `ALTER TABLE `+d.Dialect.Quote("User")+` ADD COLUMN `+d.Dialect.Quote(name)+` `+c.Type+";\n"); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		sets = append(sets, d.Dialect.Quote(c.Name)+` = `+c.Value)
		want[c.Name], none[fmt.Sprintf("none%d", i)] = c.Want, nil
	}
	for name := range none {
		want[name] = nil
	}
	s, err := open(t.Context(), url, names)
	if err != nil {
		t.Fatal(err)
	}
	CloseAtEnd(t, s)
	adaptertest.RunColumns(t, adaptertest.Columns{Adapter: s, Want: want, Set: func(t *testing.T, userID string) {
		t.Helper()
		statement := `UPDATE ` + d.Dialect.Quote("User") + ` SET ` + strings.Join(sets, ", ") + ` WHERE ` + d.Dialect.Quote("id") + ` = '` + userID + "';\n"
		if err := d.Execute(t.Context(), url, statement); err != nil {
			t.Fatal(err)
		}
	}})
	missing, err := open(t.Context(), url, []string{columns[0].Name, "no_such_column", "nor that"})
	if err == nil {
		missing.Close()
		t.Fatal("columns that are not there were not noticed")
	}
	for _, part := range []string{"table User has no column no_such_column", "table User has no column nor that", "storage.user_columns"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v, without %q", err, part)
		}
	}
	for _, names := range [][]string{{"email"}, {"Email"}, {"id"}, {"a", "a"}, {"a", "A"}, {""}, {"a?"}, {"{a}"}, {"a.b"}, {"a\"b"}, {"a`b"}, {"a\nb"}} {
		if s, err := open(t.Context(), url, names); err == nil {
			s.Close()
			t.Errorf("%q was taken", names)
		}
	}
}
