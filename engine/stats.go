package engine

import (
	"time"

	"authsvc"
	"authsvc/internal/seal/signingkeys"
	"authsvc/stats"
)

// Stats returns the counters of the service and its current state. It makes no store
// call.
func (s *Service) Stats() stats.Stats {
	st := stats.Stats{Requests: s.site.answered.All(), TokensIssued: s.tokenRoom.issued.All(), Gate: map[string]stats.GateStats{}, SigningKeyAge: map[authsvc.SigningAlg]time.Duration{}}
	s.auditor.Counts(&st)
	s.gateRoom.allMeters.mu.Lock()
	for origin, h := range s.gateRoom.allMeters.hosts {
		st.Gate[origin] = stats.GateStats{Decisions: h.decisions.All(), OpenStreams: h.open.Load(), StreamsClosed: h.closed.All()}
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
