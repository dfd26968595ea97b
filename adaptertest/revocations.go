package adaptertest

import (
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"authsvc/adapter"
)

func revocationTests() []test {
	return []test{
		{"Revoke/merge", revokeMerge},
		{"Revoke/several in one step", revokeSeveral},
		{"Revoke/concurrent", revokeRace},
		{"Revoke/merge in a compound step", revokeCompound},
		{"Revocations/pages", revocationsPages},
		{"Revocations/none is missed while others write", revocationsMissed},
	}
}

func revocation(key string, notBefore, expires int) *adapter.Revocation {
	return &adapter.Revocation{Key: key, NotBefore: at(notBefore), Expires: at(expires)}
}

// about returns a revocation of all sessions of a user.
func about(userID string) *adapter.Revocation {
	return &adapter.Revocation{Key: "user:" + userID, UserID: userID, NotBefore: at(1), Expires: at(1e6)}
}

// log reads everything written after a cursor, in pages.
func log(t *testing.T, a adapter.Adapter, after int64, page int) (all []adapter.Revocation) {
	t.Helper()
	for {
		list, next, err := a.Revocations(t.Context(), after, page)
		ok(t, err)
		all = append(all, list...)
		if next == after {
			return all
		}
		after = next
	}
}

func revocations(t *testing.T, a adapter.Adapter, after int64, want ...adapter.Revocation) {
	t.Helper()
	byKey := cmpopts.SortSlices(func(x, y adapter.Revocation) bool { return x.Key < y.Key })
	if diff := cmp.Diff(want, log(t, a, after, 10), byKey, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("revocations differ (-want +got):\n%s", diff)
	}
}

// revoked returns the keys of all revocations.
func revoked(t *testing.T, a adapter.Adapter) (keys []string) {
	t.Helper()
	for _, r := range log(t, a, 0, 10) {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return keys
}

func revokeMerge(t *testing.T, a adapter.Adapter) {
	last := int64(0)
	for _, step := range []struct{ write, stored *adapter.Revocation }{
		{revocation("k", 10, 100), revocation("k", 10, 100)},
		{revocation("k", 5, 200), revocation("k", 10, 200)},  // the later of both times
		{revocation("k", 20, 150), revocation("k", 20, 200)}, //
		{revocation("k", 20, 200), revocation("k", 20, 200)}, // unchanged
		{revocation("k", 1, 1), revocation("k", 20, 200)},    // a replica whose clock is behind
		{revocation("K", 30, 300), revocation("K", 30, 300)}, // another key
		{revocation("k ", 40, 400), revocation("k ", 40, 400)},
	} {
		ok(t, a.Revoke(t.Context(), step.write))
		if step.write.Seq <= last || step.write.Seq < step.write.NotBefore.UnixMicro() {
			t.Fatalf("Seq %d after %d", step.write.Seq, last)
		}
		last, step.stored.Seq = step.write.Seq, step.write.Seq
		revocations(t, a, last-1, *step.stored)
	}
	same(t, revoked(t, a), []string{"K", "k", "k "})
}

func revokeSeveral(t *testing.T, a adapter.Adapter) {
	one, two := revocation("one", 0, 100), revocation("two", 1, 200)
	ok(t, a.Revoke(t.Context(), one, two))
	if one.Seq < 1 || two.Seq <= one.Seq {
		t.Fatalf("Seq %d and %d", one.Seq, two.Seq)
	}
	revocations(t, a, 0, *one, *two)
	ok(t, a.Revoke(t.Context()))
}

func revokeRace(t *testing.T, a adapter.Adapter) {
	errs := race(workers, func(i int) error { return a.Revoke(t.Context(), revocation("k", i, 1000-i)) })
	nWin(t, errs, workers, nil)
	list := log(t, a, 0, 10)
	same(t, len(list), 1)
	list[0].Seq = 0
	same(t, list[0], *revocation("k", workers-1, 1000))
}

func revokeCompound(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	first := revocation("k", 10, 100)
	ok(t, a.Revoke(t.Context(), first))
	second := revocation("k", 5, 200)
	second.UserID = ann.user.ID
	_, err := a.EndSessions(t.Context(), ann.user.ID, second)
	ok(t, err)
	revocations(t, a, 0, adapter.Revocation{Key: "k", UserID: ann.user.ID, Seq: second.Seq, NotBefore: at(10), Expires: at(200)})
	third := revocation("k", 20, 50)
	third.UserID = ann.user.ID
	_, _, err = a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email, Epoch: second.Seq, At: at(0), Revoke: third})
	ok(t, err)
	revocations(t, a, 0, adapter.Revocation{Key: "k", UserID: ann.user.ID, Seq: third.Seq, NotBefore: at(20), Expires: at(200)})
	if first.Seq >= second.Seq || second.Seq >= third.Seq {
		t.Fatalf("Seq %d, %d, %d", first.Seq, second.Seq, third.Seq)
	}
}

func revocationsPages(t *testing.T, a adapter.Adapter) {
	revocations(t, a, 0)
	var want []adapter.Revocation
	for i := range 25 {
		r := revocation(numbered("k", i), i, 100)
		ok(t, a.Revoke(t.Context(), r))
		want = append(want, *r)
	}
	for _, page := range []int{1, 7, 25, 1000} {
		same(t, log(t, a, 0, page), want)
	}
	same(t, log(t, a, want[9].Seq, 4), want[10:])
	again := revocation("k-03", 0, 100) // a record written again is returned again
	ok(t, a.Revoke(t.Context(), again))
	list := log(t, a, want[24].Seq, 10)
	same(t, len(list), 1)
	same(t, list[0].Key, "k-03")
	same(t, len(log(t, a, 0, 3)), 25)
}

// revocationsMissed checks that a reader that continues from its cursor gets every
// record, however the writes overlap.
func revocationsMissed(t *testing.T, a adapter.Adapter) {
	const each = 20
	heard := map[string]bool{}
	var writing atomic.Int32
	writing.Store(workers / 4)
	done := make(chan error, 1)
	go func() {
		done <- firstOf(race(workers/4, func(i int) error {
			defer writing.Add(-1)
			for n := range each {
				if err := a.Revoke(t.Context(), revocation("r-"+strconv.Itoa(i)+"-"+strconv.Itoa(n), 0, 100)); err != nil {
					return err
				}
			}
			return nil
		}))
	}()
	after := int64(0)
	for last := false; ; {
		ended := writing.Load() == 0
		list, next, err := a.Revocations(t.Context(), after, 7)
		ok(t, err)
		for _, r := range list {
			heard[r.Key] = true
		}
		if next == after && ended {
			if last {
				break
			}
			last = true
		}
		after = next
	}
	ok(t, <-done)
	same(t, len(heard), workers/4*each)
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
