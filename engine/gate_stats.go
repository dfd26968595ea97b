package engine

import (
	"sync"
	"sync/atomic"

	"authsvc"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/gate"
)

// A hostMeter counts what the gate does at one host.
type hostMeter struct {
	decisions fleet.Counter[authsvc.GateDecision]
	open      atomic.Int64
	closed    fleet.Counter[authsvc.StreamEnd]
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
		gt.allMeters.host("").decisions.Add(d)
		return
	}
	gt.meters[v.site.Index()].decisions.Add(d)
}
