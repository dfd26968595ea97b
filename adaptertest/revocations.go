package adaptertest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"authsvc"
)

func revocationTests() []test {
	return []test{
		{"Revoke/merge", revokeMerge},
		{"Revoke/concurrent", revokeRace},
		{"Revoke/merge in a compound step", revokeCompound},
		{"Revocations/since", revocationsSince},
	}
}

func revocation(key string, notBefore, written, expires int) authsvc.Revocation {
	return authsvc.Revocation{Key: key, NotBefore: at(notBefore), Written: at(written), Expires: at(expires)}
}

func revocations(t *testing.T, a authsvc.Adapter, since time.Time, want ...authsvc.Revocation) {
	t.Helper()
	got, err := a.Revocations(t.Context(), since)
	ok(t, err)
	byKey := cmpopts.SortSlices(func(x, y authsvc.Revocation) bool { return x.Key < y.Key })
	if diff := cmp.Diff(want, got, byKey, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("revocations differ (-want +got):\n%s", diff)
	}
}

func revokeMerge(t *testing.T, a authsvc.Adapter) {
	for _, step := range []struct{ write, stored authsvc.Revocation }{
		{revocation("k", 10, 1, 100), revocation("k", 10, 1, 100)},
		{revocation("k", 5, 2, 200), revocation("k", 10, 2, 200)},    // the later of both
		{revocation("k", 20, 3, 150), revocation("k", 20, 3, 200)},   //
		{revocation("k", 20, 3, 200), revocation("k", 20, 3, 200)},   // the same again
		{revocation("k", 1, 1, 1), revocation("k", 20, 1, 200)},      // a replica whose clock is behind
		{revocation("K", 30, 1, 300), revocation("K", 30, 1, 300)},   // another key
		{revocation("k ", 40, 1, 400), revocation("k ", 40, 1, 400)}, // and another
	} {
		ok(t, a.Revoke(t.Context(), step.write))
		all, err := a.Revocations(t.Context(), time.Time{})
		ok(t, err)
		for _, r := range all {
			if r.Key == step.write.Key {
				same(t, r, step.stored)
			}
		}
	}
	revocations(t, a, at(0), revocation("k", 20, 1, 200), revocation("K", 30, 1, 300), revocation("k ", 40, 1, 400))
}

func revokeRace(t *testing.T, a authsvc.Adapter) {
	errs := race(workers, func(i int) error { return a.Revoke(t.Context(), revocation("k", i, 5, 1000-i)) })
	nWin(t, errs, workers, nil)
	revocations(t, a, at(0), revocation("k", workers-1, 5, 1000))
}

func revokeCompound(t *testing.T, a authsvc.Adapter) {
	ann := signUp(t, a, "ann")
	ok(t, a.Revoke(t.Context(), revocation("k", 10, 1, 100)))
	later := revocation("k", 5, 2, 200)
	_, err := a.EndSessions(t.Context(), ann.user.ID, &later)
	ok(t, err)
	revocations(t, a, at(0), revocation("k", 10, 2, 200))
	later = revocation("k", 20, 3, 50)
	_, _, err = a.ProveEmail(t.Context(), authsvc.Proof{UserID: ann.user.ID, Email: ann.user.Email, At: at(0), Revoke: &later})
	ok(t, err)
	revocations(t, a, at(0), revocation("k", 20, 3, 200))
}

func revocationsSince(t *testing.T, a authsvc.Adapter) {
	revocations(t, a, at(0))
	one, two := revocation("one", 0, 1, 100), revocation("two", 0, 2, 100)
	two.NotBefore, two.Written, two.Expires = two.NotBefore.Add(999), two.Written.Add(999), two.Expires.Add(999)
	ok(t, a.Revoke(t.Context(), one))
	ok(t, a.Revoke(t.Context(), two))
	two = revocation("two", 0, 2, 100) // stored with milliseconds
	revocations(t, a, at(0), one, two)
	revocations(t, a, at(1), one, two) // inclusive
	revocations(t, a, at(1).Add(time.Millisecond), two)
	revocations(t, a, at(2), two)
	revocations(t, a, at(3))
}
