package sqltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// InheritsNothing checks that a new user with the id of an earlier one inherits nothing
// that the application left when it deleted the earlier user: no block, credentials,
// accounts or sessions. Its sign-up raises the epoch, which ends what began under the
// earlier user. The application's schema may be empty. loosen is SQL that deletes the
// user with the id %s without its references.
func InheritsNothing(t *testing.T, d *Database, schema, loosen string) {
	t.Parallel()
	url := d.With(t, schema)
	s := d.Opened(t, url, true)
	ctx, epoch, first := t.Context(), int64(0), ""
	for i, locale := range []string{"de", "", "fr", "create"} {
		signUp := func(ctx context.Context, u adapter.User, r *adapter.Revocation) (adapter.User, error) {
			return s.SignUp(ctx, u, nil, nil, locale, r)
		}
		if locale == "create" {
			signUp, locale = s.CreateUser, ""
		}
		born := Ended("")
		u, err := signUp(ctx, adapter.User{ID: "u", Email: fmt.Sprint(i, "@example.com")}, born)
		if err != nil || i > 0 && u.ID != first {
			t.Fatalf("user %d has the id %s, not %s: %v", i, u.ID, first, err)
		}
		first = u.ID
		p, err := s.GetPerson(ctx, u.ID)
		if diff := cmp.Diff(adapter.Person{UserID: u.ID, Locale: locale}, p); err != nil || diff != "" {
			t.Errorf("user %d: %v, the person differs (-want +got):\n%s", i, err, diff)
		}
		accounts, err := s.ListAccounts(ctx, u.ID)
		sessions, lost := s.ListSessions(ctx, u.ID)
		if err != nil || lost != nil || len(accounts)+len(sessions) > 0 {
			t.Errorf("user %d inherits %v, %v; %v, %v", i, accounts, sessions, err, lost)
		}
		has, err := s.GetEpoch(ctx, u.ID)
		if err != nil || has <= epoch || has != u.Epoch || has != u.SessionEpoch || has != born.Seq {
			t.Errorf("user %d has the epoch %d, the number is %d and the last epoch was %d: %+v, %v", i, has, born.Seq, epoch, u, err)
		}
		epoch = leaveAll(t, s, u.ID, has)
		if err := d.Execute(ctx, url, fmt.Sprintf(loosen, "'"+u.ID+"'")); err != nil {
			t.Fatal(err)
		}
	}
}

// leaveAll gives a user one record of each kind, and returns its new epoch. All but the
// revocation are the same for every user.
func leaveAll(t *testing.T, s Store, id string, epoch int64) int64 {
	t.Helper()
	now, ended := time.Now(), Ended(id)
	change := adapter.PersonUpdate{Blocked: &now, BlockedWhy: new("spam"), DeleteAfter: &now, SecondStep: new(true), RecoverAfter: &now}
	session := adapter.SessionRecord{ID: "s", SessionToken: "s", Digest: "s", UserID: id, Epoch: epoch, Expires: now.Add(time.Hour)}
	listed := adapter.SessionRecord{Digest: "listed", UserID: id, Epoch: epoch, Expires: now.Add(time.Hour)}
	_, linked := s.LinkAccount(t.Context(), adapter.Account{ID: "a", UserID: id, Type: "oauth", Provider: "p", ProviderAccountID: "a"}, epoch)
	_, first := s.CreateSession(t.Context(), session)
	_, second := s.CreateSession(t.Context(), listed)
	if err := errors.Join(linked, first, second, s.SetPerson(t.Context(), id, change, nil),
		s.PutCredential(t.Context(), adapter.Credential{Kind: adapter.CredentialUndo, ID: "c", UserID: id, Created: now}, epoch, 5),
		s.Revoke(t.Context(), ended)); err != nil {
		t.Fatal(err)
	}
	return ended.Seq
}

// KeepsOthers checks that what is done to a user affects no other user whose id differs
// only in case. In the application's schema, the ids of users are compared byte for byte,
// but the references of accounts and sessions to them loosely.
func KeepsOthers(t *testing.T, d *Database, schema string) {
	t.Parallel()
	s := d.Opened(t, d.With(t, schema), true)
	ctx := t.Context()
	if err := SignUp(ctx, s, "U"); err != nil {
		t.Fatal(err)
	}
	other := func(when string) {
		t.Helper()
		accounts, err := s.ListAccounts(ctx, "U")
		sessions, lost := s.ListSessions(ctx, "U")
		if err != nil || lost != nil || len(accounts) != 1 || len(sessions) != 1 {
			t.Errorf("%s: the other user has %v, %v; %v, %v", when, accounts, sessions, err, lost)
		}
		owner, err := s.GetUserByAccount(ctx, "p", "U")
		_, of, lost := s.GetSession(ctx, "U", "U")
		if err != nil || lost != nil || owner.ID != "U" || of.ID != "U" {
			t.Errorf("%s: the account is of %q, the session of %q; %v, %v", when, owner.ID, of.ID, err, lost)
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"sign-up", func() error {
			_, err := s.SignUp(ctx, adapter.User{ID: "u", Email: "new@example.com"}, nil, nil, "", Ended(""))
			return err
		}},
		{"end of sessions", func() error { _, err := s.EndSessions(ctx, "u", Ended("u")); return err }},
		{"deletion", func() error { return s.DeleteUser(ctx, "u", Ended("u")) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(step.name, err)
		}
		if list, err := s.ListAccounts(ctx, "u"); err != nil || len(list) > 0 {
			t.Errorf("%s: the user has the accounts %v, %v", step.name, list, err)
		}
		other(step.name)
	}
}
