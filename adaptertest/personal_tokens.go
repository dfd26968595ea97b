package adaptertest

import (
	"errors"
	"testing"
	"time"

	"authsvc/adapter"
)

// personalMost checks that, when callers create a user's last personal tokens
// concurrently, exactly as many succeed as the limit allows.
func personalMost(t *testing.T, a adapter.Adapter) {
	const most = 100
	ann := newUser(t, a, "ann")
	for i := range most - 3 {
		ok(t, a.PutCredential(t.Context(), credential(adapter.CredentialToken, numbered("token", i), ann.ID), 0, most))
	}
	nWin(t, race(workers, func(i int) error {
		return a.PutCredential(t.Context(), credential(adapter.CredentialToken, numbered("late", i), ann.ID), 0, most)
	}), 3, adapter.ErrTooMany)
	p, err := a.GetPerson(t.Context(), ann.ID)
	ok(t, err)
	same(t, len(p.Credentials), most)
	n, err := a.DeleteCredentials(t.Context(), ann.ID, nil, adapter.CredentialToken)
	ok(t, err)
	same(t, n, most)
	ok(t, a.PutCredential(t.Context(), credential(adapter.CredentialToken, "again", ann.ID), 0, most))
}

// personalUsed checks that a late record of a token's use does not restore a revoked
// token.
func personalUsed(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	c := putCredential(t, a, adapter.CredentialToken, "c", ann.ID, 0)
	c.Used = at(60)
	race(workers, func(i int) error {
		if i == workers/2 {
			ok(t, a.DeleteCredential(t.Context(), c.Kind, c.ID, ann.ID, nil))
			return nil
		}
		err := a.UpdateCredential(t.Context(), c)
		if err != nil && !errors.Is(err, adapter.ErrStale) && !errors.Is(err, adapter.ErrNotFound) {
			t.Error(err)
		}
		return err
	})
	is(t, a.UpdateCredential(t.Context(), c), adapter.ErrNotFound)
	_, err := a.GetCredential(t.Context(), c.Kind, c.ID)
	is(t, err, adapter.ErrNotFound)
	person(t, a, adapter.Person{UserID: ann.ID})
}

// personalTokenStays checks that a token remains when sessions end and while the user is
// blocked, which the engine must check, and is removed once it has expired.
func personalTokenStays(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	c := putCredential(t, a, adapter.CredentialToken, "c", ann.ID, 0)
	_, err := a.EndSessions(t.Context(), ann.ID, about(ann.ID))
	ok(t, err)
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{Blocked: ptr(at(1))}, about(ann.ID)))
	got, err := a.GetCredential(t.Context(), c.Kind, c.ID)
	ok(t, err)
	same(t, got, c)
	_, err = a.Sweep(t.Context(), c.Expires.Add(-time.Millisecond), 100)
	ok(t, err)
	_, err = a.GetCredential(t.Context(), c.Kind, c.ID)
	ok(t, err)
	_, err = a.Sweep(t.Context(), c.Expires.Add(time.Second), 100)
	ok(t, err)
	_, err = a.GetCredential(t.Context(), c.Kind, c.ID)
	is(t, err, adapter.ErrNotFound)
}
