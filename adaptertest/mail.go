package adaptertest

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
)

func mailTests() []test {
	return []test{
		{"Mail/every field", mailEveryField},
		{"Mail/longest due first", mailOrder},
		{"Mail/not before it is due", mailDue},
		{"Mail/delay", mailDelay},
		{"Mail/delete", mailDelete},
		{"Mail/concurrent claim", mailRace},
	}
}

// putMail stores a mail and a token for it.
func putMail(t *testing.T, a adapter.Adapter, m adapter.Mail) {
	t.Helper()
	ok(t, a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: m.ID, Expires: at(600)}, m, 1000))
}

func mailEveryField(t *testing.T, a adapter.Adapter) {
	want := adapter.Mail{ID: "m", Payload: bytes.Repeat([]byte{0, 0xff, '\'', 'x'}, 100), Due: at(0).Add(999), Expires: at(60).Add(999), Attempts: 1}
	payload := bytes.Clone(want.Payload)
	putMail(t, a, want)
	clear(want.Payload) // the store has its own copy
	for attempt := 1; attempt <= 3; attempt++ {
		got, err := a.ClaimMail(t.Context(), at(attempt), at(attempt+1).Add(999))
		ok(t, err)
		same(t, got, adapter.Mail{ID: "m", Payload: payload, Due: at(attempt + 1), Expires: at(60), Attempts: 1 + attempt})
		if got.Due.Location() != time.UTC || got.Expires.Location() != time.UTC {
			t.Error("time is not in UTC")
		}
		clear(got.Payload) // and so does the caller
	}
}

func mailOrder(t *testing.T, a adapter.Adapter) {
	for id, due := range map[string]int{"third": 3, "first": 1, "fourth": 4, "second": 2} {
		putMail(t, a, adapter.Mail{ID: id, Due: at(due), Expires: at(60)})
	}
	var order []string
	for range 4 {
		m, err := a.ClaimMail(t.Context(), at(10), at(20))
		ok(t, err)
		order = append(order, m.ID)
	}
	same(t, order, []string{"first", "second", "third", "fourth"})
}

func mailDue(t *testing.T, a adapter.Adapter) {
	_, err := a.ClaimMail(t.Context(), at(0), at(1))
	is(t, err, adapter.ErrNotFound)
	putMail(t, a, adapter.Mail{ID: "m", Due: at(5), Expires: at(1)}) // the engine checks the expiry
	_, err = a.ClaimMail(t.Context(), at(5).Add(-time.Millisecond), at(9))
	is(t, err, adapter.ErrNotFound)
	_, err = a.ClaimMail(t.Context(), at(5), at(9))
	ok(t, err)
	_, err = a.ClaimMail(t.Context(), at(9).Add(-time.Millisecond), at(20))
	is(t, err, adapter.ErrNotFound)
	_, err = a.ClaimMail(t.Context(), at(9), at(20))
	ok(t, err)
}

func mailDelay(t *testing.T, a adapter.Adapter) {
	putMail(t, a, adapter.Mail{ID: "m", Payload: []byte("p"), Due: at(0), Expires: at(60)})
	ok(t, a.DelayMail(t.Context(), "m", at(5)))
	_, err := a.ClaimMail(t.Context(), at(4), at(9))
	is(t, err, adapter.ErrNotFound)
	m, err := a.ClaimMail(t.Context(), at(5), at(9))
	ok(t, err)
	same(t, m, adapter.Mail{ID: "m", Payload: []byte("p"), Due: at(9), Expires: at(60), Attempts: 1})
	ok(t, a.DelayMail(t.Context(), "m", at(6))) // an earlier time is allowed, too
	_, err = a.ClaimMail(t.Context(), at(6), at(9))
	ok(t, err)
	is(t, a.DelayMail(t.Context(), "unknown", at(5)), adapter.ErrNotFound)
}

func mailDelete(t *testing.T, a adapter.Adapter) {
	ok(t, a.DeleteMail(t.Context(), "unknown"))
	putMail(t, a, adapter.Mail{ID: "m", Due: at(0), Expires: at(60)})
	putMail(t, a, adapter.Mail{ID: "n", Due: at(0), Expires: at(60)})
	ok(t, a.DeleteMail(t.Context(), "m"))
	ok(t, a.DeleteMail(t.Context(), "m"))
	same(t, queued(t, a), []string{"n"})
	same(t, links(t, a, "ann@example.com", "m"), 1) // the link outlives its mail
}

func mailRace(t *testing.T, a adapter.Adapter) {
	const mails = 20
	var want []string
	for i := range mails {
		want = append(want, numbered("m", i))
		putMail(t, a, adapter.Mail{ID: numbered("m", i), Due: at(i % 3), Expires: at(60)})
	}
	var mu sync.Mutex
	var claimed []string
	errs := race(workers, func(int) error {
		m, err := a.ClaimMail(t.Context(), at(10), at(20))
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			claimed = append(claimed, m.ID)
		}
		return err
	})
	nWin(t, errs, mails, adapter.ErrNotFound)
	slices.Sort(claimed)
	same(t, claimed, want)
}
