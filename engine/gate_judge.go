package engine

import (
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/access"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/text/emailaddr"
)

// A verdict is the gate's decision about a request.
type verdict struct {
	gate.Decision
	site    *gate.Site // nil: no such host
	origin  string     // of the host
	target  string
	session *authsvc.Session
	byToken bool     // the request bears a token for the gate, valid or not
	room    []string // for the values of identity headers
}

// judge decides about a request for a host of the gate. With touch, it also extends the
// session.
func (gt *gateRoom) judge(rq *request, host, method, target string, header http.Header, touch bool) verdict {
	return (&question{gate: gt, rq: rq, header: header, touch: touch}).judge(host, method, target)
}

// judge decides about the request of a question; see [gateRoom.judge].
func (q *question) judge(host, method, target string) verdict {
	gt, rq := q.gate, q.rq
	site, origin := rq.hosts.Find(host)
	if site == nil {
		return verdict{target: target}
	}
	q.verdict = verdict{site: site, origin: origin, target: target, room: q.values[:]}
	q.asked = gate.Asked{Method: method, Target: target, Header: q.header, Origin: origin, Own: rq.basePath, WebSocketOrigins: gt.websocket[site.Index()], Subject: q}
	q.verdict.Decision = site.Judge(rq.ctx, &q.asked)
	return q.verdict
}

// A question is a request that is being judged. It is one value, so that judging
// allocates once.
type question struct {
	gate    *gateRoom
	rq      *request
	header  http.Header
	touch   bool
	verdict verdict
	asked   gate.Asked
	who     gate.Person
	values  [6]string
	request http.Request // that a proxy asks about
}

// Person implements [gate.Subject].
func (q *question) Person() (*gate.Person, error) {
	session, err := q.gate.asker(q.rq, &q.verdict, q.header, q.touch)
	if err != nil || session == nil {
		return nil, err
	}
	q.verdict.session = session
	q.who = q.gate.person(q.rq, session)
	q.who.Token = q.verdict.byToken
	if q.gate.asks {
		q.asked.Request = accessAt(session, &q.asked, authsvc.RequestClient{IP: q.who.Client, Agent: q.rq.r.UserAgent()}, q.rq.now)
	}
	return &q.who, nil
}

// asker returns the session of the user who sends a request to a host of the gate, or
// nil without one. A token for the gate that comes with a session cookie is refused.
func (gt *gateRoom) asker(rq *request, v *verdict, header http.Header, touch bool) (*authsvc.Session, error) {
	if len(header["Authorization"]) > 0 {
		switch {
		case gt.issuer.bearsPersonal(header):
			v.byToken = true
			return gt.issuer.personalAt(rq, header, v.origin)
		case gt.forwards[v.site.Index()].tokens && gt.issuer.bearsAccess(header, v.origin):
			v.byToken = true
			return gt.issuer.accessAt(rq, header, v.origin)
		}
	}
	session, renewed, err := gt.keeper.readSession(rq, readOptions{touch: touch, full: true})
	if renewed != nil && err == nil && session != nil {
		rq.at().keep(rq, *renewed)
	}
	return session, err
}

// accessAt returns the request in the form that conditions of the gate receive.
func accessAt(session *authsvc.Session, a *gate.Asked, client authsvc.RequestClient, now time.Time) authsvc.AccessRequest {
	path, _, _ := strings.Cut(a.Target, "?")
	_, authority, _ := strings.Cut(a.Origin, "://")
	return authsvc.AccessRequest{Session: session, Method: a.Method, Host: authority, Path: path, Client: client, Time: now}
}

// person returns a session in the form that conditions check.
func (gt *gateRoom) person(rq *request, s *authsvc.Session) gate.Person {
	p := gate.Person{Subject: access.Subject{UserID: s.UserID, Provider: s.Provider, Proved: s.EmailVerified, Claims: s.Claims(), Client: rq.client().IP},
		AgeSet: !s.AuthTime.IsZero(), Age: rq.now.Sub(s.AuthTime)}
	if gt.addresses && s.EmailVerified { // unverified addresses do not count
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
