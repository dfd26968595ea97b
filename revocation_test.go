package authsvc

import (
	"testing"
	"time"
)

// TestRevocationOrder: within one millisecond, what began before a revocation
// is covered and what began after it is not.
func TestRevocationOrder(t *testing.T) {
	t.Parallel()
	v := &revocations{records: map[string]Revocation{}, poll: true, read: time.Now()}
	at := func(micro int) time.Time { return time.UnixMicro(1_800_000_000_000_000 + int64(micro)) }
	covered := func(start time.Time) bool {
		gone, err := v.covers(&sessionClaims{Subject: "u", SID: "s", AuthTime: float64(start.UnixMilli()) / 1000}, v.read)
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	var before []time.Time
	for i := range 50 { // sign in, revoke, sign in again, all in one millisecond
		start := v.begin(at(i * 3))
		v.apply(Revocation{Key: "user:u", NotBefore: v.revoke(at(i*3 + 1)), Expires: v.read.Add(time.Hour)})
		before = append(before, start)
		for _, b := range before {
			if !covered(b) {
				t.Fatalf("round %d: a session from before the revocation lives on", i)
			}
		}
		if again := v.begin(at(i*3 + 2)); covered(again) {
			t.Fatalf("round %d: a session from after the revocation is refused", i)
		} else {
			before = append(before, again)
		}
	}
	// A sign-in that was under way when the revocation came is covered by it.
	started := at(1000)
	v.apply(Revocation{Key: "user:u", NotBefore: v.revoke(at(5000)), Expires: v.read.Add(time.Hour)})
	if !covered(v.begin(started)) {
		t.Error("a sign-in from before the revocation ends after it and lives on")
	}
}
