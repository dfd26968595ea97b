package signingkeys

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Intervals of a key rotation.
const (
	// PublishAhead is the time between publishing a key and signing with it. A client
	// that caches the set for up to a day has the key before the first token arrives.
	PublishAhead = 24 * time.Hour
	// KeepAfter is the time for which a key stays published after its successor begins
	// to sign: one day for clients that cache the set, plus the longest life of a
	// token.
	KeepAfter = 24*time.Hour + 15*time.Minute
	// Spread is the time before a key that was requested at once signs, so that every
	// replica publishes it first.
	Spread = time.Minute
)

// A Plan says which keys a set must have.
type Plan struct {
	Algs  []string      // each must have a key that signs
	Every time.Duration // how long a key signs
}

// A Set holds the keys of a deployment. It is immutable. The zero value is an empty
// set.
type Set struct{ keys []*Key } // each algorithm's keys in the order of From

// NewSet returns a set of these keys. If several keys of an algorithm begin to sign at
// the same time, the last one signs.
func NewSet(keys ...*Key) Set {
	keys = slices.Clone(keys)
	slices.SortStableFunc(keys, func(a, b *Key) int { return a.From.Compare(b.From) })
	return Set{keys}
}

// Keys returns the keys. Each algorithm's keys are in the order in which they sign.
func (s Set) Keys() []*Key { return slices.Clone(s.keys) }

// of returns the keys of an algorithm.
func (s Set) of(alg string) (keys []*Key) {
	for _, k := range s.keys {
		if k.Alg == alg {
			keys = append(keys, k)
		}
	}
	return keys
}

// Signing returns the key of an algorithm that signs now, or nil if there is none. The
// first key of an algorithm signs even if a slow clock says that it is too early.
func (s Set) Signing(alg string, now time.Time) *Key {
	keys := s.of(alg)
	if len(keys) == 0 {
		return nil
	}
	signing := keys[0]
	for _, k := range keys {
		if !now.Before(k.From) {
			signing = k
		}
	}
	return signing
}

// Until returns the time at which the successor of k begins to sign, or the zero time
// if k has no successor.
func (s Set) Until(k *Key) time.Time {
	keys := s.of(k.Alg)
	if i := slices.Index(keys, k); i >= 0 && i+1 < len(keys) {
		return keys[i+1].From
	}
	return time.Time{}
}

// Gone returns the time at which k stops being published, or the zero time if that is
// not known yet.
func (s Set) Gone(k *Key) time.Time {
	if until := s.Until(k); !until.IsZero() {
		return until.Add(KeepAfter)
	}
	return time.Time{}
}

// Next returns the key of an algorithm that is published and does not sign yet, or nil
// if there is none.
func (s Set) Next(alg string, now time.Time) *Key {
	if keys := s.of(alg); len(keys) > 1 && now.Before(keys[len(keys)-1].From) {
		return keys[len(keys)-1]
	}
	return nil
}

// Due reports whether Advance would change the set.
func (s Set) Due(now time.Time, p Plan) bool {
	if len(s.kept(now, p)) != len(s.keys) {
		return true
	}
	return slices.ContainsFunc(p.Algs, func(alg string) bool { return s.lacks(alg, now, p) })
}

// Advance removes the keys that have expired and makes the keys that are due.
func (s Set) Advance(now time.Time, p Plan) (after Set, made []*Key, err error) {
	after = Set{s.kept(now, p)}
	for _, alg := range p.Algs {
		if !after.lacks(alg, now, p) {
			continue
		}
		from := now
		if keys := after.of(alg); len(keys) > 0 {
			from = later(keys[len(keys)-1].From.Add(p.Every), now.Add(PublishAhead))
		}
		k, err := Generate(alg, now, from)
		if err != nil {
			return s, nil, err
		}
		after, made = NewSet(append(after.keys, k)...), append(made, k)
	}
	return after, made, nil
}

// lacks reports whether an algorithm has no key or needs its next one.
func (s Set) lacks(alg string, now time.Time, p Plan) bool {
	keys := s.of(alg)
	return len(keys) == 0 || !now.Before(keys[len(keys)-1].From.Add(p.Every-PublishAhead))
}

// kept returns the keys that have not expired. If an algorithm is not in the plan,
// other replicas may still use it: its last key expires when a successor would have
// replaced it.
func (s Set) kept(now time.Time, p Plan) []*Key {
	return slices.DeleteFunc(slices.Clone(s.keys), func(k *Key) bool {
		gone := s.Gone(k)
		if gone.IsZero() && !slices.Contains(p.Algs, k.Alg) {
			gone = k.From.Add(p.Every + KeepAfter)
		}
		return !gone.IsZero() && !now.Before(gone)
	})
}

// Rotate makes the next key of every algorithm in the plan. The key signs after
// PublishAhead; a next key that is already published stays. With atOnce, Rotate always
// makes a new key, which signs after Spread: a key that is already published may have
// leaked with the others.
func (s Set) Rotate(now time.Time, p Plan, atOnce bool) (after Set, made []*Key, err error) {
	after, made, err = s.Advance(now, p)
	if err != nil {
		return s, nil, err
	}
	for _, alg := range p.Algs {
		if slices.ContainsFunc(made, func(k *Key) bool { return k.Alg == alg && !now.Before(k.From) }) {
			continue // it had no key before
		}
		next := after.Next(alg, now)
		if next != nil && !atOnce {
			continue
		}
		from := now.Add(PublishAhead)
		if atOnce {
			from = now.Add(Spread)
			after = after.without(next)
			made = slices.DeleteFunc(made, func(k *Key) bool { return k == next })
		}
		k, err := Generate(alg, now, from)
		if err != nil {
			return s, nil, err
		}
		after, made = NewSet(append(after.keys, k)...), append(made, k)
	}
	return after, made, nil
}

// Retire removes a key from the set. If the key signs, its successor signs from now on;
// Retire makes a successor if there is none. ok is false if the set does not have the
// key.
func (s Set) Retire(id string, now time.Time, p Plan) (after Set, made []*Key, ok bool, err error) {
	i := slices.IndexFunc(s.keys, func(k *Key) bool { return k.ID == id })
	if i < 0 {
		return s, nil, false, nil
	}
	gone := s.keys[i]
	after = s.without(gone)
	if s.Signing(gone.Alg, now) != gone || !slices.Contains(p.Algs, gone.Alg) {
		return after, nil, true, nil
	}
	if next := s.Next(gone.Alg, now); next != nil {
		early := *next
		early.From = now
		return NewSet(append(after.without(next).keys, &early)...), nil, true, nil
	}
	k, err := Generate(gone.Alg, now, now)
	if err != nil {
		return s, nil, true, err
	}
	return NewSet(append(after.keys, k)...), []*Key{k}, true, nil
}

func (s Set) without(k *Key) Set {
	return Set{slices.DeleteFunc(slices.Clone(s.keys), func(other *Key) bool { return other == k })}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// JWKS returns the public keys as a JWK Set (RFC 7517 section 5).
func (s Set) JWKS() []byte {
	keys := make([]json.RawMessage, 0, len(s.keys))
	for _, k := range s.keys {
		keys = append(keys, k.public)
	}
	raw, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil { // each key was encoded before
		panic(err)
	}
	return raw
}

// record is the encoded form of a set.
type record struct {
	Version int         `json:"v"`
	Keys    []keyRecord `json:"keys"`
}

type keyRecord struct {
	Alg   string    `json:"alg"`
	Made  time.Time `json:"made"`
	From  time.Time `json:"from"`
	PKCS8 []byte    `json:"pkcs8"`
}

const recordVersion = 1

// Encode returns the set with its private keys. The caller must seal the result.
func (s Set) Encode() (string, error) {
	r := record{Version: recordVersion}
	for _, k := range s.keys {
		raw, err := x509.MarshalPKCS8PrivateKey(k.private)
		if err != nil {
			return "", err
		}
		r.Keys = append(r.Keys, keyRecord{k.Alg, k.Made.UTC(), k.From.UTC(), raw})
	}
	raw, err := json.Marshal(r)
	return string(raw), err
}

var errRecord = errors.New("the signing keys were written by another version")

// Decode reads the output of Encode.
func Decode(text string) (Set, error) {
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Version != recordVersion {
		return Set{}, errRecord
	}
	var keys []*Key
	for _, one := range r.Keys {
		private, err := x509.ParsePKCS8PrivateKey(one.PKCS8)
		if err != nil {
			return Set{}, errRecord
		}
		signer, _ := private.(crypto.Signer)
		k, err := newKey(one.Alg, signer, one.Made, one.From)
		if err != nil {
			return Set{}, fmt.Errorf("a signing key of the set: %w", err)
		}
		keys = append(keys, k)
	}
	return NewSet(keys...), nil
}
