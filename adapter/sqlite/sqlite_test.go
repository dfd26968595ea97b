package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"authsvc"
	"authsvc/adaptertest"
	"authsvc/internal/sqladapter"
)

// A shared store is one that a NextAuth.js application has open as well.
type shared struct {
	*Store
	location string
	options  Options
}

func newShared(t *testing.T, o Options, test seam) shared {
	t.Helper()
	o.Migrate = true
	location := filepath.Join(t.TempDir(), "auth.db")
	s, err := open(t.Context(), location, o, test)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return shared{s, location, o}
}

// Reopen implements [adaptertest.Reopener].
func (s shared) Reopen(t *testing.T) authsvc.Adapter {
	again, err := Open(t.Context(), s.location, s.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	return again
}

func (s shared) exec(ctx context.Context, text string, args ...any) error {
	statement, err := s.names.Expand(text, quote)
	if err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, statement, args...)
	return err
}

// ForeignSession implements [adaptertest.Foreign], in the way of newer
// versions of Prisma: time as text.
func (s shared) ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error {
	return s.exec(ctx, `INSERT INTO {Session} ({Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}) VALUES (?, ?, ?, ?)`,
		id, token, userID, expires.Format("2006-01-02T15:04:05.000Z07:00"))
}

// ForeignSignOut implements [adaptertest.Foreign].
func (s shared) ForeignSignOut(ctx context.Context, token string) error {
	return s.exec(ctx, `DELETE FROM {Session} WHERE {Session.sessionToken} = ?`, token)
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"prisma": {},
		"snake":  {Naming: Naming{Preset: "snake"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Run(t, func(t *testing.T) authsvc.Adapter { return newShared(t, o, seam{}) })
		})
	}
}

// The suite in the words of a database that has no RETURNING, and with names
// that need quoting.
func TestAdapterWithoutReturning(t *testing.T) {
	t.Parallel()
	o := Options{Naming: Naming{Tables: map[string]string{"User": `us"er {?}`}, Columns: map[string]string{"User.email": `mail "?" {x}`}}}
	test := seam{dialect: func(d *sqladapter.Dialect) { d.Returning = false }}
	adaptertest.Run(t, func(t *testing.T) authsvc.Adapter { return newShared(t, o, test) })
}
