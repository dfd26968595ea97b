package engine

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/seal"
)

// TestVerifyState checks that the state alone says whose it is and how long it is
// valid, apart from the sealed cookie in which it was found.
func TestVerifyState(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing("qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4")
	if err != nil {
		t.Fatal(err)
	}
	dk, rq := &desk{stateKey: ring.MAC("state")}, &request{now: time.Now()}
	fresh := func() transaction {
		tx := transaction{Provider: "op", Browser: "hash", Expires: rq.now.Add(txLifetime).Unix()}
		random := b64(seal.Random(18))
		tx.State = random + "." + b64(dk.stateKey.Sum(random, tx.Browser, tx.Provider, strconv.FormatInt(tx.Expires, 10)))
		return tx
	}
	for name, change := range map[string]func(tx *transaction, state *string){
		"another attempt's": func(_ *transaction, state *string) { *state = fresh().State },
		"another provider":  func(tx *transaction, _ *string) { tx.Provider = "op2" },
		"another browser":   func(tx *transaction, _ *string) { tx.Browser = "other" },
		"a longer life":     func(tx *transaction, _ *string) { tx.Expires++ },
		"no MAC":            func(tx *transaction, state *string) { tx.State = "x."; *state = "x." },
		"no dot":            func(tx *transaction, state *string) { tx.State = "x"; *state = "x" },
		"nothing":           func(tx *transaction, state *string) { tx.State, *state = "", "" },
	} {
		tx := fresh()
		state := tx.State
		if !dk.verifyState(rq, &tx, state) {
			t.Fatalf("%s: twin: a fresh state does not verify", name)
		}
		if change(&tx, &state); dk.verifyState(rq, &tx, state) {
			t.Errorf("%s: verifies", name)
		}
	}
}

// TestStateIsBoundToURL checks that the state of another deployment with the same
// secret does not verify.
func TestStateIsBoundToURL(t *testing.T) {
	t.Parallel()
	verifies := func(url string, tx *transaction) bool {
		dk, rq := requestAt(t, url)
		return dk.verifyState(rq, tx, tx.State)
	}
	dk, rq := requestAt(t, "https://app.test")
	tx := transaction{Provider: "op"}
	dk.makeState(rq, &tx)
	if !dk.verifyState(rq, &tx, tx.State) {
		t.Error("twin: its own state does not verify")
	}
	for _, url := range []string{"https://other.test", "https://app.test/other"} {
		if verifies(url, &tx) {
			t.Errorf("verifies at %s", url)
		}
	}
}

// TestAttemptNeedsState checks that an attempt whose cookie opens is refused if its
// state does not verify.
func TestAttemptNeedsState(t *testing.T) {
	t.Parallel()
	dk, rq := requestAt(t, "https://app.test")
	var tx transaction
	dk.makeState(rq, &tx)
	find := func() *authError {
		value, err := dk.sealTx(rq, &tx)
		if err != nil {
			t.Fatal(err)
		}
		rq.jar.Pairs = append(rq.jar.Pairs, cookie.Pair{Name: dk.txName(tx.State), Value: value})
		_, refused := dk.findTx(rq, tx.State)
		return refused
	}
	if refused := find(); refused != nil {
		t.Errorf("twin: %v", refused.Err)
	}
	for _, state := range []string{b64(seal.Random(18)) + "." + b64(seal.Random(32)), "x"} {
		if tx.State = state; find() == nil {
			t.Errorf("the state %s is taken", state)
		}
	}
}

// TestAttemptExpires checks that an attempt is valid for 15 minutes, whatever the
// browser keeps.
func TestAttemptExpires(t *testing.T) {
	t.Parallel()
	dk, rq := requestAt(t, "https://app.test")
	var tx transaction
	dk.makeState(rq, &tx)
	value, err := dk.sealTx(rq, &tx)
	if err != nil {
		t.Fatal(err)
	}
	rq.jar.Pairs = append(rq.jar.Pairs, cookie.Pair{Name: dk.txName(tx.State), Value: value})
	began := rq.now
	for after, good := range map[time.Duration]bool{0: true, 14*time.Minute + 58*time.Second: true, 15*time.Minute + time.Second: false, 24 * time.Hour: false} {
		rq.now = began.Add(after)
		if _, refused := dk.findTx(rq, tx.State); (refused == nil) != good {
			t.Errorf("after %v: %v", after, refused)
		}
	}
}

// TestLinksEnd checks which attempts to link end when a user signs in.
func TestLinksEnd(t *testing.T) {
	t.Parallel()
	dk, rq := requestAt(t, "https://app.test")
	names := map[string]string{}
	for about, linkTo := range map[string]string{"no link": "", "link of ann": "ann", "link of bob": "bob", "finished": "", "finished link of bob": "bob"} {
		tx := transaction{LinkTo: linkTo}
		dk.makeState(rq, &tx)
		value, err := dk.sealTx(rq, &tx)
		if err != nil {
			t.Fatal(err)
		}
		names[about] = dk.txName(tx.State)
		rq.jar.Pairs = append(rq.jar.Pairs, cookie.Pair{Name: names[about], Value: value})
		if strings.HasPrefix(about, "finished") {
			dk.dropTx(rq, tx.State)
		}
	}
	rq.jar.Pairs = append(rq.jar.Pairs, cookie.Pair{Name: dk.txPrefix + "other", Value: "of another service"})
	dk.endLinks(rq, "ann")
	for about, ended := range map[string]bool{"no link": false, "link of ann": false, "link of bob": true, "finished": true, "finished link of bob": true} {
		if got := rq.expires(names[about]); got != ended {
			t.Errorf("%s: ended is %v, want %v", about, got, ended)
		}
	}
	if rq.expires(dk.txPrefix + "other") {
		t.Error("a cookie that does not open is cleared")
	}
}

// requestAt makes a request, with a CSRF token, to the desk of a new service at url.
func requestAt(t *testing.T, url string) (*desk, *request) {
	t.Helper()
	s, err := New(authsvc.Config{URL: url, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{}, authsvc.ErrAccessDenied
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	rq := fuzzedRequest(s, "")
	rq.ensureCSRF()
	return s.desk, rq
}
