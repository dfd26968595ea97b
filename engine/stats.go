package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/seal/signingkeys"
)

// A counter counts by fixed words.
type counter[K comparable] struct {
	mu     sync.RWMutex
	counts map[K]*atomic.Uint64
}

// add counts one. The words come from the configuration and from this package.
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

// A hostMeter counts what the gate does at one host.
type hostMeter struct {
	decisions counter[authsvc.GateDecision]
	open      atomic.Int64
	closed    counter[authsvc.StreamEnd]
}

// meters are those of the hosts, which services that take over from one another count
// with together.
type meters struct {
	mu    sync.Mutex
	hosts map[string]*hostMeter
}

// host is the meter of a host of the gate.
func (m *meters) host(origin string) *hostMeter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hosts == nil {
		m.hosts = map[string]*hostMeter{}
	}
	if m.hosts[origin] == nil {
		m.hosts[origin] = &hostMeter{}
	}
	return m.hosts[origin]
}

// Stats returns the counts. It costs no call of the store.
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

// decided counts what became of a request for the gate.
func (gt *gateRoom) decided(rq *request, v *verdict) {
	decision := authsvc.GateForbidden
	if v.site == nil {
		gt.count(rq, v, decision)
		return
	}
	switch v.Verdict {
	case gate.Allowed:
		if decision = authsvc.GateAllow; v.session == nil {
			decision = authsvc.GateAnonymous
		}
	case gate.SignIn:
		if decision = authsvc.GateUnauthenticated; navigates(rq) || isFrame(rq.r.Header) {
			decision = authsvc.GateSignIn
		}
	case gate.Stale:
		decision = authsvc.GateStale
	case gate.Malformed:
		decision = authsvc.GateMalformed
	case gate.Unjudged:
		decision = authsvc.GateError
	}
	gt.count(rq, v, decision)
}

// count counts a decision at the host of a verdict.
func (gt *gateRoom) count(rq *request, v *verdict, d authsvc.GateDecision) {
	if v.site == nil {
		gt.allMeters.host("").decisions.add(d)
		return
	}
	gt.meters[v.site.Index()].decisions.add(d)
}
