package mongodb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
	"authsvc/internal/sql/stores"
)

// collectionsWith returns a database in which an application has stored a user and an
// account, in collections of these names. Without a name, the account is left out.
func collectionsWith(t *testing.T, users, accounts string) (location string) {
	t.Helper()
	at, _ := servedLocation(t)
	s := again(t, at, Options{})
	t.Cleanup(func() {
		if err := s.db.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	put := func(collection string, d bson.D) {
		if _, err := s.db.Collection(collection).InsertOne(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	id := bson.NewObjectID()
	put(users, bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "Ada"}, {Key: "email", Value: "ada@example.com"}, {Key: "emailVerified", Value: nil}})
	if accounts == "" {
		return at
	}
	put(accounts, bson.D{{Key: "userId", Value: id}, {Key: "type", Value: "oauth"}, {Key: "provider", Value: "acme"}, {Key: "providerAccountId", Value: "7"}})
	return at
}

// servedLocation is location, once a store may run.
func servedLocation(t *testing.T) (string, *faultProxy) {
	t.Helper()
	parallelStores <- struct{}{}
	t.Cleanup(func() { <-parallelStores })
	at, proxy := location(t)
	return at + "&timeoutMS=120000", proxy
}

// TestMissesNoCollections checks that a store that expects an application's collections
// does not create others beside them, and that it works with the proposed names.
func TestMissesNoCollections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		users, accounts string
		naming          Naming
		key, fix        string // empty: fine
		right           Naming
	}{
		"NextAuth.js": {users: "users", accounts: "accounts"},
		"others":      {users: "visitors"},
		"the server":  {users: "visitors", accounts: "system.accounts"},
		"Prisma":      {users: "User", accounts: "Account", key: "storage.naming", fix: "`naming: prisma`", right: Naming{Preset: "prisma"}},
		"a prefix": {users: "web_users", accounts: "web_accounts", key: "storage.tables", fix: "`tables: {Account: web_accounts, User: web_users}`",
			right: Naming{Tables: map[string]string{"User": "web_users", "Account": "web_accounts"}}},
		"the wrong preset": {users: "users", accounts: "accounts", naming: Naming{Preset: "prisma"}, key: "storage.naming", fix: "`naming: authjs`", right: Naming{Preset: "authjs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := collectionsWith(t, c.users, c.accounts)
			s := again(t, at, Options{Naming: c.naming, Shares: true})
			before, err := s.collections(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.key != "" {
				for _, err := range []error{s.Usable(t.Context()), s.Migrate(t.Context(), Up)} {
					var missed *stores.MissedError
					if !errors.As(err, &missed) || missed.Key != c.key || !strings.Contains(missed.Fix, c.fix) || !strings.Contains(missed.Problem, c.users+" (documents: 1)") {
						t.Fatalf("got %v, want %s: … %s", err, c.key, c.fix)
					}
				}
				if after, err := s.collections(t.Context()); err != nil || !slices.Equal(after, before) {
					t.Errorf("created %s, %v", after, err)
				}
				if alone := again(t, at, Options{Naming: c.naming}); alone.Usable(t.Context()) != nil {
					t.Error("without an application, the collections cannot be created")
				}
				s = again(t, at, Options{Naming: c.right, Shares: true})
			}
			if err := s.Migrate(t.Context(), Up); err != nil {
				t.Fatal(err)
			}
			u, err := s.GetUserByAccount(t.Context(), "acme", "7")
			if missing := c.users == "visitors"; errors.Is(err, adapter.ErrNotFound) != missing || !missing && u.Email != "ada@example.com" {
				t.Errorf("the application's user: %+v, %v", u, err)
			}
			list, err := s.Shared(t.Context())
			if err != nil || len(list) != 4 || !list[0].Exists || (list[0].Rows == 1) != (c.users != "visitors") {
				t.Errorf("listed %+v, %v", list, err)
			}
		})
	}
}
