package idp

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// An expiringStore keeps values under unguessable strings for a fixed time. It stores
// only hashes of the strings, and drops the oldest entry when it is full.
type expiringStore[V any] struct {
	ttl time.Duration
	max int

	mu      sync.Mutex
	entries map[[sha256.Size]byte]entry[V]
	order   [][sha256.Size]byte // oldest first; all have the same ttl, so this is also the order of expiry
}

type entry[V any] struct {
	value   V
	expires time.Time
}

func newExpiringStore[V any](ttl time.Duration, max int) *expiringStore[V] {
	return &expiringStore[V]{ttl: ttl, max: max, entries: make(map[[sha256.Size]byte]entry[V])}
}

// put stores value and returns the string that finds it. The string has at least 128
// random bits (RFC 6749 §10.10) and never needs escaping.
func (s *expiringStore[V]) put(value V) string {
	secret := rand.Text() + rand.Text()
	s.add(sha256.Sum256([]byte(secret)), value)
	return secret
}

// add stores value under key unless the key is in use. It reports whether it did.
func (s *expiringStore[V]) add(key [sha256.Size]byte, value V) bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; ok && now.Before(e.expires) {
		return false
	}
	for len(s.order) > 0 && (len(s.order) >= s.max || !now.Before(s.entries[s.order[0]].expires)) {
		delete(s.entries, s.order[0])
		s.order = s.order[1:]
	}
	s.entries[key] = entry[V]{value: value, expires: now.Add(s.ttl)}
	s.order = append(s.order, key)
	return true
}

// get returns the value under secret unless it has expired.
func (s *expiringStore[V]) get(secret string) (V, bool) {
	key := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok || !time.Now().Before(e.expires) {
		var none V
		return none, false
	}
	return e.value, true
}

// replace replaces the value under secret. The expiry does not change.
func (s *expiringStore[V]) replace(secret string, value V) {
	key := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; ok {
		e.value = value
		s.entries[key] = e
	}
}

// claim records secret and reports whether it was new.
func (s *expiringStore[V]) claim(secret string) bool {
	var none V
	return s.add(sha256.Sum256([]byte(secret)), none)
}
