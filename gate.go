package authsvc

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc/internal/access"
	"authsvc/internal/emailaddr"
	"authsvc/internal/gate"
)

// Gate puts other programs behind sign-in: [Service.Guard] lets requests for
// their hosts pass by rules, and tells them who is asking.
type Gate struct {
	// Hosts are the programs, at most 500.
	Hosts []GateHost
	// Proxies may ask, by gate/forward-auth, gate/auth-request and gate/ext-authz,
	// whether the requests that they get may pass. They are among TrustedProxies,
	// which is the default.
	Proxies []netip.Prefix
	// Headers are what the programs learn who is asking from.
	Headers GateHeaders
	// Recheck is how often a request that is still being answered is judged
	// again: WebSockets, event streams and downloads end when the person signs
	// out. Default 30 s, from 5 s to 10 min.
	Recheck time.Duration
	// UpstreamTimeout is how long a program may take until its answer begins:
	// default 60 s.
	UpstreamTimeout time.Duration
}

// A GateHost is the program behind one origin.
type GateHost struct {
	// Origin is what browsers reach it at, such as https://app.example.com, or
	// https://*.apps.example.com for all names one label below. It is on the host
	// of URL, on any port, or below Cookies.Domain: the session cookie has to get
	// there.
	Origin string
	// Upstream is where requests that pass go: http://host:port, https://… or
	// unix:/path. Empty: to the handler that Guard was given.
	Upstream string
	// Default is for paths without a rule: whoever is signed in.
	Default Allow
	// Rules, at most 200. The most specific pattern wins, in whatever order they
	// stand.
	Rules []GateRule
	// WebSocketOrigins may open WebSockets, beside Origin.
	WebSocketOrigins []string
}

// A GateRule says who may make the requests that match a pattern.
type GateRule struct {
	// Match is a pattern of [http.ServeMux] without a host, such as "/admin/" or
	// "GET /public/{page}". Paths that servers could take for one another have to
	// pass the rules of all of them: /Admin, /admin%2Fx and /public/../admin those
	// of /admin/, too.
	Match string
	Allow Allow
}

// Allow says who may pass. The zero value is everybody who is signed in.
type Allow struct {
	Anyone bool        // without signing in, too
	Nobody bool        // comes before everything else
	AnyOf  []Condition // one has to hold for whoever is signed in
}

// GateHeaders are the names of the headers by which a program learns who is
// asking. Nil is the default of each, and an empty list leaves it out. What
// clients send by these names, in any case and with _ for -, does not arrive.
// Values are ASCII: other bytes, % and , are percent-encoded as UTF-8.
type GateHeaders struct {
	UserID []string // X-Auth-User-Id
	Email  []string // X-Auth-Email; empty if the address is not proved
	Name   []string // X-Auth-Name
	Groups []string // X-Auth-Groups: the claim groups, with commas
}

// gated is what the configuration of the gate compiles to.
type gated struct {
	table     *gate.Table // nil: there are no hosts
	websocket [][]string  // by the number of the host
	upstreams []http.Handler
	proxies   []netip.Prefix // that may ask
	headers   []identityHeader
	recheck   time.Duration
	tooLong   atomic.Bool // a value that was left out was logged
	idle      []func()    // close idle connections to upstreams

	streams    context.Context // of requests that are being answered
	endStreams context.CancelFunc
}

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
	if next == nil {
		next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.request(r).respond(w, notServed) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := s.request(r)
		rq.route = &gateRoute
		v := rq.judge(r.Host, r.Method, targetOf(r), r.Header, true)
		h := w.Header()
		h.Add("Vary", "Cookie")
		if v.Verdict != gate.Allowed || v.site == nil {
			rq.respond(w, rq.turnAway(v))
			return
		}
		ctx, done := s.watch(r.Context(), r, v)
		defer done()
		h["Cache-Control"] = hNoStore // the program may say otherwise
		for i := range rq.set {
			h.Add("Set-Cookie", rq.set[i].line(s.names.secure))
		}
		to := next
		if u := s.gate.upstreams[v.site.Index()]; u != nil {
			to = u
		}
		inner := r.WithContext(context.WithValue(ctx, sessionKey{s}, v.session))
		inner.Header = s.gate.identify(s, r.Header, v)
		to.ServeHTTP(w, inner)
	})
}

// EndStreams ends the requests that Guard has passed on and that are still being
// answered, now and from now on; an http.Server that shuts down would wait for
// them. Close does it too.
func (s *Service) EndStreams() { s.gate.endStreams() }

// GatedHost returns the number in Config.Gate.Hosts of the host that a Host header
// names, -1 if there is none.
func (s *Service) GatedHost(host string) int {
	if site, _ := s.gate.table.Find(host); site != nil {
		return site.Index()
	}
	return -1
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
	session *Session
}

// judge decides about a request for a host of the gate. With touch it extends the
// session.
func (rq *request) judge(host, method, target string, header http.Header, touch bool) verdict {
	v := verdict{target: target}
	if v.site, v.origin = rq.gate.table.Find(host); v.site == nil {
		return v
	}
	asked := &gate.Asked{Method: method, Target: target, Header: header, Origin: v.origin, WebSocketOrigins: rq.gate.websocket[v.site.Index()]}
	asked.Subject = func() (*gate.Person, error) {
		session, renewed, err := rq.readSession(readOptions{touch: touch, full: true})
		if err != nil || session == nil {
			return nil, err
		}
		if renewed != nil {
			rq.setSession(renewed.value, renewed.expires)
		}
		v.session = session
		path, _, _ := strings.Cut(target, "?")
		who := rq.person(session)
		asked.Request = AccessRequest{Session: session, Method: method, Host: host, Path: path, Client: RequestClient{who.Client, rq.r.UserAgent()}, Time: rq.now}
		return who, nil
	}
	v.Decision = v.site.Judge(rq.ctx, asked)
	return v
}

// person is a session as conditions see it.
func (rq *request) person(s *Session) *gate.Person {
	p := &gate.Person{Subject: access.Subject{UserID: s.UserID, Provider: s.Provider, Proved: s.EmailVerified, Claims: s.Claims(), Client: rq.clientIP()},
		AgeSet: s.Provider != "", Age: rq.now.Sub(s.AuthTime)}
	if address, err := emailaddr.Normalise(s.Email); err == nil {
		p.Email = address
	}
	return p
}

// watch returns a context that ends when the request may not pass any more, and
// the function that ends the watch.
func (s *Service) watch(parent context.Context, r *http.Request, v verdict) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	stopClosing := context.AfterFunc(s.gate.streams, cancel)
	var mu sync.Mutex
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(s.gate.recheck, func() {
		now := s.request(r.WithContext(ctx)).judge(r.Host, r.Method, v.target, r.Header, false)
		mu.Lock()
		defer mu.Unlock()
		if now.Verdict != gate.Allowed || now.userID() != v.userID() {
			cancel()
		} else if ctx.Err() == nil {
			timer.Reset(s.gate.recheck)
		}
	})
	return ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		cancel()
		timer.Stop()
		stopClosing()
	}
}

func (v *verdict) userID() string {
	if v.session == nil {
		return ""
	}
	return v.session.UserID
}
