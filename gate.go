package authsvc

import (
	"net/netip"
	"time"
)

// Gate puts other programs behind sign-in: [authsvc/engine.Service.Guard] applies rules
// to requests for their hosts, and tells the programs who is asking.
type Gate struct {
	// Hosts lists the programs, at most 500.
	Hosts []GateHost
	// Proxies lists the proxies that may ask, at gate/forward-auth, gate/auth-request
	// and gate/ext-authz, whether the requests that they get may pass. Each must be
	// among TrustedProxies. Default: TrustedProxies.
	Proxies []netip.Prefix
	// Headers names the headers that tell the programs who is asking.
	Headers GateHeaders
	// Recheck is how often a request that is still being answered is checked again:
	// WebSockets, event streams and downloads end when the user signs out. Default
	// 30 s, from 5 s to 10 min.
	Recheck time.Duration
	// MaxRequests limits the requests that were passed on to an Upstream and are still
	// being answered. Each takes a connection of the client and one to the program. One
	// client, by its address or /64, may have a quarter of them. At the limit, the
	// slowest request that has taken more than 5 seconds is ended; if there is none,
	// the answer is 503. Default 4096, from 8.
	MaxRequests int
	// UpstreamTimeout is how long a program may take to begin its answer, default 60 s.
	UpstreamTimeout time.Duration
}

// A GateHost is the program behind one origin.
type GateHost struct {
	// Origin is the address at which browsers reach the program, such as
	// https://app.example.com, or https://*.apps.example.com for all names one label
	// below. The session cookie reaches the host of URL, on any port, and hosts below
	// Cookies.Domain. Any other host has its own cookie, which signed-in users get
	// without signing in again; the methods Session and Require of Service use it
	// there. With strategy jwt this cookie holds the user's id and name, the email
	// address if it is proved, and the claims "groups" and those that the host's
	// conditions name, or all claims if a condition is a function. The JWT and Session
	// callbacks are not called.
	Origin string
	// Upstream is the destination of requests that pass: http://host:port, https://… or
	// unix:/path. Empty: the handler that Guard was given.
	Upstream string
	// Default applies to paths without a rule. Zero: every signed-in user.
	Default Allow
	// Rules lists at most 200 rules. The most specific pattern wins, whatever their
	// order.
	Rules []GateRule
	// WebSocketOrigins lists further origins, beside Origin, that may open WebSockets.
	WebSocketOrigins []string
	// PassHeaders lists client headers to pass on that are otherwise removed:
	// X-Original-URL, X-Rewrite-URL, X-Original-Host, X-Host and Proxy, which some
	// programs obey, and names with characters other than letters, digits and -, such
	// as X_Api_Key, which programs read differently. At most 50.
	PassHeaders []string
	// Upgrades lists the protocols, as in the Upgrade header, that requests may switch
	// to. A WebSocket by GET, with its key and version 13, needs no entry; h2c and TLS
	// cannot have one. All other requests are passed on without asking for another
	// protocol.
	Upgrades []string
}

// A GateRule says who may make the requests that match a pattern.
type GateRule struct {
	// Match is a pattern of [http.ServeMux] without a host, such as "/admin/" or
	// "GET /public/{page}". A path that servers could take for another must pass the
	// rules of both: /Admin, /admin%2Fx and /public/../admin must also pass the rules
	// of /admin/.
	Match string
	Allow Allow
}

// Allow says who may pass. The zero value allows every signed-in user.
type Allow struct {
	Anyone bool        // also without signing in
	Nobody bool        // denies everyone; overrides the other fields
	AnyOf  []Condition // a signed-in user must match at least one
}

// GateHeaders names the headers that tell a program who is asking. Each name has at
// most six "-". Nil means the default, and an empty list omits the header. Client
// headers with these names, in any case and with any character in place of -, are
// removed. Values are ASCII: other bytes, % and , are percent-encoded as UTF-8.
type GateHeaders struct {
	UserID []string // X-Auth-User-Id
	Email  []string // X-Auth-Email; empty unless the address is proved
	Name   []string // X-Auth-Name
	Groups []string // X-Auth-Groups: the claim groups, separated by commas
	// Assertion is a token like the tokens of POST token, signed with ES256. It is the
	// only header that a program can trust without trusting everything in between, if
	// the program verifies it, for example with package bearer. Its audience is the
	// origin. It also holds name, email and groups, and is valid for a minute. Omitted by
	// default.
	Assertion []string
}
