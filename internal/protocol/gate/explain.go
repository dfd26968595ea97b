package gate

import "context"

// A Reading is one way in which a server may read a request, with the decision of a
// rule for it.
type Reading struct {
	Path, Method string
	Rule         int // its number in Host.Rules, -1: Default
	Decision
}

// Explain is like Judge, and also returns every reading. The decision is the strictest
// of the readings' decisions. If it does not depend on rules, there are no readings.
func (s *Site) Explain(ctx context.Context, a *Asked) (Decision, []Reading) {
	d := s.Judge(ctx, a)
	path, isPath := pathOf(a.Target)
	methods, known := methodsOf(a.Method, overrides(a.Header, a.Target), nil)
	all, few := readings(path, nil)
	if d.Verdict == Unjudged || !isPath || !known || !few || !a.mayUpgrade() || a.isOwnServiceWorker() {
		return d, nil
	}
	var list []Reading
	for _, reading := range all {
		for _, method := range methods {
			for _, allow := range s.rulesFor(nil, method, reading, nil) {
				list = append(list, Reading{reading, method, s.number(allow), allow.judge(ctx, a, d.Person)})
			}
		}
	}
	return d, list
}

// number returns the configured number of a rule, or -1 for the default.
func (s *Site) number(a *Allow) int {
	for i := range s.host.Rules {
		if &s.host.Rules[i].Allow == a {
			return i
		}
	}
	return -1
}

// String returns the verdict's name for programs.
func (v Verdict) String() string {
	return [...]string{"allowed", "reauthenticate", "sign_in", "forbidden", "unjudged", "malformed"}[v]
}
