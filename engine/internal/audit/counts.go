package audit

import (
	"authsvc"
	"authsvc/engine/internal/fleet"
	"authsvc/stats"
)

// counts counts events, repetitions that are not recorded included.
type counts struct {
	events  fleet.Counter[counted]
	signIns fleet.Counter[counted]
}

// count counts an event. Its name is a constant of the engine. The provider of a
// sign-in is configured.
func (au *Log) count(e authsvc.AuditEvent) {
	outcome := au.outcomeOf(e.Name)
	au.counts.events.Add(counted{e.Name, outcome})
	if e.Provider != "" && au.kinds[e.Name].SignIn {
		au.counts.signIns.Add(counted{e.Provider, outcome})
	}
}

// A counted is the name of an event or the id of a provider, with an outcome.
type counted struct {
	of      string
	outcome authsvc.AuditOutcome
}

// Counts sets the numbers of events and of sign-ins.
func (au *Log) Counts(st *stats.Stats) {
	st.AuditEvents, st.SignIns = map[authsvc.AuditOutcome]map[string]uint64{}, map[string]map[authsvc.AuditOutcome]uint64{}
	for k, n := range au.counts.events.All() {
		if st.AuditEvents[k.outcome] == nil {
			st.AuditEvents[k.outcome] = map[string]uint64{}
		}
		st.AuditEvents[k.outcome][k.of] = n
	}
	for k, n := range au.counts.signIns.All() {
		if st.SignIns[k.of] == nil {
			st.SignIns[k.of] = map[authsvc.AuditOutcome]uint64{}
		}
		st.SignIns[k.of][k.outcome] = n
	}
}

// ContinueCounts makes au share the counts of another log.
func (au *Log) ContinueCounts(before *Log) { au.counts = before.counts }
