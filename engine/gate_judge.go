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
	byToken bool // the request bears a personal access token, valid or not
}

// judge decides about a request for a host of the gate. With touch, it also extends the
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

// asker returns the session of the user who sends a request to a host of the gate, or
// nil without one. A personal access token takes precedence over cookies, which are
// then ignored.
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

// accessAt returns the request in the form that conditions of the gate receive.
func accessAt(session *authsvc.Session, a *gate.Asked, client authsvc.RequestClient, now time.Time) authsvc.AccessRequest {
	path, _, _ := strings.Cut(a.Target, "?")
	_, authority, _ := strings.Cut(a.Origin, "://")
	return authsvc.AccessRequest{Session: session, Method: a.Method, Host: authority, Path: path, Client: client, Time: now}
}

// person returns a session in the form that conditions check.
func (gt *gateRoom) person(rq *request, s *authsvc.Session) *gate.Person {
	p := &gate.Person{Subject: access.Subject{UserID: s.UserID, Provider: s.Provider, Proved: s.EmailVerified, Claims: s.Claims(), Client: rq.client().IP},
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
