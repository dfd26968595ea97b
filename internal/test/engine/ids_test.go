package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// A shifted store has a clock that is ahead of this machine's. Services with different
// shifts are replicas whose clocks differ.
type shifted struct {
	adapter.Adapter
	ahead time.Duration
}

func (s shifted) Now(context.Context) (time.Time, error) { return time.Now().Add(s.ahead), nil }

// TestIDOfEarlierUser checks that with strategy jwt, a cookie of a user whom the
// application deleted by SQL is not valid for a new user who gets the same number. The
// new user's first session is valid, and other sessions continue, at all replicas, even
// if their clocks differ.
func TestIDOfEarlierUser(t *testing.T) {
	t.Parallel()
	clocks := []time.Duration{0, 30 * time.Second, -30 * time.Second}
	for _, ahead := range clocks {
		for _, by := range []string{"SignUp", "CreateUser"} {
			t.Run(fmt.Sprint(by, " ", ahead), func(t *testing.T) {
				t.Parallel()
				store, db := numberedUsers(t)
				w := arena.EnterInMemory(t, func(c *authsvc.Config) {
					c.Session.Strategy, c.Adapter = authsvc.StrategyJWT, store
				})
				at := func(ahead time.Duration) *engine.Service {
					c := w.Config
					c.Adapter = shifted{store, ahead}
					s, err := engine.New(c)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { s.Close(context.WithoutCancel(t.Context())) })
					return s
				}
				signIn := func(s *engine.Service, sub string) (*arena.Browser, string) {
					b := w.Browser()
					b.H = s
					b.SignIn(w.OP, sub)
					u, err := store.GetUserByEmail(t.Context(), sub+"@example.com")
					if err != nil || b.Email() != u.Email {
						t.Fatalf("%s signed in as %q: %v", sub, b.Email(), err)
					}
					return b, u.ID
				}
				alan, _ := signIn(at(0), "alan")
				earlier, id := signIn(at(-ahead), "ada")
				if _, err := db.ExecContext(t.Context(), `DELETE FROM "User" WHERE "id" = ?`, id); err != nil {
					t.Fatal(err)
				}
				signsUp := at(ahead)
				want := map[*arena.Browser]string{alan: "alan@example.com", earlier: ""}
				if by == "SignUp" {
					later, same := signIn(signsUp, "grace")
					want[later] = "grace@example.com"
					if same != id {
						t.Fatalf("the new user has the id %s, not %s", same, id)
					}
				} else if u, err := signsUp.CreateUser(t.Context(), authsvc.User{Email: "grace@example.com"}); err != nil || u.ID != id {
					t.Fatalf("the new user has the id %s, not %s: %v", u.ID, id, err)
				}
				replicas := []*engine.Service{signsUp}
				for _, ahead := range clocks {
					replicas = append(replicas, at(ahead))
				}
				for i, replica := range replicas {
					for b, email := range want {
						copied := b.Clone() // a refusal drops the cookie
						copied.H = replica
						if got := copied.Email(); got != email {
							t.Errorf("replica %d: the session is of %q, want %q", i, got, email)
						}
					}
				}
			})
		}
	}
}

// numberedUsers returns a store whose users table is an application's, with the ids of
// SQLite's rows, and a connection that does not enforce foreign keys.
func numberedUsers(t *testing.T) (adapter.Adapter, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	const users = `CREATE TABLE "User" ("id" INTEGER NOT NULL PRIMARY KEY, "name" TEXT, "email" TEXT, "emailVerified" DATETIME, "image" TEXT)`
	if _, err := db.ExecContext(t.Context(), users); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, db
}
