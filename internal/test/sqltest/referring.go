package sqltest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/adapter"
)

// A ReferringCase is a part of an application's schema whose rows refer to users.
type ReferringCase = struct {
	Schema string // SQL
	Rows   string // SQL that makes rows refer to the user u
	Frees  string // SQL after which the user can be deleted; empty: the rows do not prevent it
	Table  string // that the error must name
}

// NamesReferring checks that the deletion of a user to whom rows of the application
// refer changes nothing, and that its error names their table and the fix.
func NamesReferring(t *testing.T, d *Database, cases map[string]ReferringCase) {
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := d.Empty(t)
			s := d.Opened(t, url, true)
			for _, id := range []string{"u", "other"} {
				if err := SignUp(t.Context(), s, id); err != nil {
					t.Fatal(err)
				}
			}
			db := d.Connected(t, url)
			if err := d.Execute(t.Context(), url, c.Schema+c.Rows); err != nil {
				t.Fatal(err)
			}
			if c.Frees != "" {
				err := s.DeleteUser(t.Context(), "u", Ended("u"))
				if err == nil || errors.Is(err, adapter.ErrNotFound) || errors.Is(err, adapter.ErrConflict) ||
					!strings.Contains(err.Error(), `rows of the table "`+c.Table+`" refer to the user: `) || !strings.Contains(err.Error(), "DeleteUser callback") {
					t.Errorf("got %v, want the table %q", err, c.Table)
				}
				if accounts, err := s.ListAccounts(t.Context(), "u"); err != nil || len(accounts) != 1 {
					t.Errorf("a refused deletion deleted accounts: %v, %v", accounts, err)
				}
				if err := s.DeleteUser(t.Context(), "other", Ended("other")); err != nil {
					t.Errorf("a user without such rows: %v", err)
				}
				if _, err := db.ExecContext(t.Context(), c.Frees); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.DeleteUser(t.Context(), "u", Ended("u")); err != nil {
				t.Errorf("nothing refers to the user any more: %v", err)
			}
			if err := s.DeleteUser(t.Context(), "u", Ended("u")); !errors.Is(err, adapter.ErrNotFound) {
				t.Errorf("the user is gone: %v", err)
			}
		})
	}
}

// Ended revokes the sessions of a user who is to be deleted.
func Ended(id string) *adapter.Revocation {
	return &adapter.Revocation{Key: "user:" + id, UserID: id, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}
}

// ReplacesPerson checks that a new user who gets the id of an earlier one has only the
// person of the sign-up. loosen is SQL that deletes the user u without its references.
func ReplacesPerson(t *testing.T, d *Database, loosen string) {
	t.Parallel()
	url := d.Empty(t)
	s := d.Opened(t, url, true)
	for i, locale := range []string{"de", "fr", "en"} {
		u := authsvc.User{ID: "u", Email: locale + "@example.com"}
		if _, err := s.SignUp(t.Context(), u, nil, nil, locale); err != nil {
			t.Fatalf("user %d with the id: %v", i, err)
		}
		p, err := s.GetPerson(t.Context(), "u")
		if diff := cmp.Diff(adapter.Person{UserID: "u", Locale: locale}, p); err != nil || diff != "" {
			t.Errorf("user %d with the id: %v, the person differs (-want +got):\n%s", i, err, diff)
		}
		now := time.Now()
		change := adapter.PersonUpdate{Blocked: &now, BlockedWhy: new("spam"), DeleteAfter: &now, SecondStep: new(true), RecoverAfter: &now}
		if err := s.SetPerson(t.Context(), "u", change, nil); err != nil {
			t.Fatal(err)
		}
		if err := d.Execute(t.Context(), url, loosen); err != nil {
			t.Fatal(err)
		}
	}
}
