package verify

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

// session08OneOfThree ends one of a user's three sessions on the account page. Three
// replicas read them without a store call. The ended session must be refused
// everywhere within the bound, and the others must continue.
func session08OneOfThree(t *T, kind stores.Kind) {
	w := t.EnterOffline(func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = kind.Open(t), "jwt" })
	replicas := []*arena.Replica{w.First(), w.Replica(t), w.Replica(t)}
	jars := []*arena.Browser{w.Browser(), w.Browser(), w.Browser()}
	for _, b := range jars {
		b.Login("ada")
	}
	in := func(b *arena.Browser) (at int) {
		for _, s := range replicas {
			if sessionAt(b, s).Email() == "ada@app.test" {
				at++
			}
		}
		return at
	}
	var calls atomic.Int64
	w.Ledger.BreakAt(func(int, string) arena.Failure { calls.Add(1); return arena.Works })
	for range 20 {
		if in(jars[0])+in(jars[1])+in(jars[2]) != 9 {
			t.Fatal("twin: no session")
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("180 GET session asked the store %d times", n)
	}
	w.Ledger.BreakAt(nil)

	id := sessionCurrent(t, jars[2])
	if a := jars[0].Post("/api/auth/account/signout", "session", id, "json", "true"); a.StatusCode != 200 || strings.Contains(a.Text, id) {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	began := time.Now()
	for in(jars[2]) > 0 {
		if time.Since(began) > jwtBound {
			t.Fatalf("still valid somewhere after %v", jwtBound)
		}
		time.Sleep(10 * time.Millisecond)
	}
	over := time.Since(began)
	w.Ledger.BreakAt(func(int, string) arena.Failure { calls.Add(1); return arena.Works })
	if in(jars[0]) != 3 || in(jars[1]) != 3 || in(jars[2]) != 0 || calls.Load() != 0 {
		t.Errorf("the others are valid at %d and %d replicas, the ended one at %d, %d store calls", in(jars[0]), in(jars[1]), in(jars[2]), calls.Load())
	}
	t.Figure("%s: one of three ended everywhere after %v, no store call to read", kind.Name, over.Round(10*time.Millisecond))
}

// sessionCurrent returns the public id of a browser's session.
func sessionCurrent(t *T, b *arena.Browser) string {
	t.Helper()
	page := b.Clone()
	page.Header.Set("Accept", "application/json")
	var v struct{ Session struct{ ID string } }
	if a := page.Get("/api/auth/account"); json.Unmarshal([]byte(a.Text), &v) != nil || v.Session.ID == "" {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	return v.Session.ID
}
