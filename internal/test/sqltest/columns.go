package sqltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adaptertest"
	"authsvc/internal/sql/stores"
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
	lacking(t, d, url, columns[0].Name, open)
	for _, names := range [][]string{{"email"}, {"Email"}, {"id"}, {"a", "a"}, {"a", "A"}, {""}, {"a?"}, {"{a}"}, {"a.b"}, {"a\"b"}, {"a`b"}, {"a\nb"}} {
		if s, err := open(t.Context(), url, names); err == nil {
			s.Close()
			t.Errorf("%q was taken", names)
		}
	}
}

// lacking checks that a store without some columns is refused, and that the statements
// in the error add them. A new table of users has the columns, but not those that are
// named later, even if it is empty.
func lacking(t *testing.T, d *Database, url, present string, open func(ctx context.Context, url string, names []string) (Store, error)) {
	t.Helper()
	fresh := d.Empty(t)
	s, err := open(t.Context(), fresh, []string{present})
	if err != nil {
		t.Fatalf("a new table: %v", err)
	}
	u, err := s.CreateUser(t.Context(), authsvc.User{ID: "a", Email: "ada@app.test"}, nil)
	if err == nil {
		u, err = s.GetUser(t.Context(), u.ID)
	}
	if want := map[string]any{present: nil}; err != nil || !maps.Equal(u.Extra, want) {
		t.Errorf("a new table: %v, %v, want %v", u.Extra, err, want)
	}
	if err := errors.Join(s.Close(), d.Execute(t.Context(), fresh, "DELETE FROM "+d.Dialect.Quote("User")+";\n")); err != nil {
		t.Error(err)
	}
	for _, url := range []string{url, fresh} {
		names := []string{present, "no_such_column", "nor that"}
		s, err := open(t.Context(), url, names)
		if err == nil {
			s.Close()
			t.Fatal("columns that are not there were not noticed")
		}
		const want = "Naming.UserColumns lists columns that table User does not have: no_such_column, nor that; run ALTER TABLE "
		var e *stores.ColumnsError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, without %q", err, want)
		}
		for _, statement := range e.Statements {
			if err := d.Execute(t.Context(), url, statement+";\n"); err != nil {
				t.Fatal(err)
			}
		}
		if s, err = open(t.Context(), url, names); err != nil {
			t.Fatalf("after %q: %v", e.Statements, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
