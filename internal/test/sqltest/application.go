package sqltest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/sqlschema"
)

// An Application is another program with access to a store's database, such as a
// NextAuth.js application.
type Application struct {
	Database *Database
	DB       *sql.DB
	Names    sqladapter.Names
	// Traits returns the traits of the tables.
	Traits func(context.Context) (sqladapter.Traits, error)
	// Time converts a time for the program's statements. Nil: unchanged.
	Time func(time.Time) any
	// Limit lists the values that its tables cannot keep.
	Limit adaptertest.Limits
}

// Limits implements [adaptertest.Limited].
func (a *Application) Limits() adaptertest.Limits { return a.Limit }

// Exec runs a statement with logical names in braces and ? for parameters.
func (a *Application) Exec(ctx context.Context, text string, args ...any) error {
	statement, err := a.Names.Expand(a.Database.Dialect.Rebind(text), a.Database.Dialect.Quote)
	if err != nil {
		return err
	}
	_, err = a.DB.ExecContext(ctx, statement, args...)
	return err
}

// ForeignSession implements [adaptertest.Foreign]. It sets no columns that the tables
// lack or fill themselves, but it sets the times of writing.
func (a *Application) ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error {
	traits, err := a.Traits(ctx)
	if err != nil {
		return err
	}
	at := any(expires)
	if a.Time != nil {
		at = a.Time(expires)
	}
	columns, args := `{Session.sessionToken}, {Session.userId}, {Session.expires}`, []any{token, userID, at}
	if !traits.NoIDs["Session"] && !traits.GeneratedIDs["Session"] && !traits.UUIDs["Session"] {
		columns, args = columns+`, {Session.id}`, append(args, id)
	}
	for _, stamp := range traits.Timestamps["Session"] {
		columns, args = columns+`, `+a.Database.Dialect.Quote(stamp), append(args, at)
	}
	return a.Exec(ctx, `INSERT INTO {Session} (`+columns+`) VALUES (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
}

// ForeignSignOut implements [adaptertest.Foreign].
func (a *Application) ForeignSignOut(ctx context.Context, token string) error {
	return a.Exec(ctx, `DELETE FROM {Session} WHERE {Session.sessionToken} = ?`, token)
}

// Dump implements [authsvc/internal/test/sqlfault.Store].
func (a *Application) Dump(t *testing.T) string {
	t.Helper()
	return a.Database.dump(t, a.DB)
}

// Traits returns a function that reads the traits of a schema's tables at each call.
func Traits(d *sqlschema.Database) func(context.Context) (sqladapter.Traits, error) {
	return func(ctx context.Context) (sqladapter.Traits, error) {
		found, err := d.Tables(ctx)
		return d.Traits(found), err
	}
}
