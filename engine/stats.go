package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/seal/signingkeys"
)

// A counter has one count for each key of a fixed set.
type counter[K comparable] struct {
	mu     sync.RWMutex
	counts map[K]*atomic.Uint64
}

// add counts one event of key. Keys come only from the configuration and this package.
func (c *counter[K]) add(key K) {
	c.mu.RLock()
	n := c.counts[key]
	c.mu.RUnlock()
	if n == nil {
		c.mu.Lock()
		if c.counts == nil {
			c.counts = map[K]*atomic.Uint64{}
		}
		if n = c.counts[key]; n == nil {
			n = new(atomic.Uint64)
			c.counts[key] = n
		}
		c.mu.Unlock()
	}
	n.Add(1)
}

func (c *counter[K]) all() map[K]uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make(map[K]uint64, len(c.counts))
	for key, n := range c.counts {
		all[key] = n.Load()
	}
	return all
}

// Stats returns the counters of the service and its current state. It makes no store
// call.
func (s *Service) Stats() authsvc.Stats {
	st := authsvc.Stats{TokensIssued: s.tokenRoom.issued.all(), Gate: map[string]authsvc.GateStats{}, SigningKeyAge: map[authsvc.SigningAlg]time.Duration{}}
	s.gateRoom.allMeters.mu.Lock()
	for origin, h := range s.gateRoom.allMeters.hosts {
		st.Gate[origin] = authsvc.GateStats{Decisions: h.decisions.all(), OpenStreams: h.open.Load(), StreamsClosed: h.closed.all()}
	}
	s.gateRoom.allMeters.mu.Unlock()
	if known := s.issuer.signing.known.Load(); known != nil {
		now := s.fleet.Now()
		for _, alg := range signingkeys.Algorithms() {
			if k := known.set.Signing(alg, now); k != nil && !k.From.IsZero() {
				st.SigningKeyAge[authsvc.SigningAlg(alg)] = now.Sub(k.From)
			}
		}
	}
	return st
}
