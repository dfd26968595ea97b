package engine

import (
	"net/http"

	"authsvc"
)

// Guard passes requests for the hosts of Config.Gate on to next if the rules let
// them, with the headers of Config.Gate.Headers, and those for hosts with an
// Upstream there; next finds the session by [Service.Session] and may be nil if
// all have one. People who have to sign in first are sent to the sign-in page;
// everything else that may not pass is answered 401 or 403, 400 if its path cannot
// be judged, 421 if its host is not configured, and 503 if sessions cannot be read.
//
// The routes of the service have to be reachable at each host, below the path of
// URL: at other hosts than that of URL they are those of the gate alone.
//
// When the person signs out, or may not pass any more for other reasons, the
// context of a request ends, within Config.Gate.Recheck. That, or Close, ends what
// an Upstream still sends; next has to see to it itself.
func (s *Service) Guard(next http.Handler) http.Handler {
	return s.gateRoom.Guard(next)
}

// EndStreams ends the requests that Guard has passed on and that are still being
// answered, now and from now on; an http.Server that shuts down would wait for
// them. Close does it too.
func (s *Service) EndStreams() {
	s.gateRoom.EndStreams()
}

// GatedHost returns the number in Config.Gate.Hosts of the host that a Host header
// names, -1 if there is none.
func (s *Service) GatedHost(host string) int {
	return s.gateRoom.GatedHost(host)
}

// IdentityHeaders returns the names of the headers of Config.Gate.Headers, in canonical
// form: those that a program behind the gate learns who is asking from.
func (s *Service) IdentityHeaders() []string {
	return s.gateRoom.IdentityHeaders()
}

// ChecksGate reports whether a proxy asks by this request whether another may pass.
// ServeHTTP answers that whatever Host says, and only to Config.Gate.Proxies; a
// program that serves the host of URL only lets it through as well.
func (s *Service) ChecksGate(r *http.Request) bool {
	return s.gateRoom.ChecksGate(r)
}

// InternalHost reports whether a Host header names one of Config.InternalHosts.
// ServeHTTP refuses there whatever they may not be asked for; a program that
// serves the host of URL only lets these through as well.
func (s *Service) InternalHost(host string) bool {
	return s.site.InternalHost(host)
}

// SessionID returns the ID of the SessionView of a session; a session that is not
// listed has one all the same.
func (s *Service) SessionID(of *authsvc.Session) string {
	return s.keeper.SessionID(of)
}
