package engine

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/seal/tokenclaims"
	"authsvc/internal/test/quiet"
)

func claimsOf(subject, sid string, epoch int64) *tokenclaims.Claims {
	return &tokenclaims.Claims{Subject: subject, SID: sid, Epoch: &epoch, Provider: "op", Began: 2_000_000_000}
}

// TestRevocationsCompareEpochs: numbers decide what covers a token, whatever the clocks
// say. Times count only for tokens without a number.
func TestRevocationsCompareEpochs(t *testing.T) {
	t.Parallel()
	v := newRevocations(false)
	v.enabled, v.read = true, time.Now()
	later := time.Now().Add(time.Hour)
	v.apply(
		adapter.Revocation{Key: keyUser + "ann", Seq: 10, NotBefore: time.Unix(1_000_000_000, 0), Expires: later}, // a slow clock
		adapter.Revocation{Key: revokedBy("op", "bob"), Seq: 10, NotBefore: time.Unix(3_000_000_000, 0), Expires: later},
		adapter.Revocation{Key: keySession + "ended", Seq: 3, Expires: later},
		adapter.Revocation{Key: keyForeign + "carl", Seq: 11, NotBefore: time.Unix(1_500_000_000, 0), Expires: later},
		adapter.Revocation{Key: keyAccount + "ann", Seq: 20, NotBefore: time.Unix(3_000_000_000, 0), Expires: later},
	)
	foreign := func(subject string, began float64) *tokenclaims.Claims {
		return &tokenclaims.Claims{Subject: subject, Began: began}
	}
	other := claimsOf("bob", "s", 9)
	other.Provider = "another"
	for name, c := range map[string]struct {
		claims *tokenclaims.Claims
		want   bool
	}{
		"before":                         {claimsOf("ann", "s", 9), true},
		"after":                          {claimsOf("ann", "s", 10), false},
		"long after":                     {claimsOf("ann", "s", 99), false},
		"another user":                   {claimsOf("dora", "s", 0), false},
		"by the provider":                {claimsOf("bob", "s", 9), true},
		"by the provider, after":         {claimsOf("bob", "s", 10), false},
		"by another provider":            {other, false},
		"its own sid":                    {claimsOf("dora", "ended", 99), true},
		"another program's, before":      {foreign("carl", 1_400_000_000), true},
		"another program's, in that ms":  {foreign("carl", 1_500_000_000), true},
		"another program's, after":       {foreign("carl", 1_500_000_001), false},
		"ours, another program's cutoff": {claimsOf("carl", "s", 0), false},
	} {
		if got, err := v.covers(c.claims); err != nil || got != c.want {
			t.Errorf("%s: covered %v, %v", name, got, err)
		}
	}
}

// TestRevocationsForget: expired records are dropped, and prolonged ones stay.
func TestRevocationsForget(t *testing.T) {
	t.Parallel()
	v := newRevocations(false)
	v.enabled = true
	at := func(s int64) time.Time { return time.Unix(2_000_000_000+s, 0) }
	for i := range int64(10_000) {
		v.apply(adapter.Revocation{Key: keySession + strconv.FormatInt(i, 10), Expires: at(i)})
	}
	v.apply(adapter.Revocation{Key: keySession + "5", Expires: at(20_000)}, adapter.Revocation{Key: keyUser + "ann", Seq: 1, Expires: at(10)},
		adapter.Revocation{Key: keyUser + "ann", Seq: 2, Expires: at(20_000)})
	v.forget(uint32(at(5000).Unix()))
	if n := len(v.sessions); n != 5001+1 {
		t.Errorf("%d sessions are left", n)
	}
	if _, there := v.sessions[v.hash(keySession, "5")]; !there || len(v.cutoffs) != 1 {
		t.Errorf("the extended session is gone; %d cutoffs", len(v.cutoffs))
	}
	v.forget(uint32(at(30_000).Unix()))
	if len(v.sessions)+len(v.cutoffs)+len(v.ends[0].chunks)+len(v.ends[1].chunks) > 2 {
		t.Errorf("%d sessions, %d cutoffs, %v are left", len(v.sessions), len(v.cutoffs), v.ends)
	}
}

// TestRevocationsMemory: a record of an ended session takes at most 64 bytes.
func TestRevocationsMemory(t *testing.T) {
	const n = 1_000_000
	v := newRevocations(false)
	v.enabled = true
	expires := time.Now().Add(time.Hour)
	before := heap()
	list := make([]adapter.Revocation, 5000)
	for i := 0; i < n; {
		for k := range list {
			list[k] = adapter.Revocation{Key: keySession + strconv.Itoa(i), Seq: int64(i), Expires: expires}
			i++
		}
		v.apply(list...)
	}
	clear(list)
	if each := (heap() - before) / n; quiet.Full && each > 64 {
		t.Errorf("%d bytes a record", each)
	}
	runtime.KeepAlive(v)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
