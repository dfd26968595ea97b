package engine

import (
	"net/http"
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

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A requestKey is a key of Stats.Requests.
type requestKey = struct {
	Route, Method string
	Status        int
}

// countAnswer counts the request by its route, its method and the status of its answer.
func countAnswer(rq *request) {
	k := requestKey{Route: "other", Method: "other", Status: rq.to.status}
	if rq.route != nil {
		k.Route = rq.route.name
	}
	switch m := rq.r.Method; m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
		k.Method = m
	}
	if k.Status == 0 {
		k.Status = http.StatusOK
	}
	rq.answered.Add(k)
}
