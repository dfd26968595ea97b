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

// A GateQuestion describes a hypothetical request for a program behind the gate.
type GateQuestion struct {
	Method string // default GET
	// URL is absolute. The part after its host is judged as it stands.
	URL    string
	Header http.Header
	// Session is the session of the request; nil: there is none. Set Claims to its
	// claims.
	Session *authsvc.Session
	Claims  authsvc.Claims
	// Token means that the request has a personal access token of the user for the host
	// instead of a session. AuthTime, Provider and the claims are then ignored.
	Token  bool
	Client authsvc.RequestClient
	Time   time.Time // default: now
}

// A GateExplanation holds the gate's decision about a request and the reasons for it.
type GateExplanation struct {
	// Host is the index of the host in Config.Gate.Hosts, or -1 if there is none for
	// the URL. Origin is the address of that host.
	Host   int
	Origin string
	// Verdict is allowed, sign_in, reauthenticate, forbidden, malformed (the target or
	// the method cannot be judged), or not_served (there is no host for the URL).
	Verdict string
	Reason  string // for forbidden and malformed
	// MaxAge is the maximum age of the sign-in, if Verdict is reauthenticate.
	MaxAge time.Duration
	Err    error // error of a condition that failed
	// Decides is the index in Readings of the reading with the strictest rule. If there
	// are several, it is the first; if none decides, it is -1.
	Decides  int
	Readings []GateReading
}

// A GateReading is one way in which servers may read a request. Every reading must
// pass.
type GateReading struct {
	Path, Method string
	// Rule is the index of the rule in GateHost.Rules, or -1 for GateHost.Default.
	// Match is its pattern.
	Rule    int
	Match   string
	Verdict string
	Reason  string
}

// DryRunGate checks a request against the rules of the gate. It returns an error if the
// URL is not absolute or if the claims cannot be encoded as JSON.
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

// gateQuestion returns a question in the form that the gate takes.
func (h *storeys) gateQuestion(rq *request, q GateQuestion, site *gate.Site, origin, target, claims string) *gate.Asked {
	if rq.now = q.Time; rq.now.IsZero() {
		rq.now = h.fleet.Now()
	}
	asked := &gate.Asked{Method: q.Method, Target: target, Header: q.Header, Origin: origin, WebSocketOrigins: h.gateRoom.websocket[site.Index()]}
	if asked.Method == "" {
		asked.Method = http.MethodGet
	}
	asked.Subject = gate.SubjectFunc(func() (*gate.Person, error) {
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
		return &who, nil
	})
	return asked
}
