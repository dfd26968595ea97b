package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/gate"
)

// A GateQuestion is a request for a program behind the gate that nobody sends.
type GateQuestion struct {
	Method string // default GET
	// URL is absolute. What follows its host is judged as it stands.
	URL    string
	Header http.Header
	// Session is who asks, nil without a session; its claims are Claims.
	Session *authsvc.Session
	Claims  authsvc.Claims
	// Token: by a personal access token of theirs for the host, in place of a
	// session. The AuthTime, the Provider and the claims then count for nothing.
	Token  bool
	Client authsvc.RequestClient
	Time   time.Time // default: now
}

// A GateExplanation is what the gate decides about a request, and why.
type GateExplanation struct {
	// Host is the number of the host in Config.Gate.Hosts, -1 if there is none for
	// the URL, and Origin what it is reached at.
	Host   int
	Origin string
	// Verdict is allowed, sign_in, reauthenticate, forbidden, malformed (the target
	// or the method cannot be judged), or not_served without a host.
	Verdict string
	Reason  string // of forbidden and malformed
	// MaxAge, of reauthenticate, is what the sign-in may be old.
	MaxAge time.Duration
	Err    error // of a condition that failed
	// Decides is the number of the reading in Readings whose rule is the
	// strictest, the first of several; -1 if none decides.
	Decides  int
	Readings []GateReading
}

// A GateReading is one way in which servers may read a request. All have to pass.
type GateReading struct {
	Path, Method string
	// Rule is the number of the rule in GateHost.Rules, -1 for GateHost.Default,
	// and Match its pattern.
	Rule    int
	Match   string
	Verdict string
	Reason  string
}

// DryRunGate asks the rules of the gate about a request. The error says that the
// URL is none, or that the claims are not JSON.
func (o *Operator) DryRunGate(ctx context.Context, q GateQuestion) (GateExplanation, error) {
	e := GateExplanation{Host: -1, Verdict: "not_served", Decides: -1}
	scheme, rest, ok := strings.Cut(q.URL, "://")
	end := strings.IndexAny(rest+"/", "/?#")
	host, target := rest[:end], rest[end:]
	if !ok || scheme == "" || host == "" {
		return e, &authsvc.ConfigError{Field: "URL", Problem: "is not absolute", Fix: "write https://app.example.com/path"}
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	raw, err := json.Marshal(q.Claims)
	if err != nil {
		return e, err
	}
	site, origin := o.site.hosts.Find(host)
	if site == nil || !strings.HasPrefix(origin, strings.ToLower(scheme)+"://") {
		return e, nil
	}
	e.Host, e.Origin = site.Index(), origin
	d, readings := site.Explain(ctx, o.gateQuestion(o.dryRun(ctx), q, site, origin, target, string(raw)))
	e.Verdict, e.Reason, e.MaxAge, e.Err = d.Verdict.String(), d.Reason, d.MaxAge, d.Err
	for i, r := range readings {
		one := GateReading{Path: r.Path, Method: r.Method, Rule: r.Rule, Verdict: r.Verdict.String(), Reason: r.Reason}
		if r.Rule >= 0 {
			one.Match = o.gateRoom.matches[e.Host][r.Rule]
		}
		if e.Decides < 0 && r.Verdict == d.Verdict && r.MaxAge == d.MaxAge {
			e.Decides = i
		}
		e.Readings = append(e.Readings, one)
	}
	return e, nil
}

// gateQuestion is a question as the gate asks it.
func (h *storeys) gateQuestion(rq *request, q GateQuestion, site *gate.Site, origin, target, claims string) *gate.Asked {
	if rq.now = q.Time; rq.now.IsZero() {
		rq.now = h.fleet.Now()
	}
	asked := &gate.Asked{Method: q.Method, Target: target, Header: q.Header, Origin: origin, WebSocketOrigins: h.gateRoom.websocket[site.Index()]}
	if asked.Method == "" {
		asked.Method = http.MethodGet
	}
	asked.Subject = func() (*gate.Person, error) {
		if q.Session == nil {
			return nil, nil
		}
		with := *q.Session
		if with.Internal().Kept = claims; q.Token {
			with.Internal().Kept, with.AuthTime, with.Provider = "", time.Time{}, ""
		}
		who := h.gateRoom.person(rq, &with)
		who.Client, who.Token = q.Client.IP, q.Token
		asked.Request = accessAt(&with, asked, q.Client, rq.now)
		return who, nil
	}
	return asked
}
