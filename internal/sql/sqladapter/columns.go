package sqladapter

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc/adapter"
	"authsvc/internal/seal/sessionshape"
)

// A Kind says how to read the values of a column of [Naming.UserColumns].
type Kind int

// The kinds of columns. Text is the kind of every other column.
const (
	Text    Kind = iota
	Bool         // bool
	Integer      // int64
	Float        // float64
	Decimal      // exact number, as text
	Time         // time.Time in UTC
	JSON         // decoded; whole numbers are int64, others float64
	List         // array of the database, as JSON
	Bytes        // []byte
)

// A UserColumn is one of [Naming.UserColumns].
type UserColumn struct {
	Name string
	Kind Kind
}

// userColumn returns the logical name of a column that belongs to the application.
func userColumn(name string) string { return "User+" + name }

// addUserColumns checks the columns and adds them to names.
func (n Naming) addUserColumns(names Names) error {
	var known []string
	for _, logical := range names.Columns() {
		if strings.HasPrefix(logical, "User.") {
			known = append(known, strings.ToLower(names[logical]))
		}
	}
	for _, name := range n.UserColumns {
		if err := checkName(name); err != nil {
			return err
		}
		switch {
		case strings.ContainsAny(name, "?{}.,\"\\<>&`"):
			return fmt.Errorf("naming: the column %q of User cannot be read: its name contains one of ? { } . , \" \\ < > & `", name)
		case slices.Contains(known, strings.ToLower(name)):
			return fmt.Errorf("naming: the column %q of User is listed twice, or is always read", name)
		}
		known = append(known, strings.ToLower(name))
		names[userColumn(name)] = name
	}
	return nil
}

// UserColumns lists the application's columns, sorted.
func (names Names) UserColumns() (list []string) {
	for logical := range names {
		if name, ok := strings.CutPrefix(logical, "User+"); ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// userColumns returns the columns that scanUser reads.
func (b *builder) userColumns() string {
	text := userColumns
	for _, c := range b.traits.UserColumns {
		column := `u.{` + userColumn(c.Name) + `}`
		if b.dialect.Read != nil {
			column = b.dialect.Read(column, c.Kind)
		}
		text += `, ` + column
	}
	return text
}

// UserColumns implements [adapter.UserColumns].
func (a *Adapter) UserColumns() (names []string) {
	for _, c := range a.traits.UserColumns {
		names = append(names, c.Name)
	}
	return names
}

// UserColumnKinds returns the columns with their kinds.
func (a *Adapter) UserColumnKinds() []UserColumn { return slices.Clone(a.traits.UserColumns) }

// addExtra appends the targets for the application's columns.
func (a *Adapter) addExtra(to []any, u *adapter.User) []any {
	columns := a.traits.UserColumns
	if len(columns) == 0 {
		return to
	}
	u.Extra = make(map[string]any, len(columns))
	targets := make([]extra, len(columns))
	for i, c := range columns {
		targets[i] = extra{u.Extra, c, a.dialect.DecodeTime}
		to = append(to, &targets[i])
	}
	return to
}

// extra scans a column of the application. A value that does not match the kind of the
// column, which SQLite allows, becomes nil: it must not keep people from their
// sessions.
type extra struct {
	to     map[string]any
	column UserColumn
	decode func(any) (time.Time, error)
}

// Scan implements sql.Scanner.
func (e *extra) Scan(v any) error {
	e.to[e.column.Name] = e.value(v)
	return nil
}

// TakeString implements Target.
func (e *extra) TakeString(v string) error { return e.Scan(v) }

// TakeInt64 implements Target.
func (e *extra) TakeInt64(v int64) error { return e.Scan(v) }

func (e *extra) value(v any) any {
	if v == nil {
		return nil
	}
	switch e.column.Kind {
	case Time:
		if t, err := e.decode(v); err == nil {
			return t.UTC()
		}
		return nil
	case Bytes:
		if b, ok := v.([]byte); ok {
			return slices.Clone(b)
		}
	case Bool:
		return truth(v)
	}
	return e.scalar(v)
}

// truth reads a boolean, which may be stored as a number or a bit.
func truth(v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case []byte:
		return slices.ContainsFunc(v, func(b byte) bool { return b != 0 && b != '0' })
	}
	return nil
}

// scalar reads a value that a driver returns as text or as a number.
func (e *extra) scalar(v any) any {
	switch v := v.(type) {
	case []byte:
		return e.text(string(v))
	case string:
		return e.text(v)
	case float32: // keeps 0.1 as 0.1 instead of its float64 conversion
		return e.text(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case float64:
		if e.column.Kind == Decimal || e.column.Kind == Integer {
			return e.text(strconv.FormatFloat(v, 'f', -1, 64))
		}
		return v
	case int64:
		switch e.column.Kind {
		case Float:
			return float64(v)
		case Decimal:
			return strconv.FormatInt(v, 10)
		}
		return v
	case uint64:
		return e.text(strconv.FormatUint(v, 10))
	case bool:
		return v
	case time.Time:
		return v.UTC()
	}
	return nil
}

func (e *extra) text(s string) any {
	switch e.column.Kind {
	case Integer:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		return s // more than 64 bits
	case Float:
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
		return nil
	case JSON, List:
		return sessionshape.DecodeValue(s)
	}
	return s
}
