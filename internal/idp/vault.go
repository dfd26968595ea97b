package idp

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// vault keeps values behind unguessable strings for a fixed time. It stores
// hashes of the strings only, and forgets the oldest entry when it is full.
type vault[V any] struct {
	ttl time.Duration
	max int

	mu      sync.Mutex
	entries map[[sha256.Size]byte]entry[V]
	order   [][sha256.Size]byte // oldest first; one ttl for all, so this is the order of expiry too
}

type entry[V any] struct {
	value   V
	expires time.Time
}

func newVault[V any](ttl time.Duration, max int) *vault[V] {
	return &vault[V]{ttl: ttl, max: max, entries: make(map[[sha256.Size]byte]entry[V])}
}

// put stores value and returns the string that opens it: at least 128 random
// bits (RFC 6749 §10.10), made of characters that need no escaping anywhere.
func (v *vault[V]) put(value V) string {
	secret := rand.Text() + rand.Text()
	v.keep(sha256.Sum256([]byte(secret)), value)
	return secret
}

// keep stores value under key unless there is one.
func (v *vault[V]) keep(key [sha256.Size]byte, value V) bool {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if e, ok := v.entries[key]; ok && now.Before(e.expires) {
		return false
	}
	for len(v.order) > 0 && (len(v.order) >= v.max || !now.Before(v.entries[v.order[0]].expires)) {
		delete(v.entries, v.order[0])
		v.order = v.order[1:]
	}
	v.entries[key] = entry[V]{value: value, expires: now.Add(v.ttl)}
	v.order = append(v.order, key)
	return true
}

// get returns the value behind secret unless it has expired.
func (v *vault[V]) get(secret string) (V, bool) {
	key := sha256.Sum256([]byte(secret))
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.entries[key]
	if !ok || !time.Now().Before(e.expires) {
		var none V
		return none, false
	}
	return e.value, true
}

// replace puts another value behind secret, which keeps its lifetime.
func (v *vault[V]) replace(secret string, value V) {
	key := sha256.Sum256([]byte(secret))
	v.mu.Lock()
	defer v.mu.Unlock()
	if e, ok := v.entries[key]; ok {
		e.value = value
		v.entries[key] = e
	}
}

// claim reports whether secret is new, and keeps it.
func (v *vault[V]) claim(secret string) bool {
	var none V
	return v.keep(sha256.Sum256([]byte(secret)), none)
}
