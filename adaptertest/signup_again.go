package adaptertest

import (
	"testing"

	"authsvc/adapter"
	"authsvc/internal/seal"
)

// newUserSteps are the steps that store a new user.
var newUserSteps = []struct {
	name string
	run  func(t *testing.T, a adapter.Adapter, u adapter.User, r *adapter.Revocation) (fixture, error)
}{
	{"SignUp", func(t *testing.T, a adapter.Adapter, u adapter.User, r *adapter.Revocation) (k fixture, err error) {
		k = fixture{account: account("ann"), session: session("ann")}
		k.user, err = a.SignUp(t.Context(), u, &k.account, &k.session, "", r)
		return k, err
	}},
	{"SignUp alone", func(t *testing.T, a adapter.Adapter, u adapter.User, r *adapter.Revocation) (k fixture, err error) {
		k.user, err = a.SignUp(t.Context(), u, nil, nil, "de", r)
		return k, err
	}},
	{"CreateUser", func(t *testing.T, a adapter.Adapter, u adapter.User, r *adapter.Revocation) (k fixture, err error) {
		k.user, err = a.CreateUser(t.Context(), u, r)
		return k, err
	}},
}

// signUpAgain stores users one after another, proposes the same id for each, and deletes
// each. If the store gives an id again, the step that stores the new user must end all
// earlier sessions of the id, but not the new user's first session, nor those of others.
func signUpAgain(t *testing.T, a adapter.Adapter) {
	bob := signUp(t, a, "bob")
	had := map[string]bool{bob.user.ID: true}
	var seq int64
	for i := range 9 {
		step, begun := newUserSteps[i%3], at(2+i)
		r := &adapter.Revocation{NotBefore: begun, Expires: at(1e6)}
		ann, err := step.run(t, a, adapter.User{ID: "user-ann", Email: "ann@example.com"}, r)
		ok(t, err)
		id := ann.user.ID
		if r.Seq == 0 {
			if had[id] {
				t.Fatalf("%s: the id %s is that of an earlier user, whose sessions do not end", step.name, id)
			}
			checkUncovered(t, a, ann.user, r)
		} else {
			want := about(id)
			want.NotBefore, want.Seq = begun, r.Seq
			same(t, r, want)
			revocations(t, a, seq, *r)
		}
		had[id] = true
		same(t, []int64{ann.user.Epoch, ann.user.SessionEpoch}, []int64{r.Seq, r.Seq})
		got, err := a.GetUser(t.Context(), id)
		ok(t, err)
		same(t, got, ann.user)
		if ann.session.Digest != "" {
			checkUnchanged(t, a, ann)
		}
		late := session("late")
		late.UserID, late.Epoch = id, ann.user.Epoch
		ok(t, second(a.CreateSession(t.Context(), late)))
		ended := about(id)
		ok(t, a.DeleteUser(t.Context(), id, ended))
		seq = ended.Seq
	}
	checkUnchanged(t, a, bob)
	epoch, sessions := epochsOf(t, a, bob)
	same(t, epoch+sessions, 0)
}

// checkUncovered checks that the step that stored a user did not write r.
func checkUncovered(t *testing.T, a adapter.Adapter, u adapter.User, r *adapter.Revocation) {
	t.Helper()
	same(t, *r, adapter.Revocation{NotBefore: r.NotBefore, Expires: r.Expires})
	for _, one := range log(t, a, 0, 10) {
		if one.UserID == u.ID {
			t.Errorf("there is a revocation of the new user %s: %+v", u.ID, one)
		}
	}
}

// signUpUUID checks that the sign-up of a user with a UUID writes no revocation, since no
// earlier user had that id.
func signUpUUID(t *testing.T, a adapter.Adapter) {
	for _, step := range newUserSteps {
		r, id := &adapter.Revocation{NotBefore: at(0), Expires: at(1e6)}, seal.UUIDv7()
		ann, err := step.run(t, a, adapter.User{ID: id, Email: "ann@example.com"}, r)
		ok(t, err)
		if ann.user.ID == id {
			checkUncovered(t, a, ann.user, r)
			same(t, ann.user.Epoch, 0)
		}
		ok(t, a.DeleteUser(t.Context(), ann.user.ID, about(ann.user.ID)))
	}
}

// signUpAgainConflict checks that a refused sign-up ends no sessions.
func signUpAgainConflict(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	for _, u := range []adapter.User{{ID: "user-new", Email: ann.user.Email}, {ID: "user-new"}} {
		acc, s := account("ann"), session("new")
		_, err := a.SignUp(t.Context(), u, &acc, &s, "", &adapter.Revocation{NotBefore: at(0), Expires: at(1e6)})
		is(t, err, adapter.ErrConflict)
	}
	_, err := a.CreateUser(t.Context(), adapter.User{ID: "user-new", Email: ann.user.Email}, &adapter.Revocation{NotBefore: at(0), Expires: at(1e6)})
	is(t, err, adapter.ErrConflict)
	revocations(t, a, 0)
	checkUnchanged(t, a, ann)
}
