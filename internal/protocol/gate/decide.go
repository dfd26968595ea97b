package gate

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc/internal/protocol/access"
)

// Allow says who may make a request. The zero value allows every signed-in user.
type Allow struct {
	Anyone bool // even without a session
	Nobody bool
	AnyOf  []Condition // at least one must hold for a signed-in user
}

// A Condition holds if all its parts hold.
type Condition struct {
	Access access.Condition
	MaxAge time.Duration // maximum time since the user authenticated; 0: any
	Tokens bool          // personal access tokens may also pass
	When   func(context.Context, *Asked) (bool, error)
}

// An Asked is a request to a program behind the gate.
type Asked struct {
	Method, Target string
	Header         http.Header // of the request; Method and Target are not taken from it
	Origin         string      // of the requested host
	// WebSocketOrigins lists origins other than Origin that may open WebSockets.
	WebSocketOrigins []string
	// Own is the path below which people sign in.
	Own string
	// Request is a value of the caller's for When.
	Request any
	// Subject finds the signed-in user. It is asked at most once.
	Subject Subject
}

// A Subject finds the signed-in user, or nil without a session.
type Subject interface{ Person() (*Person, error) }

// A SubjectFunc is a function as a Subject.
type SubjectFunc func() (*Person, error)

// Person implements [Subject].
func (f SubjectFunc) Person() (*Person, error) { return f() }

// A Person is a signed-in user.
type Person struct {
	access.Subject
	Token  bool          // authenticated by a personal access token, not by signing in
	Age    time.Duration // since the user authenticated
	AgeSet bool          // Age is known
}

// A Verdict is the result of judging a request.
type Verdict int

// The verdicts, from the mildest to the strictest.
const (
	Allowed   Verdict = iota // a user is signed in, or anyone may pass
	Stale                    // the user must sign in again: the session is too old for a rule
	SignIn                   // no one is signed in
	Forbidden                // signed in and not allowed, or no one is allowed
	Unjudged                 // the session or a condition could not be checked
	Malformed                // the target cannot be judged
)

// A Decision is the result of Judge.
type Decision struct {
	Verdict Verdict
	Person  *Person       // nil: no one is signed in, or the session was not read
	MaxAge  time.Duration // with Stale: the shortest that a rule requires
	Reason  string        // with Forbidden and Malformed, for the log
	Err     error         // with Unjudged, and with Forbidden if a condition failed
}

// Judge decides about a request. Every reading of its path must pass with every method
// that its headers name.
func (s *Site) Judge(ctx context.Context, a *Asked) Decision {
	var names [2 * maxMethods]string
	methods, ok := methodsOf(a.Method, overrides(a.Header, a.Target), names[:0])
	var room [4]*Allow
	rules, judged := s.rulesOf(a.Target, methods, room[:0])
	if !ok || !judged {
		return Decision{Verdict: Malformed, Reason: "the target or the method is malformed or ambiguous"}
	}
	if !a.mayUpgrade() {
		return Decision{Verdict: Forbidden, Reason: "a WebSocket from another origin"}
	}
	if a.isOwnServiceWorker() {
		return Decision{Verdict: Forbidden, Reason: "a service worker script below the path where people sign in"}
	}
	who, err := a.Subject.Person()
	if err != nil {
		return Decision{Verdict: Unjudged, Err: err}
	}
	d := Decision{Person: who}
	for _, rule := range rules {
		one := rule.judge(ctx, a, who)
		if one.Verdict > d.Verdict || one.Verdict == Stale && d.Verdict == Stale && one.MaxAge < d.MaxAge {
			one.Person = who
			d = one
		}
	}
	return d
}

// isOwnServiceWorker reports whether a request is for the script of a service worker that could
// read the credentials of people signing in. A worker's scope is everything below its
// script's directory.
func (a *Asked) isOwnServiceWorker() bool {
	if len(a.Header["Service-Worker"]) == 0 || a.Own == "" {
		return false
	}
	path, _ := pathOf(a.Target)
	all, _ := readings(path, nil)
	return slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(lower(s), lower(a.Own)+"/") })
}

// mayUpgrade reports whether a request opens no WebSocket, or opens one from an allowed
// origin. Browsers send Origin with every WebSocket request (RFC 6455 section 4.1).
// They also send cookies, without asking the user.
func (a *Asked) mayUpgrade() bool {
	origins := a.Header["Origin"]
	opens := len(a.Header["Upgrade"]) > 0 || len(a.Header["Sec-Websocket-Version"]) > 0 // proxies that ask may omit Upgrade
	if !opens || len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	if strings.EqualFold(origins[0], a.Origin) {
		return true
	}
	for _, o := range a.WebSocketOrigins {
		if strings.EqualFold(origins[0], o) {
			return true
		}
	}
	return false
}

// judge decides by one rule.
func (r *Allow) judge(ctx context.Context, a *Asked, who *Person) Decision {
	switch {
	case r.Nobody:
		return Decision{Verdict: Forbidden, Reason: "no one is allowed"}
	case r.Anyone:
		return Decision{}
	case who == nil:
		return Decision{Verdict: SignIn}
	case len(r.AnyOf) == 0 && who.Token:
		return Decision{Verdict: Forbidden, Reason: "personal access tokens are not allowed"}
	case len(r.AnyOf) == 0:
		return Decision{}
	}
	d := Decision{Verdict: Forbidden, Reason: "no condition matches"}
	for i := range r.AnyOf {
		one := r.AnyOf[i].judge(ctx, a, who)
		if one.Verdict == Allowed {
			return one
		}
		longer := one.Verdict == Stale && d.Verdict == Stale && one.MaxAge > d.MaxAge
		if one.Verdict < d.Verdict || longer || one.Err != nil && d.Verdict == Forbidden {
			d = one
		}
	}
	if d.Verdict == Forbidden && d.Err == nil {
		d.Reason += r.misshapen(who)
	}
	return d
}

// misshapen returns an addition to the reason of a refusal: a claim of the person has a
// shape that no condition can match.
func (r *Allow) misshapen(who *Person) string {
	for i := range r.AnyOf {
		if shape := r.AnyOf[i].Access.Misshapen(&who.Subject); shape != "" {
			return ": " + shape
		}
	}
	return ""
}

func (c *Condition) judge(ctx context.Context, a *Asked, who *Person) Decision {
	none := Decision{Verdict: Forbidden, Reason: "no condition matches"}
	if who.Token && (!c.Tokens || c.MaxAge > 0) {
		return none
	}
	if !c.Access.Empty() && !c.Access.Holds(&who.Subject) || c.Access.Empty() && c.MaxAge == 0 && c.When == nil && !c.Tokens {
		return none
	}
	if c.When != nil {
		holds, err := c.When(ctx, a)
		if err != nil {
			return Decision{Verdict: Forbidden, Reason: "a condition failed", Err: err}
		}
		if !holds {
			return none
		}
	}
	if c.MaxAge > 0 && (!who.AgeSet || who.Age > c.MaxAge) {
		return Decision{Verdict: Stale, MaxAge: c.MaxAge}
	}
	return Decision{}
}
