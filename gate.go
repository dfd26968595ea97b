package authsvc

import (
	"net/netip"
	"time"
)

// Gate puts other programs behind sign-in: [authsvc/engine.Service.Guard] lets requests for
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
	// MaxRequests is how many requests are with Upstreams at once, each of which
	// takes a connection of the client and one to the program; a client, by its
	// address or /64, has a quarter of them. At the limit the slowest of more than 5
	// seconds is ended, and without one the answer is 503. Default 4096, from 8.
	MaxRequests int
	// UpstreamTimeout is how long a program may take until its answer begins:
	// default 60 s.
	UpstreamTimeout time.Duration
}

// A GateHost is the program behind one origin.
type GateHost struct {
	// Origin is what browsers reach it at, such as https://app.example.com, or
	// https://*.apps.example.com for all names one label below. Where the session
	// cookie does not get to (it does on the host of URL, on any port, and below
	// Cookies.Domain), the host has a cookie of its own, which people who are signed
	// in get without a word. Session and Require go by that one there. With strategy
	// jwt it has the user's id and name, the address if it is proved, and of the
	// claims "groups" and those that the host's conditions name, all if one is a
	// function; the JWT and Session callbacks are not asked.
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
	// PassHeaders are headers of clients that arrive although others like them do not:
	// X-Original-URL, X-Rewrite-URL, X-Original-Host, X-Host and Proxy, which some
	// programs obey, and names with another character than letters, digits and -, such
	// as X_Api_Key, which programs read differently. At most 50.
	PassHeaders []string
	// Upgrades are the protocols, as in the header Upgrade, that requests may go on
	// with. A WebSocket by GET, with its key and version 13, needs no entry; h2c and TLS
	// cannot have one. Of other requests the wish for another protocol does not arrive.
	Upgrades []string
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
// asking, with at most six "-" in each. Nil is the default of each, and an empty list
// leaves it out. What clients send by these names, in any case and with another
// character for -, does not arrive. Values are ASCII: other bytes, % and , are percent-encoded as UTF-8.
type GateHeaders struct {
	UserID []string // X-Auth-User-Id
	Email  []string // X-Auth-Email; empty if the address is not proved
	Name   []string // X-Auth-Name
	Groups []string // X-Auth-Groups: the claim groups, with commas
	// Assertion is a token as of POST token, signed with ES256: the only header that
	// a program can trust without trusting what is between, if it verifies it, with
	// package bearer for example. Its audience is the origin; it says name, email
	// and groups, too, and is good for 5 minutes. Left out by default.
	Assertion []string
}

// Stats are what a service has counted, over all that took over from one another
// by Reconfigure, and how things are at the moment. Every key is of the
// configuration or one of the constants: what clients send adds none.
type Stats struct {
	// Gate is what the gate did, by the Origin of Config.Gate.Hosts; "" for requests
	// that named no such host, or came from nobody who may ask.
	Gate map[string]GateStats
	// TokensIssued are the tokens of POST token, by the id of the audience.
	TokensIssued map[string]uint64
	// SigningKeyAge is how long the keys that sign have done so, by algorithm;
	// without a store they do since the epoch, and none is here.
	SigningKeyAge map[SigningAlg]time.Duration
}

// GateStats are those of one host of the gate.
type GateStats struct {
	Decisions     map[GateDecision]uint64
	OpenStreams   int64 // requests that the gate let pass and that are being answered
	StreamsClosed map[StreamEnd]uint64
}

// A GateDecision is what became of a request for a program behind the gate.
type GateDecision string

// The decisions.
const (
	GateAllow           GateDecision = "allow"           // somebody who is signed in
	GateAnonymous       GateDecision = "anonymous"       // anyone may
	GateSignIn          GateDecision = "signin"          // a person was sent to sign in
	GateUnauthenticated GateDecision = "unauthenticated" // a program has to sign in
	GateStale           GateDecision = "stale"           // the session is too old for the rule
	GateForbidden       GateDecision = "forbidden"
	GateMalformed       GateDecision = "malformed"
	GateUntrusted       GateDecision = "untrusted" // not from a proxy that may ask
	GateError           GateDecision = "error"     // the session could not be read
)

// A StreamEnd is why the gate ended a request that was being answered.
type StreamEnd string

// The ends.
const (
	StreamRefused StreamEnd = "refused" // it may not pass any more: signed out, most often
	StreamError   StreamEnd = "error"   // whether it may could not be read
	StreamStopped StreamEnd = "stopped" // EndStreams or Close
)
