package engine

import (
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/seal"
)

// TestFreshForm checks that a form opened with a fresh proof can be sent for 15 more
// minutes, in the same session and to the same route.
func TestFreshForm(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing("qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	dk := &desk{freshWithin: 10 * time.Minute, freshKey: ring.Sealer("fresh")}
	s := &authsvc.Session{AuthTime: began}
	at := func(after time.Duration, sid string) *request {
		return &request{now: began.Add(after), sidRead: true, sidValue: sid, body: &body{fields: map[string]string{}}}
	}
	field := dk.freshField(at(9*time.Minute, "sid"), s, "account/delete")
	for name, c := range map[string]struct {
		after time.Duration
		sid   string
		field string
		route string
		want  bool
	}{
		"twin":            {23 * time.Minute, "sid", field, "account/delete", true},
		"still fresh":     {10 * time.Minute, "sid", "", "account/delete", true},
		"no field":        {11 * time.Minute, "sid", "", "account/delete", false},
		"too late":        {24*time.Minute + time.Second, "sid", field, "account/delete", false},
		"another session": {23 * time.Minute, "other", field, "account/delete", false},
		"no session":      {23 * time.Minute, "", field, "account/delete", false},
		"another route":   {23 * time.Minute, "sid", field, "account/unlink", false},
		"made up":         {23 * time.Minute, "sid", field + "x", "account/delete", false},
	} {
		rq := at(c.after, c.sid)
		rq.body.fields["fresh"] = c.field
		if got := dk.provedFresh(rq, s, c.route); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if field := dk.freshField(at(11*time.Minute, "sid"), s, "account/delete"); field != "" {
		t.Error("a page that is opened without a fresh proof has a field that says so")
	}
}
