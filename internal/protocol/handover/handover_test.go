package handover

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"authsvc/internal/seal"
)

const (
	host  = "https://wiki.example"
	other = "https://shop.example"
)

func newKeys(t *testing.T) Keys {
	t.Helper()
	ring, err := seal.NewRing("qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4")
	if err != nil {
		t.Fatal(err)
	}
	return Keys{ring.Sealer("attempt"), ring.Sealer("code")}
}

// TestRedeem checks that one combination is valid, and that each single fault is
// refused.
func TestRedeem(t *testing.T) {
	t.Parallel()
	k, now := newKeys(t), time.Unix(1800000000, 0)
	mine, theirs := Begin(host, "/dash?a=b", now), Begin(host, "/", now)
	sealed := func(a Attempt) string {
		v, err := k.SealAttempt(a)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	code := func(origin, challenge string) string {
		v, err := k.SealCode(origin, challenge, []byte("who"), now)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	cookies := func(value string) func(string) (string, bool) {
		return func(id string) (string, bool) { return value, value != "" && id == ID(mine.Challenge()) }
	}
	elsewhere := mine
	elsewhere.Origin = other
	short, err := sealJSON(k.Code, Code{Origin: host, Challenge: "short", Expires: now.Add(time.Hour).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	good := code(host, mine.Challenge())
	large, err := k.SealCode(host, mine.Challenge(), []byte(strings.Repeat("x", 8<<10)), now)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		code, cookie string
		after        time.Duration
		want         error
	}{
		"good":                     {good, sealed(mine), 0, nil},
		"in the last second":       {good, sealed(mine), 59 * time.Second, nil},
		"late":                     {good, sealed(mine), 60 * time.Second, ErrLate},
		"an hour late":             {good, sealed(mine), time.Hour, ErrLate},
		"no code":                  {"", sealed(mine), 0, ErrForged},
		"a changed code":           {good[:len(good)-4] + "AAAA", sealed(mine), 0, ErrForged},
		"an attempt for a code":    {sealed(mine), sealed(mine), 0, ErrForged},
		"a malformed challenge":    {short, sealed(mine), 0, ErrForged},
		"too large":                {large, sealed(mine), 0, ErrForged},
		"for another host":         {code(other, mine.Challenge()), sealed(mine), 0, ErrElsewhere},
		"without a cookie":         {good, "", 0, ErrBrowser},
		"another attempt's cookie": {good, sealed(theirs), 0, ErrBrowser},
		"the cookie of a host":     {good, sealed(elsewhere), 0, ErrBrowser},
		"a code for a cookie":      {good, good, 0, ErrBrowser},
		"another browser's code":   {code(host, theirs.Challenge()), sealed(mine), 0, ErrBrowser},
	} {
		c, a, err := k.Redeem(tt.code, host, now.Add(tt.after), cookies(tt.cookie))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if err == nil && (string(c.Carried) != "who" || a.To != "/dash?a=b") {
			t.Errorf("%s: %q, %q", name, c.Carried, a.To)
		}
		if err != nil && a != (Attempt{}) && tt.want != ErrBrowser {
			t.Errorf("%s: an attempt with an error", name)
		}
	}
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	k, now := newKeys(t), time.Unix(1800000000, 0)
	a := Begin(host, "/dash", now)
	value, err := k.SealAttempt(a)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := k.OpenAttempt(value, host, now.Add(9*time.Minute)); !ok || got != a {
		t.Errorf("%v %+v", ok, got)
	}
	if _, ok := k.OpenAttempt(value, host, now.Add(AttemptLife)); ok {
		t.Error("it is late")
	}
	if _, ok := k.OpenAttempt(value, other, now); ok {
		t.Error("it is of another host")
	}
	if b := Begin(host, "/dash", now); b.Nonce == a.Nonce || b.Challenge() == a.Challenge() {
		t.Error("two attempts have one nonce")
	}
	if raw, err := json.Marshal(a); err != nil || strings.Contains(string(raw), a.Challenge()) {
		t.Errorf("%s %v", raw, err)
	}
	for s, want := range map[string]bool{a.Challenge(): true, "": false, a.Challenge()[1:]: false, a.Challenge() + "A": false, strings.Repeat("A", 42) + "B": false, strings.Repeat("A", 43): true, strings.Repeat("=", 43): false} {
		if IsChallenge(s) != want {
			t.Errorf("%q: want %v", s, want)
		}
	}
}
