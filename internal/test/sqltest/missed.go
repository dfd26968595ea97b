package sqltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/stores"
)

// A MissedCase is the schema of an application, with a naming that misses it.
type MissedCase struct {
	Schema string
	Naming sqladapter.Naming
	// Key and Fix are parts of the refusal. Without a key, the tables must be created.
	Key, Fix string
	// Right is the naming, and Parameter the parameter of the URL, that the refusal
	// proposes.
	Right     sqladapter.Naming
	Parameter string
	// Users counts the rows in the application's table of users.
	Users string
}

// MissesNoTables checks that a store that expects an application's tables does not
// create others beside them, that it works with the proposed settings, and that it
// creates the tables if told that it shares none.
func MissesNoTables(t *testing.T, d *Database, cases map[string]MissedCase,
	open func(ctx context.Context, url string, n sqladapter.Naming, migrate, shares bool) (Store, error),
) {
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := d.With(t, c.Schema)
			before := Query(t, d.Connected(t, url), d.Tables+` ORDER BY 1`)
			s, err := open(t.Context(), url, c.Naming, true, true)
			if c.Key == "" {
				if err != nil {
					t.Fatal(err)
				}
				CloseAtEnd(t, s)
				return
			}
			if err == nil {
				s.Close()
			}
			checkMissed(t, err, c)
			if after := Query(t, d.Connected(t, url), d.Tables+` ORDER BY 1`); !slices.Equal(before, after) {
				t.Errorf("there were %s, and are %s", before, after)
			}
			s, err = open(t.Context(), url, c.Naming, false, true)
			if err != nil {
				t.Fatal(err)
			}
			checkMissed(t, s.Usable(t.Context()), c)
			checkMissed(t, s.Statements(t.Context(), func(stores.Migration, string) {}), c)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			d.usesProposal(t, url, c, open)
			s, err = open(t.Context(), d.With(t, c.Schema), c.Naming, true, false)
			if err != nil {
				t.Fatalf("without an application: %v", err)
			}
			CloseAtEnd(t, s)
		})
	}
}

func checkMissed(t *testing.T, err error, c MissedCase) {
	t.Helper()
	var missed *stores.MissedError
	if !errors.As(err, &missed) || missed.Key != c.Key || !strings.Contains(missed.Fix, c.Fix) {
		t.Fatalf("got %v, want %s: … %s", err, c.Key, c.Fix)
	}
}

// usesProposal opens the database as the refusal proposes, and creates a user.
func (d *Database) usesProposal(t *testing.T, url string, c MissedCase, open func(ctx context.Context, url string, n sqladapter.Naming, migrate, shares bool) (Store, error)) {
	t.Helper()
	if c.Parameter != "" {
		url += map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + c.Parameter
	}
	s, err := open(t.Context(), url, c.Right, true, true)
	if err != nil {
		t.Fatal(err)
	}
	CloseAtEnd(t, s)
	before := Query(t, d.Connected(t, url), c.Users)
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "new", Email: "new@example.com"}, nil); err != nil {
		t.Fatal(err)
	}
	if after := Query(t, d.Connected(t, url), c.Users); slices.Equal(after, before) {
		t.Errorf("the user is not in the application's table: %s", after)
	}
	for _, shared := range sharedOf(t, s) {
		if !shared.Exists || shared.Logical == "User" && shared.Rows == 0 {
			t.Errorf("listed: %+v", shared)
		}
	}
}

func sharedOf(t *testing.T, s Store) []stores.SharedTable {
	t.Helper()
	list, err := s.Shared(t.Context())
	if err != nil || len(list) != 4 {
		t.Fatalf("%v, %v", list, err)
	}
	return list
}
