package adaptertest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"authsvc/adapter"
)

func credentialTests() []test {
	return []test{
		{"Credential/every field", credentialEveryField},
		{"Credential/unique, and as many as may be", credentialLimit},
		{"Credential/concurrent put", credentialPutRace},
		{"Credential/update by version", credentialUpdate},
		{"Credential/concurrent tries", credentialTries},
		{"Credential/delete", credentialDelete},
		{"Credential/delete of a kind", credentialDeleteKinds},
		{"Credential/first proof leaves the pending sign-in", credentialProof},
		{"Credential/end of sessions ends pending sign-ins", credentialEnd},
		{"Credential/text byte for byte", credentialExact},
		{"Credential/concurrent first proof", credentialProofRace},
		{"Credential/concurrent block", credentialBlockRace},
		{"Personal token/as many as may be", personalMost},
		{"Personal token/use after revocation", personalUsed},
		{"Personal token/outlives sessions, not its end", personalTokenStays},
	}
}

// credential returns a credential with every field set.
func credential(kind adapter.CredentialKind, id, userID string) adapter.Credential {
	return adapter.Credential{Kind: kind, ID: id, UserID: userID, Name: "name of " + id, Data: []byte(id), Version: 1,
		Created: at(-10), Used: at(-5), Expires: at(600)}
}

func putCredential(t *testing.T, a adapter.Adapter, kind adapter.CredentialKind, id, userID string, epoch int64) adapter.Credential {
	t.Helper()
	c := credential(kind, id, userID)
	ok(t, a.PutCredential(t.Context(), c, epoch, 100))
	return c
}

func credentialEveryField(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	full := credential("passkey", "b", ann.ID)
	full.Data, full.Tries = bytes.Repeat([]byte{0, 0xff, '\'', 'x'}, 16<<10), 3
	bare := adapter.Credential{Kind: "passkey", ID: "a", UserID: ann.ID, Version: 1, Created: at(0)}
	other := credential("totp", "b", ann.ID) // the same id, another kind
	his := credential("passkey", "c", bob.ID)
	for _, c := range []adapter.Credential{full, bare, other, his} {
		given := c
		given.Version, given.Created = 7, c.Created.Add(999_999)
		ok(t, a.PutCredential(t.Context(), given, 0, 2))
		got, err := a.GetCredential(t.Context(), c.Kind, c.ID)
		ok(t, err)
		same(t, got, c)
	}
	person(t, a, adapter.Person{UserID: ann.ID, Credentials: []adapter.Credential{bare, full, other}})
	large := credential("passkey", "d", bob.ID)
	large.Data = make([]byte, 64<<10+1)
	failed(t, a.PutCredential(t.Context(), large, 0, 10))
	person(t, a, adapter.Person{UserID: bob.ID, Credentials: []adapter.Credential{his}})
}

func credentialLimit(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	first := putCredential(t, a, "totp", "1", ann.ID, 0)
	is(t, a.PutCredential(t.Context(), credential("totp", "1", bob.ID), 0, 10), adapter.ErrConflict)
	is(t, a.PutCredential(t.Context(), credential("totp", "2", ann.ID), 0, 1), adapter.ErrTooMany)
	is(t, a.PutCredential(t.Context(), credential("totp", "2", ann.ID), 1, 2), adapter.ErrStale)
	ok(t, a.PutCredential(t.Context(), credential("totp", "2", ann.ID), 0, 2))
	is(t, a.PutCredential(t.Context(), credential("totp", "3", ann.ID), 0, 2), adapter.ErrTooMany)
	ok(t, a.PutCredential(t.Context(), credential("recovery", "3", ann.ID), 0, 1))
	ok(t, a.PutCredential(t.Context(), credential("totp", "3", bob.ID), 0, 1))
	got, err := a.GetCredential(t.Context(), "totp", "1")
	ok(t, err)
	same(t, got, first)
	ok(t, a.DeleteCredential(t.Context(), "totp", "1", ann.ID, nil)) // makes room
	ok(t, a.PutCredential(t.Context(), credential("totp", "4", ann.ID), 0, 2))
}

func credentialPutRace(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	nWin(t, race(workers, func(i int) error {
		return a.PutCredential(t.Context(), credential("device", numbered("d", i), ann.ID), 0, 5)
	}), 5, adapter.ErrTooMany)
	oneWins(t, race(workers, func(int) error {
		return a.PutCredential(t.Context(), credential("totp", "same", ann.ID), 0, workers)
	}), adapter.ErrConflict)
}

func credentialUpdate(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	want := putCredential(t, a, "totp", "c", ann.ID, 0)
	change := adapter.Credential{Kind: "totp", ID: "c", UserID: ann.ID, Name: "new", Data: []byte{0, 1}, Version: 1, Tries: 2, Used: at(7), Created: at(99)}
	stolen := change
	stolen.UserID = bob.ID
	is(t, a.UpdateCredential(t.Context(), stolen), adapter.ErrNotFound)
	ok(t, a.UpdateCredential(t.Context(), change))
	want.Name, want.Data, want.Version, want.Tries, want.Used, want.Expires = "new", []byte{0, 1}, 2, 2, at(7), time.Time{}
	got, err := a.GetCredential(t.Context(), "totp", "c")
	ok(t, err)
	same(t, got, want)
	is(t, a.UpdateCredential(t.Context(), change), adapter.ErrStale)
	change.Version = 2
	oneWins(t, race(workers, func(int) error { return a.UpdateCredential(t.Context(), change) }), adapter.ErrStale)
	change.Version, change.Data = 3, make([]byte, 64<<10+1)
	failed(t, a.UpdateCredential(t.Context(), change))
}

func credentialTries(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	c := putCredential(t, a, "pending", "c", ann.ID, 0)
	nWin(t, race(workers, func(int) error { return a.TryCredential(t.Context(), "pending", "c", 5) }), 5, adapter.ErrConflict)
	got, err := a.GetCredential(t.Context(), "pending", "c")
	ok(t, err)
	same(t, got.Tries, 5)
	is(t, a.UpdateCredential(t.Context(), c), adapter.ErrStale) // it would restore the tries
	is(t, a.TryCredential(t.Context(), "totp", "c", 5), adapter.ErrNotFound)
}

func credentialDelete(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	putCredential(t, a, "passkey", "c", ann.ID, 0)
	kept := putCredential(t, a, "totp", "c", ann.ID, 0)
	is(t, a.DeleteCredential(t.Context(), "passkey", "c", bob.ID, about(bob.ID)), adapter.ErrNotFound)
	revocations(t, a, 0)
	oneWins(t, race(workers, func(int) error {
		r := revocation("credential:"+ann.ID, 1, 1e6)
		r.UserID = ann.ID
		return a.DeleteCredential(t.Context(), "passkey", "c", ann.ID, r)
	}), adapter.ErrNotFound)
	same(t, revoked(t, a), []string{"credential:" + ann.ID})
	person(t, a, adapter.Person{UserID: ann.ID, Credentials: []adapter.Credential{kept}})
	// A sign-in with the removed credential is stale.
	s := session("late")
	s.UserID = ann.ID
	is(t, second(a.CreateSession(t.Context(), s)), adapter.ErrStale)
	is(t, a.PutCredential(t.Context(), credential("totp", "d", ann.ID), 0, 10), adapter.ErrStale)
	ok(t, a.DeleteCredential(t.Context(), "totp", "c", ann.ID, nil))
}

func credentialDeleteKinds(t *testing.T, a adapter.Adapter) {
	ann, bob := newUser(t, a, "ann"), newUser(t, a, "bob")
	for _, kind := range []adapter.CredentialKind{"device", "pending", "totp"} {
		putCredential(t, a, kind, "ann", ann.ID, 0)
	}
	his := putCredential(t, a, "device", "bob", bob.ID, 0)
	n, err := a.DeleteCredentials(t.Context(), ann.ID, nil, "device", "pending", "undo")
	ok(t, err)
	same(t, n, 2)
	revocations(t, a, 0)
	rev := revocation("credential:"+ann.ID, 1, 1e6)
	rev.UserID = ann.ID
	n, err = a.DeleteCredentials(t.Context(), ann.ID, rev)
	ok(t, err)
	same(t, n, 0)
	n, err = a.DeleteCredentials(t.Context(), ann.ID, rev, "totp")
	ok(t, err)
	same(t, n, 1)
	u, err := a.GetUser(t.Context(), ann.ID)
	ok(t, err)
	same(t, u.Epoch, rev.Seq)
	person(t, a, adapter.Person{UserID: ann.ID})
	person(t, a, adapter.Person{UserID: bob.ID, Credentials: []adapter.Credential{his}})
}

func credentialProof(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	ok(t, a.SetPerson(t.Context(), ann.ID, adapter.PersonUpdate{SecondStep: ptr(true), Locale: ptr("de")}, nil))
	mine := putCredential(t, a, "pending", "mine", ann.ID, 0)
	putCredential(t, a, "pending", "planted", ann.ID, 0)
	putCredential(t, a, "passkey", "mine", ann.ID, 0)
	for _, kind := range []adapter.CredentialKind{"password", "totp", "recovery", "device", "address", "personal_token"} {
		putCredential(t, a, kind, "c", ann.ID, 0)
	}
	keep := adapter.Proof{UserID: ann.ID, Email: ann.Email, At: at(1), Keep: true}
	stale := adapter.Proof{UserID: ann.ID, Email: ann.Email, At: at(1), Epoch: 7, Revoke: about(ann.ID)}
	_, _, err := a.ProveEmail(t.Context(), stale)
	is(t, err, adapter.ErrStale)
	p, err := a.GetPerson(t.Context(), ann.ID)
	ok(t, err)
	same(t, len(p.Credentials), 9)
	_, _, err = a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.ID, Email: ann.Email, At: at(1), Pending: "mine", Revoke: about(ann.ID)})
	ok(t, err)
	person(t, a, adapter.Person{UserID: ann.ID, Locale: "de", Credentials: []adapter.Credential{mine}})

	bob := newUser(t, a, "bob")
	his := putCredential(t, a, "passkey", "bob", bob.ID, 0)
	keep.UserID, keep.Email = bob.ID, bob.Email
	_, _, err = a.ProveEmail(t.Context(), keep)
	ok(t, err)
	person(t, a, adapter.Person{UserID: bob.ID, Credentials: []adapter.Credential{his}})
}

func credentialEnd(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	putCredential(t, a, "pending", "c", ann.ID, 0)
	kept := putCredential(t, a, "passkey", "c", ann.ID, 0)
	n, err := a.EndSessions(t.Context(), ann.ID, about(ann.ID))
	ok(t, err)
	same(t, n, 0)
	person(t, a, adapter.Person{UserID: ann.ID, Credentials: []adapter.Credential{kept}})
}

func credentialExact(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	for i, text := range append(lookalikes(), injections()...) {
		if len(text) > 64 {
			continue
		}
		c := credential("totp", text, ann.ID)
		c.Name, c.Data = text, []byte(text)
		err := a.PutCredential(t.Context(), c, 0, 1000)
		if errors.Is(err, adapter.ErrConflict) && i >= len(lookalikes()) { // the text is in both lists
			continue
		}
		ok(t, err)
		got, err := a.GetCredential(t.Context(), "totp", text)
		ok(t, err)
		same(t, got, c)
	}
}

// credentialProofRace checks that every credential stored during the first proof of the
// address was removed or refused.
func credentialProofRace(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	race(workers, func(i int) error {
		if i == workers/2 {
			_, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.ID, Email: ann.Email, At: at(1), Revoke: about(ann.ID)})
			ok(t, err)
			return nil
		}
		err := a.PutCredential(t.Context(), credential("personal_token", numbered("c", i), ann.ID), 0, 1000)
		if err != nil && !errors.Is(err, adapter.ErrStale) {
			t.Error(err)
		}
		return err
	})
	person(t, a, adapter.Person{UserID: ann.ID})
}

// credentialBlockRace checks that no sign-in that overlaps a block survives.
func credentialBlockRace(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	errs := race(workers, func(i int) error {
		if i == workers/2 {
			if err := a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{Blocked: ptr(at(1))}, about(ann.user.ID)); err != nil {
				return err
			}
			_, err := a.EndSessions(t.Context(), ann.user.ID, about(ann.user.ID))
			return err
		}
		for {
			u, err := a.GetUser(t.Context(), ann.user.ID)
			if err != nil || !u.Blocked.IsZero() {
				return err
			}
			s := session(numbered("racer", i))
			s.UserID, s.Epoch = u.ID, u.Epoch
			if i%2 == 1 {
				s.SessionToken = ""
			}
			if _, err = a.CreateSession(t.Context(), s); !errors.Is(err, adapter.ErrStale) {
				return err
			}
		}
	})
	nWin(t, errs, workers, nil)
	left(t, a, ann.user.ID, []string{ann.account.ProviderAccountID}, nil)
}
