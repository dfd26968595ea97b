package verify

import (
	"io"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/mongodb"
	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/adapter/redis"
	"authsvc/adapter/sqlite"
)

// storeURL returns the storage.url in the variables of a process, and its key prefix.
func storeURL(env []string) (url, prefix string) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "AUTHSVC_STORAGE_URL":
			url = value
		case "AUTHSVC_STORAGE_PREFIX":
			prefix = value
		}
	}
	return url, prefix
}

// storeAt opens the store of a process a second time, and creates its tables if there
// are none.
func storeAt(t testing.TB, env []string) adapter.Adapter {
	t.Helper()
	url, prefix := storeURL(env)
	scheme, _, _ := strings.Cut(url, ":")
	var s interface {
		adapter.Adapter
		io.Closer
	}
	var err error
	switch scheme {
	case "sqlite":
		s, err = sqlite.Open(t.Context(), url, sqlite.Options{Migrate: true})
	case "postgres":
		s, err = postgres.Open(t.Context(), url, postgres.Options{Migrate: true})
	case "mysql":
		s, err = mysql.Open(t.Context(), url, mysql.Options{Migrate: true})
	case "mongodb":
		s, err = mongodb.Open(t.Context(), url, mongodb.Options{Migrate: true})
	case "redis":
		s, err = redis.Open(t.Context(), url, redis.Options{Prefix: prefix})
	default:
		t.Fatalf("no store of its own: %s", scheme)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// storeUsers returns all users.
func storeUsers(t testing.TB, s adapter.Adapter) []authsvc.User {
	t.Helper()
	var all []authsvc.User
	for after := ""; ; {
		page, err := s.ListUsers(t.Context(), after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page...); len(page) < 500 {
			return all
		}
		after = page[len(page)-1].ID
	}
}

// storeWhole checks that addresses and identities are unique, that no sign-up is
// incomplete, and that accounts and sessions have their users. It returns the number
// of users.
func storeWhole(t testing.TB, s adapter.Adapter) int {
	t.Helper()
	addresses, identities := map[string]bool{}, map[string]bool{}
	users := storeUsers(t, s)
	for _, u := range users {
		if u.Email != "" && addresses[u.Email] {
			t.Errorf("two users have %s", u.Email)
		}
		addresses[u.Email] = true
		accounts, err := s.ListAccounts(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(accounts) == 0 && u.EmailVerified.IsZero() {
			t.Errorf("%s has neither an account nor a proved address", u.Email)
		}
		for _, a := range accounts {
			if identities[a.Provider+" "+a.ProviderAccountID] {
				t.Errorf("%s %s is linked twice", a.Provider, a.ProviderAccountID)
			}
			identities[a.Provider+" "+a.ProviderAccountID] = true
			if owner, err := s.GetUserByAccount(t.Context(), a.Provider, a.ProviderAccountID); err != nil || owner.ID != u.ID {
				t.Errorf("%s %s is of %s and of %s, %v", a.Provider, a.ProviderAccountID, u.ID, owner.ID, err)
			}
		}
		sessions, err := s.ListSessions(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range sessions {
			if rec.SessionToken == "" { // strategy jwt: exists only to be listed
				if rec.UserID != u.ID || rec.Digest == "" {
					t.Errorf("a session of %s is of %s", u.ID, rec.UserID)
				}
				continue
			}
			if _, owner, err := s.GetSession(t.Context(), rec.SessionToken, rec.Digest); err != nil || owner.ID != u.ID {
				t.Errorf("a session of %s is of %s, %v", u.ID, owner.ID, err)
			}
		}
	}
	return len(users)
}
