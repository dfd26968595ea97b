package engine

import (
	"net/http"

	"authsvc"
)

// Guard applies the rules of Config.Gate to requests for its hosts. A request that may
// pass goes to the host's Upstream or, without one, to next, with the headers of
// Config.Gate.Headers. next finds the session with [Service.Session], and may be nil if
// all hosts have an Upstream. People who must sign in first are sent to the sign-in
// page. Other refused requests are answered 401 or 403; 400 if the path
// cannot be judged, 421 if the host is not configured, and 503 if sessions cannot be
// read.
//
// The routes of the service must be reachable at each host, below the path of URL. Only
// the host of URL has all of them; other hosts have the routes of the gate.
//
// If the user signs out, or may no longer pass for another reason, the context of a
// request ends within Config.Gate.Recheck. That, or Close, ends what an Upstream is
// still sending; next must watch the context itself.
func (s *Service) Guard(next http.Handler) http.Handler {
	return s.gateRoom.Guard(next)
}

// EndStreams ends the requests that Guard has passed on and that are still being
// answered, and all later ones: an http.Server that shuts down would wait for them.
// Close does the same.
func (s *Service) EndStreams() {
	s.gateRoom.EndStreams()
}

// GatedHost returns the index in Config.Gate.Hosts of the host that a Host header
// names, -1 if there is none.
func (s *Service) GatedHost(host string) int {
	return s.gateRoom.GatedHost(host)
}

// IdentityHeaders returns the names of the headers of Config.Gate.Headers, in canonical
// form. They tell a program behind the gate who is asking.
func (s *Service) IdentityHeaders() []string {
	return s.gateRoom.IdentityHeaders()
}

// ChecksGate reports whether r is a proxy's question whether another request may pass.
// ServeHTTP answers such requests for any Host, but only to Config.Gate.Proxies. A
// program that otherwise serves only the host of URL must let them through.
func (s *Service) ChecksGate(r *http.Request) bool {
	return s.gateRoom.ChecksGate(r)
}

// Forwarded returns r or, if Config.ForwardedHost lets X-Forwarded-Host stand for Host, a
// copy of r whose Host is the host of URL. ServeHTTP and Guard do the same themselves. A
// program that serves only some hosts calls Forwarded before it looks at Host.
func (s *Service) Forwarded(r *http.Request) *http.Request {
	if s.gateRoom.ChecksGate(r) { // there, X-Forwarded-Host is part of the question
		return r
	}
	return s.site.forwarded(r)
}

// InternalHost reports whether a Host header names one of Config.InternalHosts. At
// these hosts, ServeHTTP answers only the requests that the documentation of
// Config.InternalHosts names, and refuses all others. A program that otherwise serves only the host of URL must pass
// requests to these hosts on to ServeHTTP.
func (s *Service) InternalHost(host string) bool {
	return s.site.InternalHost(host)
}

// SessionID returns the ID of a session, the one that its SessionView has. A session
// that is not listed has an ID, too.
func (s *Service) SessionID(of *authsvc.Session) string {
	return s.keeper.SessionID(of)
}
