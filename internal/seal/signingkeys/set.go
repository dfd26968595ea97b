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

// Times of a rotation.
const (
	// PublishAhead is how long a key is published before it signs: whoever keeps
	// the set for up to a day knows the key when the first token comes.
	PublishAhead = 24 * time.Hour
	// KeepAfter is how long a key stays published after its successor began to
	// sign: a day for those who keep the set, and the longest life of a token.
	KeepAfter = 24*time.Hour + 15*time.Minute
	// Spread is how long a key that was asked for at once waits before it signs,
	// so that every replica publishes it first.
	Spread = time.Minute
)

// A Plan says which keys there have to be.
type Plan struct {
	Algs  []string      // each has a key that signs
	Every time.Duration // how long one signs
}

// A Set is the keys of a deployment. It is never changed. The zero value has
// none.
type Set struct{ keys []*Key } // of each algorithm in the order of From

// NewSet returns a set of these keys. Of those of an algorithm that begin to
// sign at the same time, the last signs.
func NewSet(keys ...*Key) Set {
	keys = slices.Clone(keys)
	slices.SortStableFunc(keys, func(a, b *Key) int { return a.From.Compare(b.From) })
	return Set{keys}
}

// Keys returns the keys, those of an algorithm in the order in which they sign.
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

// Signing returns the key of an algorithm that signs now, nil if there is none.
// One that is the first of its algorithm signs even if a clock that is behind
// says that it is early.
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

// Until returns when the successor of a key begins to sign, the zero time if it
// has none.
func (s Set) Until(k *Key) time.Time {
	keys := s.of(k.Alg)
	if i := slices.Index(keys, k); i >= 0 && i+1 < len(keys) {
		return keys[i+1].From
	}
	return time.Time{}
}

// Gone returns when a key stops being published, the zero time if that is not
// known yet.
func (s Set) Gone(k *Key) time.Time {
	if until := s.Until(k); !until.IsZero() {
		return until.Add(KeepAfter)
	}
	return time.Time{}
}

// Next returns the key of an algorithm that is published and does not sign yet,
// nil if there is none.
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

// Advance drops the keys that are over and makes those that are due.
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

// lacks reports whether an algorithm has no key, or needs the next.
func (s Set) lacks(alg string, now time.Time, p Plan) bool {
	keys := s.of(alg)
	return len(keys) == 0 || !now.Before(keys[len(keys)-1].From.Add(p.Every-PublishAhead))
}

// kept are the keys that are not over. Those of an algorithm that is not in the
// plan, which other replicas may still have in theirs, go when their successor
// would have sent them.
func (s Set) kept(now time.Time, p Plan) []*Key {
	return slices.DeleteFunc(slices.Clone(s.keys), func(k *Key) bool {
		gone := s.Gone(k)
		if gone.IsZero() && !slices.Contains(p.Algs, k.Alg) {
			gone = k.From.Add(p.Every + KeepAfter)
		}
		return !gone.IsZero() && !now.Before(gone)
	})
}

// Rotate makes the next key of every algorithm of the plan, which signs after
// PublishAhead; one that is published already is left as it is. With atOnce it
// is a new one in any case, which signs after Spread: what is published already
// may have leaked with the others.
func (s Set) Rotate(now time.Time, p Plan, atOnce bool) (after Set, made []*Key, err error) {
	after, made, err = s.Advance(now, p)
	if err != nil {
		return s, nil, err
	}
	for _, alg := range p.Algs {
		if slices.ContainsFunc(made, func(k *Key) bool { return k.Alg == alg && !now.Before(k.From) }) {
			continue // it had none
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

// Retire takes a key out of the set. If it signs, its successor does from now
// on, which is made if there is none. ok is false if the set has no such key.
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
	if err != nil { // they were encoded before
		panic(err)
	}
	return raw
}

// record is how a set is written down.
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

// Encode writes the set down with its private keys. It has to be sealed.
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

// Decode reads what Encode wrote.
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
