package sqladapter

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"authsvc/adapter"
)

// A Target receives the value of a column. Databases that support it can pass the two
// most frequent kinds without an allocation.
type Target interface {
	sql.Scanner
	TakeString(string) error
	TakeInt64(int64) error
}

// textTo scans a column into a string; NULL is the empty string. Tables of other
// programs may have numbers as ids.
type textTo struct{ to *string }

// Scan implements sql.Scanner.
func (t textTo) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*t.to = ""
	case string:
		*t.to = v
	case []byte:
		*t.to = string(v)
	case int64:
		*t.to = strconv.FormatInt(v, 10)
	default:
		return fmt.Errorf("text column holds a %T", v)
	}
	return nil
}

// TakeString implements Target.
func (t textTo) TakeString(v string) error {
	*t.to = v
	return nil
}

// TakeInt64 implements Target.
func (t textTo) TakeInt64(v int64) error {
	*t.to = strconv.FormatInt(v, 10)
	return nil
}

// blob scans a text column into bytes; NULL is nil.
type blob struct{ to *[]byte }

// Scan implements sql.Scanner.
func (b blob) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*b.to = nil
	case string:
		*b.to = []byte(v)
	case []byte:
		*b.to = slices.Clone(v) // the driver reuses v
	default:
		return fmt.Errorf("text column holds a %T", v)
	}
	return nil
}

// TakeString implements Target.
func (b blob) TakeString(v string) error { return b.Scan(v) }

// TakeInt64 implements Target.
func (b blob) TakeInt64(v int64) error { return b.Scan(v) }

// number scans an integer column; NULL is 0.
type number struct{ to *int64 }

// Scan implements sql.Scanner.
func (n number) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*n.to = 0
	case int64:
		*n.to = v
	case []byte:
		i, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return fmt.Errorf("integer column holds text")
		}
		*n.to = i
	default:
		return fmt.Errorf("integer column holds a %T", v)
	}
	return nil
}

// TakeString implements Target.
func (n number) TakeString(v string) error { return n.Scan(v) }

// TakeInt64 implements Target.
func (n number) TakeInt64(v int64) error {
	*n.to = v
	return nil
}

// instant scans a time column of a shared table; NULL is the zero time.
type instant struct {
	to     *time.Time
	decode func(any) (time.Time, error)
}

// Scan implements sql.Scanner.
func (i instant) Scan(v any) error {
	if v == nil {
		*i.to = time.Time{}
		return nil
	}
	t, err := i.decode(v)
	if err != nil {
		return err
	}
	*i.to = toMillis(t)
	return nil
}

// TakeString implements Target.
func (i instant) TakeString(v string) error { return i.Scan(v) }

// TakeInt64 implements Target.
func (i instant) TakeInt64(v int64) error { return i.Scan(v) }

// millis scans a time column of one of our own tables.
type millis struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m millis) Scan(v any) error {
	if v == nil {
		*m.to = time.Time{}
		return nil
	}
	var ms int64
	if err := (number{&ms}).Scan(v); err != nil {
		return err
	}
	*m.to = time.UnixMilli(ms).UTC()
	return nil
}

// TakeString implements Target.
func (m millis) TakeString(v string) error { return m.Scan(v) }

// TakeInt64 implements Target.
func (m millis) TakeInt64(v int64) error {
	*m.to = time.UnixMilli(v).UTC()
	return nil
}

// orEnded scans a time of a session. If the time cannot be read, which SQLite lets
// other programs cause, the session has ended. The next request for it then removes it;
// an error would make every request with it fail.
type orEnded struct {
	Target
	s *adapter.SessionRecord
}

// Scan implements sql.Scanner. Expires must be scanned before Began.
func (o orEnded) Scan(v any) error { return o.read(o.Target.Scan(v)) }

// TakeString implements Target.
func (o orEnded) TakeString(v string) error { return o.read(o.Target.TakeString(v)) }

// TakeInt64 implements Target.
func (o orEnded) TakeInt64(v int64) error { return o.read(o.Target.TakeInt64(v)) }

func (o orEnded) read(err error) error {
	if err != nil {
		o.s.Expires = time.Time{}
	}
	return nil
}

// toMillis returns t as a store returns it: UTC, milliseconds, never later.
func toMillis(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// orNull returns s as a parameter; "" becomes NULL.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// ms returns t as a parameter for one of our own tables.
func ms(t time.Time) int64 { return t.UnixMilli() }

// msOrNull returns ms(t); the zero time becomes NULL.
func msOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return ms(t)
}

// truncate returns t as a column of a shared table returns it: never later.
func (a *Adapter) truncate(column string, t time.Time) time.Time {
	if t = toMillis(t); t.IsZero() {
		return t
	}
	return t.Truncate(max(a.traits.Precision[column], time.Millisecond))
}

// timeArg returns t as a parameter for a column of a shared table; the zero time
// becomes NULL.
func (a *Adapter) timeArg(column string, t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return encode(&a.dialect, a.traits, a.truncate(column, t))
}

// encode returns t as a parameter for a shared table. Text has the format of
// JavaScript, so that the other program can compare it.
func encode(d *Dialect, traits Traits, t time.Time) any {
	if traits.TextTimes {
		return toMillis(t).Format("2006-01-02T15:04:05.000Z")
	}
	return d.EncodeTime(toMillis(t))
}
