package authsvc

import (
	"sync"
	"sync/atomic"
	"time"

	"authsvc/internal/gate"
	"authsvc/internal/signingkeys"
)

// Stats are what a service has counted, over all that took over from one another
// by Reconfigure, and how things are at the moment. Every key is of the
// configuration or one of the constants: what clients send adds none.
type Stats struct {
	// Gate is what the gate did, by the Origin of Config.Gate.Hosts; "" for requests
	// that named no such host, or came from nobody who may ask.
	Gate map[string]GateStats
	// TokensIssued are the tokens of POST token, by the id of the audience.
	TokensIssued map[string]uint64
	// SigningKeyAge is how long the keys that sign have done so, by algorithm;
	// without a store they do since the epoch, and none is here.
	SigningKeyAge map[SigningAlg]time.Duration
}

// GateStats are those of one host of the gate.
type GateStats struct {
	Decisions     map[GateDecision]uint64
	OpenStreams   int64 // requests that the gate let pass and that are being answered
	StreamsClosed map[StreamEnd]uint64
}

// A GateDecision is what became of a request for a program behind the gate.
type GateDecision string

// The decisions.
const (
	GateAllow           GateDecision = "allow"           // somebody who is signed in
	GateAnonymous       GateDecision = "anonymous"       // anyone may
	GateSignIn          GateDecision = "signin"          // a person was sent to sign in
	GateUnauthenticated GateDecision = "unauthenticated" // a program has to sign in
	GateStale           GateDecision = "stale"           // the session is too old for the rule
	GateForbidden       GateDecision = "forbidden"
	GateMalformed       GateDecision = "malformed"
	GateUntrusted       GateDecision = "untrusted" // not from a proxy that may ask
	GateError           GateDecision = "error"     // the session could not be read
)

// A StreamEnd is why the gate ended a request that was being answered.
type StreamEnd string

// The ends.
const (
	StreamRefused StreamEnd = "refused" // it may not pass any more: signed out, most often
	StreamError   StreamEnd = "error"   // whether it may could not be read
	StreamStopped StreamEnd = "stopped" // EndStreams or Close
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
	decisions counter[GateDecision]
	open      atomic.Int64
	closed    counter[StreamEnd]
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
func (s *Service) Stats() Stats {
	st := Stats{TokensIssued: s.tokenRoom.issued.all(), Gate: map[string]GateStats{}, SigningKeyAge: map[SigningAlg]time.Duration{}}
	s.gateRoom.allMeters.mu.Lock()
	for origin, h := range s.gateRoom.allMeters.hosts {
		st.Gate[origin] = GateStats{h.decisions.all(), h.open.Load(), h.closed.all()}
	}
	s.gateRoom.allMeters.mu.Unlock()
	if known := s.issuer.signing.known.Load(); known != nil {
		now := s.fleet.now()
		for _, alg := range signingkeys.Algorithms() {
			if k := known.set.Signing(alg, now); k != nil && !k.From.IsZero() {
				st.SigningKeyAge[SigningAlg(alg)] = now.Sub(k.From)
			}
		}
	}
	return st
}

// decided counts what became of a request for the gate.
func (gt *gateRoom) decided(rq *request, v *verdict) {
	decision := GateForbidden
	if v.site == nil {
		gt.count(rq, v, decision)
		return
	}
	switch v.Verdict {
	case gate.Allowed:
		if decision = GateAllow; v.session == nil {
			decision = GateAnonymous
		}
	case gate.SignIn:
		if decision = GateUnauthenticated; navigates(rq) || isFrame(rq.r.Header) {
			decision = GateSignIn
		}
	case gate.Stale:
		decision = GateStale
	case gate.Malformed:
		decision = GateMalformed
	case gate.Unjudged:
		decision = GateError
	}
	gt.count(rq, v, decision)
}

// count counts a decision at the host of a verdict.
func (gt *gateRoom) count(rq *request, v *verdict, d GateDecision) {
	if v.site == nil {
		gt.allMeters.host("").decisions.add(d)
		return
	}
	gt.meters[v.site.Index()].decisions.add(d)
}
