package engine

import (
	"sync"
	"sync/atomic"

	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/gate"
	"authsvc/stats"
)

// A hostMeter counts what the gate does at one host.
type hostMeter struct {
	decisions fleet.Counter[stats.GateDecision]
	open      atomic.Int64
	closed    fleet.Counter[stats.StreamEnd]
}

// meters holds the meters of the hosts. Services that replace one another by
// Reconfigure share it.
type meters struct {
	mu    sync.Mutex
	hosts map[string]*hostMeter
}

// host returns the meter of a host of the gate.
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

// decided counts the decision about a request for the gate.
func (gt *gateRoom) decided(rq *request, v *verdict) {
	decision := stats.GateForbidden
	if v.site == nil {
		gt.count(rq, v, decision)
		return
	}
	switch v.Verdict {
	case gate.Allowed:
		if decision = stats.GateAllow; v.session == nil {
			decision = stats.GateAnonymous
		}
	case gate.SignIn:
		if decision = stats.GateUnauthenticated; navigates(rq) || isFrame(rq.r.Header) {
			decision = stats.GateSignIn
		}
	case gate.Stale:
		decision = stats.GateStale
	case gate.Malformed:
		decision = stats.GateMalformed
	case gate.Unjudged:
		decision = stats.GateError
	}
	gt.count(rq, v, decision)
}

// count counts a decision at the host of a verdict.
func (gt *gateRoom) count(rq *request, v *verdict, d stats.GateDecision) {
	if v.site == nil {
		gt.allMeters.host("").decisions.Add(d)
		return
	}
	gt.meters[v.site.Index()].decisions.Add(d)
}
