// Package stats has the counters of a service, which [authsvc/engine.Service.Stats]
// returns.
package stats

import (
	"time"

	"authsvc"
)

// Stats holds the counters of a service, which Reconfigure carries over, and its
// current state. All keys come from the configuration or are constants: client input
// adds none.
type Stats struct {
	// Gate holds the gate's counters by the Origin of Config.Gate.Hosts. The key "" is
	// for requests that named no such host, and for checks that came from an address
	// outside Config.Gate.Proxies.
	Gate map[string]GateStats
	// TokensIssued counts the tokens of POST token by the id of the audience.
	TokensIssued map[string]uint64
	// Requests counts answered requests for the service's own routes, and those that
	// the gate answered itself. Route is the path below Config.URL as in the
	// documentation, such as "callback/:provider", or one of "/", "asset", "gate" and
	// "other". Method is GET, HEAD, POST, OPTIONS or "other".
	Requests map[struct {
		Route, Method string
		Status        int
	}]uint64
	// SignIns counts the results of sign-ins, by the id of the provider and the outcome.
	// A wrong code or password counts, too.
	SignIns map[string]map[authsvc.AuditOutcome]uint64
	// AuditEvents counts audit events by their outcome and their name, including
	// repeated refusals that were not recorded.
	AuditEvents map[authsvc.AuditOutcome]map[string]uint64
	// SigningKeyAge is how long the current signing keys have been signing, by
	// algorithm. Keys without a store have no such start and are left out.
	SigningKeyAge map[authsvc.SigningAlg]time.Duration
}

// GateStats holds the counters of one host of the gate.
type GateStats struct {
	Decisions     map[GateDecision]uint64
	OpenStreams   int64 // requests that passed the gate and are still being answered
	StreamsClosed map[StreamEnd]uint64
}

// A GateDecision is the gate's decision about a request.
type GateDecision string

// The decisions.
const (
	GateAllow           GateDecision = "allow"           // a signed-in user
	GateAnonymous       GateDecision = "anonymous"       // the rule allows anyone
	GateSignIn          GateDecision = "signin"          // a browser was sent to sign in
	GateUnauthenticated GateDecision = "unauthenticated" // a script or tool must sign in
	GateStale           GateDecision = "stale"           // the session is too old for the rule
	GateForbidden       GateDecision = "forbidden"
	GateMalformed       GateDecision = "malformed"
	GateUntrusted       GateDecision = "untrusted" // not from a proxy that may ask
	GateError           GateDecision = "error"     // cannot read the session
)

// A StreamEnd is the reason why the gate ended a request that was being answered.
type StreamEnd string

// The reasons.
const (
	StreamRefused StreamEnd = "refused" // it may no longer pass, usually because of a sign-out
	StreamError   StreamEnd = "error"   // cannot read whether it may still pass
	StreamStopped StreamEnd = "stopped" // EndStreams or Close
)
