package signingkeys

import (
	"bytes"
	"crypto"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

var (
	start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	plan  = Plan{Algs: []string{ES256}, Every: 90 * 24 * time.Hour}
)

func day(n float64) time.Time { return start.Add(time.Duration(n * 24 * float64(time.Hour))) }

func advance(t *testing.T, s Set, at time.Time, p Plan) (Set, []*Key) {
	t.Helper()
	due := s.Due(at, p)
	after, made, err := s.Advance(at, p)
	if err != nil {
		t.Fatal(err)
	}
	if changed := len(made) > 0 || len(after.keys) != len(s.keys); changed != due {
		t.Errorf("due %v, changed %v", due, changed)
	}
	return after, made
}

// TestLife follows the keys of a deployment through two rotations.
func TestLife(t *testing.T) {
	t.Parallel()
	s, made := advance(t, Set{}, start, plan)
	if len(made) != 1 || s.Signing(ES256, start) != made[0] || !made[0].From.Equal(start) {
		t.Fatalf("the first key: %v", made)
	}
	first := made[0]
	if s.Signing(ES256, start.Add(-time.Second)) != first {
		t.Error("a clock that is slow has no key")
	}
	if s, made = advance(t, s, day(88.9), plan); len(made) != 0 {
		t.Fatal("the next key is early")
	}
	s, made = advance(t, s, day(89), plan)
	if len(made) != 1 || !made[0].From.Equal(day(90)) {
		t.Fatalf("the next key: %v", made)
	}
	second := made[0]
	for _, c := range []struct {
		day     float64
		signing *Key
		keys    int
	}{{89, first, 2}, {89.99, first, 2}, {90, second, 2}, {90.99, second, 2}, {91, second, 2}, {91.0103, second, 2}, {91.0105, second, 1}, {178.9, second, 1}, {179, second, 2}} {
		after, _ := advance(t, s, day(c.day), plan)
		if after.Signing(ES256, day(c.day)) != c.signing || len(after.keys) != c.keys {
			t.Errorf("day %v: %v of %d keys signs", c.day, after.Signing(ES256, day(c.day)), len(after.keys))
		}
		if len(after.keys) != strings.Count(string(after.JWKS()), `"kid"`) {
			t.Errorf("day %v: published %s", c.day, after.JWKS())
		}
	}
}

// TestChangeOfPlan checks that a new algorithm has a key at once, and that the key of a
// removed algorithm goes when it expires.
func TestChangeOfPlan(t *testing.T) {
	t.Parallel()
	s, _ := advance(t, Set{}, start, plan)
	both := Plan{Algs: []string{ES256, EdDSA}, Every: plan.Every}
	s, made := advance(t, s, day(1), both)
	if len(made) != 1 || made[0].Alg != EdDSA || s.Signing(EdDSA, day(1)) != made[0] {
		t.Fatalf("%v", made)
	}
	s, _ = advance(t, s, day(80), plan)
	if s.Signing(EdDSA, day(80)) == nil {
		t.Error("the key of another replica's plan is gone")
	}
	if s, _ = advance(t, s, day(93), plan); s.Signing(EdDSA, day(93)) != nil {
		t.Error("a key that no plan names stays")
	}
	shorter := Plan{Algs: plan.Algs, Every: 24 * time.Hour}
	if _, made := advance(t, s, day(100), shorter); len(made) != 1 || !made[0].From.Equal(day(101)) {
		t.Errorf("a shorter plan: %v", made)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	s, _ := advance(t, Set{}, start, plan)
	first := s.Signing(ES256, start)
	next, made, err := s.Rotate(day(1), plan, false)
	if err != nil || len(made) != 1 || !made[0].From.Equal(day(2)) || next.Signing(ES256, day(1)) != first {
		t.Fatalf("%v, %v", made, err)
	}
	if again, made, err := next.Rotate(day(1.5), plan, false); err != nil || len(made) != 0 || len(again.keys) != 2 {
		t.Errorf("twice: %v, %v", made, err)
	}
	pending := made[0]
	now, made, err := next.Rotate(day(1.5), plan, true)
	if err != nil || len(made) != 1 || !made[0].From.Equal(day(1.5).Add(Spread)) || slices.Contains(now.keys, pending) {
		t.Fatalf("at once: %v, %v", made, err)
	}
	if got := now.Signing(ES256, day(1.5).Add(Spread-1)); got != first {
		t.Error("it signs before every replica has it")
	}
	if got := now.Signing(ES256, day(1.5).Add(Spread)); got != made[0] {
		t.Error("it does not sign")
	}
	if fresh, made, err := (Set{}).Rotate(start, plan, true); err != nil || len(made) != 1 || len(fresh.keys) != 1 || fresh.Signing(ES256, start) != made[0] {
		t.Errorf("of nothing: %v, %v", made, err)
	}
}

func TestRetire(t *testing.T) {
	t.Parallel()
	s, _ := advance(t, Set{}, start, plan)
	first := s.Signing(ES256, start)
	s, _, _ = s.Rotate(start, plan, true)
	second := s.keys[1]
	if _, _, ok, _ := s.Retire("no such key", day(1), plan); ok {
		t.Error("retired an unknown key")
	}
	after, made, ok, err := s.Retire(first.ID, day(0.5), plan)
	if err != nil || !ok || len(made) != 0 || len(after.keys) != 1 || after.keys[0] != second {
		t.Errorf("the one before: %v, %v", made, err)
	}
	after, made, ok, err = s.Retire(second.ID, day(0.5), plan)
	if err != nil || !ok || len(made) != 1 || after.Signing(ES256, day(0.5)) != made[0] {
		t.Errorf("the one that signs: %v, %v", made, err)
	}
	if after.Signing(ES256, day(0.5)) == first {
		t.Error("the one before signs again")
	}
	pending, _, _ := after.Rotate(day(0.6), plan, false)
	next := pending.Next(ES256, day(0.6))
	after, made, ok, err = pending.Retire(made[0].ID, day(0.7), plan)
	if err != nil || !ok || len(made) != 0 || after.Signing(ES256, day(0.7)).ID != next.ID {
		t.Errorf("with a next one: %v, %v", made, err)
	}
	after, _, ok, err = pending.Retire(next.ID, day(0.7), plan)
	if err != nil || !ok || after.Next(ES256, day(0.7)) != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestWrittenDown checks that a set survives Encode and Decode, and signs as before.
func TestWrittenDown(t *testing.T) {
	t.Parallel()
	all := Plan{Algs: Algorithms(), Every: plan.Every}
	s, _ := advance(t, Set{}, start, all)
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(text)
	if err != nil || !bytes.Equal(back.JWKS(), s.JWKS()) {
		t.Fatalf("%s, %v", back.JWKS(), err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(s.JWKS(), &set); err != nil {
		t.Fatal(err)
	}
	for _, alg := range Algorithms() {
		k := back.Signing(alg, start)
		raw, err := k.Sign("at+jwt", []byte(`{"sub":"ada"}`))
		if err != nil {
			t.Fatal(err)
		}
		jws, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
		if err != nil {
			t.Fatal(err)
		}
		header := jws.Signatures[0].Protected
		if header.KeyID != k.ID || header.ExtraHeaders["typ"] != "at+jwt" || len(header.ExtraHeaders) != 1 {
			t.Errorf("%s: header %+v", alg, header)
		}
		public := set.Key(k.ID)
		if len(public) != 1 || !public[0].IsPublic() || public[0].Algorithm != alg || public[0].Use != "sig" {
			t.Fatalf("%s: %+v", alg, public)
		}
		if payload, err := jws.Verify(public[0]); err != nil || string(payload) != `{"sub":"ada"}` {
			t.Errorf("%s: %s, %v", alg, payload, err)
		}
		sum, _ := public[0].Thumbprint(crypto.SHA256)
		if len(sum) != 32 || len(k.ID) != 43 {
			t.Errorf("%s: kid %s", alg, k.ID)
		}
	}
	for _, bad := range []string{"", "{}", `{"v":2,"keys":[]}`, strings.Replace(text, `"ES256"`, `"EdDSA"`, 1), strings.Replace(text, `"pkcs8":"M`, `"pkcs8":"N`, 1)} {
		if _, err := Decode(bad); err == nil || strings.Contains(err.Error(), "pkcs8") {
			t.Errorf("%.40q is read: %v", bad, err)
		}
	}
}

// TestDerive checks that the same material makes the same key, and other material
// another key.
func TestDerive(t *testing.T) {
	t.Parallel()
	material := func(b byte) func(int) []byte { return func(int) []byte { return bytes.Repeat([]byte{b}, 32) } }
	ids := map[string]string{}
	for _, alg := range []string{ES256, EdDSA} {
		for _, b := range []byte{1, 2} {
			one, err := Derive(alg, material(b))
			two, err2 := Derive(alg, material(b))
			if err != nil || err2 != nil || one.ID != two.ID {
				t.Fatalf("%s: %v, %v", alg, err, err2)
			}
			name := fmt.Sprint(alg, b)
			if other := ids[one.ID]; other != "" {
				t.Errorf("%s and %s are one", other, name)
			}
			ids[one.ID] = name
		}
	}
	// 2²⁵⁶-1 is not a valid P-256 key, so the next number is used.
	k, err := Derive(ES256, func(n int) []byte { return bytes.Repeat([]byte{[]byte{255, 1}[n]}, 32) })
	if one, _ := Derive(ES256, material(1)); err != nil || k.ID != one.ID {
		t.Errorf("%v", err)
	}
	if _, err := Derive(ES256, material(255)); err == nil {
		t.Error("a key was derived from out-of-range numbers only")
	}
	if _, err := Derive(RS256, material(1)); err == nil {
		t.Error("an RSA key was derived")
	}
	old, _ := Derive(ES256, material(1))
	fresh, _ := Derive(ES256, material(2))
	if s := NewSet(old, fresh); s.Signing(ES256, start) != fresh || !s.Gone(old).IsZero() || s.Next(ES256, start) != nil {
		t.Error("the last of derived keys does not sign")
	}
}

func TestKeysStayOutOfLogs(t *testing.T) {
	t.Parallel()
	s, _ := advance(t, Set{}, start, plan)
	k := s.keys[0]
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "key", k, "set", s)
	text := log.String() + fmt.Sprintf("%v %+v %#v %s", k, s, s, k)
	secret, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := "key " + k.ID; !strings.Contains(text, want) || strings.Contains(text, "private") || strings.Contains(text, "PrivateKey") || strings.Contains(text, secret) {
		t.Errorf("printed %s", text)
	}
}

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"", "none", "HS256", "es256"} {
		if _, err := Generate(alg, start, start); err == nil || Known(alg) {
			t.Errorf("%q has keys", alg)
		}
	}
	if !Known(ES256) {
		t.Error("ES256 has none")
	}
}
