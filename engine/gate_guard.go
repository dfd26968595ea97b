package engine

import (
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/access"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/handover"
	"authsvc/internal/protocol/upstream"
	"authsvc/internal/text/emailaddr"
)

// gateRoom is what the configuration of the gate compiles to.
type gateRoom struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	issuer  *issuer
	desk    *desk

	handOver      handover.Keys
	marker        string // of the cookie that says: the gate has just sent this browser to where it may pass
	attemptPrefix string // of the cookies of hand-overs that wait

	websocket   [][]string // by the number of the host
	forwards    []forwards
	matches     [][]string // of its rules
	upstreams   []http.Handler
	budget      *upstream.Budget
	claims      []func(name string) bool // that a host with a cookie of its own is told
	proxies     []netip.Prefix           // that may ask
	headers     []identityHeader
	recheck     time.Duration
	tooLong     atomic.Bool // a value that was left out was logged
	dropped     atomic.Bool // a header that was left out was logged
	notAsserted atomic.Bool // an assertion that could not be made was logged
	assertions  assertions
	overdue     gate.Overdue
	idle        []func() // close idle connections to upstreams

	addresses bool         // a condition is about addresses
	asks      bool         // a condition has a function, which wants to know the request
	meters    []*hostMeter // by the number of the host
	allMeters *meters
	streams   streams

	satellites map[string]*route
}

// Guard is [Service.Guard].
func (gt *gateRoom) Guard(next http.Handler) http.Handler {
	if next == nil {
		next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gt.site.request(r).respond(w, notServed) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := gt.site.request(r)
		rq.route = &gateRoute
		v := gt.judge(rq, r.Host, r.Method, targetOf(r), r.Header, true)
		gt.decided(rq, &v)
		h := w.Header()
		varyCookie(h)
		if v.Verdict != gate.Allowed || v.site == nil {
			rq.respond(w, gt.turnAway(rq, v))
			return
		}
		st := gt.watch(r, v)
		defer st.done()
		h["Cache-Control"] = hNoStore // the program may say otherwise
		for i := range rq.set {
			h.Add("Set-Cookie", rq.set[i].Line(gt.site.names.Secure))
		}
		to := next
		if u := gt.upstreams[v.site.Index()]; u != nil {
			if to = u; !upstream.Keeps(r) {
				rq.respond(w, refused(problemMalformed))
				return
			}
		}
		inner := r.WithContext(st)
		inner.Header = gt.identify(gt, r, v)
		to.ServeHTTP(w, inner)
	})
}

// EndStreams is [Service.EndStreams].
func (gt *gateRoom) EndStreams() { gt.streams.end() }

// GatedHost is [Service.GatedHost].
func (gt *gateRoom) GatedHost(host string) int {
	if site, _ := gt.site.hosts.Find(host); site != nil {
		return site.Index()
	}
	return -1
}

// IdentityHeaders is [Service.IdentityHeaders].
func (gt *gateRoom) IdentityHeaders() []string {
	var names []string
	for _, h := range gt.headers {
		names = append(names, h.name)
	}
	return names
}

// targetOf is the target of a request as it came.
func targetOf(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") || r.RequestURI == "*" {
		return r.RequestURI
	}
	return r.URL.RequestURI() // of an absolute target, or a request that no server has read
}

// A verdict is what the gate thinks of a request.
type verdict struct {
	gate.Decision
	site    *gate.Site // nil: no such host
	origin  string     // of the host
	target  string
	session *authsvc.Session
	byToken bool // the session stands for a personal access token, or for none that is good
}

// judge decides about a request for a host of the gate. With touch it extends the
// session.
func (gt *gateRoom) judge(rq *request, host, method, target string, header http.Header, touch bool) verdict {
	v := verdict{target: target}
	if v.site, v.origin = rq.hosts.Find(host); v.site == nil {
		return v
	}
	asked := &gate.Asked{Method: method, Target: target, Header: header, Origin: v.origin, Own: rq.basePath, WebSocketOrigins: gt.websocket[v.site.Index()]}
	asked.Subject = func() (*gate.Person, error) {
		session, err := gt.asker(rq, &v, header, touch)
		if err != nil || session == nil {
			return nil, err
		}
		v.session = session
		who := gt.person(rq, session)
		who.Token = v.byToken
		if gt.asks {
			asked.Request = accessAt(session, asked, authsvc.RequestClient{IP: who.Client, Agent: rq.r.UserAgent()}, rq.now)
		}
		return who, nil
	}
	v.Decision = v.site.Judge(rq.ctx, asked)
	return v
}

// asker returns the session of who asks for a host of the gate, nil without one. A
// personal access token comes before cookies, which then may not be there.
func (gt *gateRoom) asker(rq *request, v *verdict, header http.Header, touch bool) (*authsvc.Session, error) {
	if gt.issuer.bearsPersonal(header) {
		v.byToken = true
		return gt.issuer.personalAt(rq, header, v.origin)
	}
	session, renewed, err := gt.keeper.readSession(rq, readOptions{touch: touch, full: true})
	if renewed != nil && err == nil && session != nil {
		rq.at().keep(rq, *renewed)
	}
	return session, err
}

// accessAt is what conditions of the gate are asked about.
func accessAt(session *authsvc.Session, a *gate.Asked, client authsvc.RequestClient, now time.Time) authsvc.AccessRequest {
	path, _, _ := strings.Cut(a.Target, "?")
	_, authority, _ := strings.Cut(a.Origin, "://")
	return authsvc.AccessRequest{Session: session, Method: a.Method, Host: authority, Path: path, Client: client, Time: now}
}

// person is a session as conditions see it.
func (gt *gateRoom) person(rq *request, s *authsvc.Session) *gate.Person {
	p := &gate.Person{Subject: access.Subject{UserID: s.UserID, Provider: s.Provider, Proved: s.EmailVerified, Claims: s.Claims(), Client: rq.client().IP},
		AgeSet: !s.AuthTime.IsZero(), Age: rq.now.Sub(s.AuthTime)}
	if gt.addresses && s.EmailVerified { // others do not count
		p.Email, _ = emailaddr.Normalise(s.Email)
	}
	return p
}

func (v *verdict) userID() string {
	if v.session == nil {
		return ""
	}
	return v.session.UserID
}
