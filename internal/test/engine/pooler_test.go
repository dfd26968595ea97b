package engine_test

import (
	"net/url"
	"testing"

	"authsvc"
	"authsvc/adapter/postgres"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/servertest"
)

// TestSignInThroughPooler: a person signs up, signs in again and is known, with a
// pooler between the service and PostgreSQL that pools transactions.
func TestSignInThroughPooler(t *testing.T) {
	t.Parallel()
	location := servertest.Postgres(t)
	at, err := url.Parse(servertest.PgBouncer(t, location, 20)(location))
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	q.Set("default_query_exec_mode", "exec")
	at.RawQuery = q.Encode()
	store, err := postgres.Open(t.Context(), at.String(), postgres.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := arena.Enter(t, func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = store, authsvc.StrategyDatabase })
	for range 2 {
		b := w.Browser()
		if a := b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
			t.Errorf("signed in as %q: %d %s", b.Email(), a.StatusCode, a.Location())
		}
	}
	if users, err := store.ListUsers(t.Context(), "", 10); err != nil || len(users) != 1 {
		t.Errorf("%d users, %v", len(users), err)
	}
}
