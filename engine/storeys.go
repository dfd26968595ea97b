package engine

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/access"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/handover"
	"authsvc/internal/protocol/upstream"
	"authsvc/internal/seal"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text/pages"
)

// The engine stands on storeys. Each knows those below it, and none above; the rooms
// on top do not know each other. A test holds that.

// site is what requests need: addresses, cookies, pages, routes and providers.
type site struct {
	*fleet.Given
	dialect *dialect
	fleet   *fleet.Fleet
	auditor *audit.Log
	limits  *limit.Limits

	publicURL
	origins origins
	hosts   *gate.Table // nil: no programs are behind the gate
	proxies []netip.Prefix
	routes  map[string]*route
	hooks   hooks
	bodies  *bodySlots
	warned  warned

	flows     map[string]flow // by the id of their provider
	positions map[string]int  // in Config.Providers, likewise
	views     []pages.Provider
	custom    authsvc.Pages
	pages     *pages.Pages
	siteName  string
	hsts      []string // value of the header, nil: not sent

	names       cookie.Names
	csrf        csrfTokens
	typedKey    *seal.Sealer
	typedCookie string         // what was typed into a form that was refused
	beaconLimit *limit.Limiter // of what browsers report
}

// keeper keeps sessions: it makes, reads, lists and ends them.
type keeper struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site

	sessions      sessions
	places        places // where they are read
	lifetime      lifetime
	customSession bool                // callbacks take part in GET session
	shape         *sessionshape.Shape // what sessions have besides; nil: nothing
	revoked       *revocations
	seen          *seenSessions
	handleKey     *seal.MAC // of what sessions are called in lists
	enteredCookie string    // the session at a host that has a cookie of its own
}

// mailing sends mails to people: it composes, counts, queues and delivers them.
type mailing struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	limits  *limit.Limits
	site    *site

	mails       *mailQueue
	notices     notices
	addresses   mailer       // how people change their address; nil: they cannot
	accountURL  string       // of the account page; "": there is none
	key         *seal.Sealer // of queued mails
	codeKey     *seal.MAC
	linkKeys    []*seal.MAC // one a secret; none where hashSecrets are
	hashSecrets []string    // that NextAuth.js hashes links with

	mailboxRate               authsvc.Rate
	mailboxLimit, noticeLimit *limit.Limiter
	linkLimit                 *limit.Limiter // of links and codes that are tried
	clientLimit, networkLimit *limit.Limiter // the part of all mails for one client, and for one IPv6 /48
	totalLimit, reservedLimit *limit.Limiter // all mails, and those reserved for known devices; reservedLimit may be nil
}

// vault keeps accounts at identity providers and their tokens.
type vault struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing

	tokens    tokenStorage
	refreshes *refreshCalls
}

// issuer issues tokens to programs, and judges personal access tokens.
type issuer struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	limits  *limit.Limits
	site    *site
	keeper  *keeper

	signing       *signing
	audiences     []audience     // that tokens are issued for
	pats          personalTokens // how personal access tokens are
	personalLimit *limit.Limiter
}

// desk signs people in and out, and lets them prove who they are.
type desk struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing
	vault   *vault

	admit          func(identity) identity // adapts an identity to a service without storage
	linksAsked     bool                    // signed-in users may ask to link an identity
	linksSignedIn  bool                    // a sign-in while signed in links, without being asked
	linksFresh     bool                    // asking to link needs a fresh proof
	canStepUp      bool                    // people can be asked for a fresh proof of who they are
	asksAgain      bool                    // a way to sign in is one that asks whoever is signed in there
	cancelsOnce    bool                    // an attempt that was cancelled is remembered as used
	keepFirstProof bool
	freshWithin    time.Duration      // how recent a fresh proof is
	allowed        []access.Condition // one has to hold; empty: all sign-ins may
	invitedOnly    bool               // nobody becomes a user by signing in
	newDomains     []access.Condition // who may become one; empty: everybody

	home          string // where a fresh proof leads that nothing else was asked for
	providersJSON []byte
	stateKey      *seal.MAC
	txKey         *seal.Sealer
	deviceKey     *seal.Sealer
	freshKey      *seal.Sealer
	signInLimit   *limit.Limiter
	accountLimit  *limit.Limiter // of changes of one user's account

	txPrefix         string // attempts that wait for a provider
	lastCookie       string // the provider that was used last
	deviceCookieName string // to which accounts the browser signed in
	pendingCookie    string // a sign-in that waits; see pendingSignIn
}

// oauthRoom is sign-in at identity providers.
type oauthRoom struct {
	*fleet.Given
	fleet   *fleet.Fleet
	site    *site
	desk    *desk
	vault   *vault
	auditor *audit.Log
	keeper  *keeper

	tenantIDs   bool // see dialect
	logoutLimit *limit.Limiter
}

// emailRoom is sign-in by mail.
type emailRoom struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing
	desk    *desk

	showRefusal  bool
	linksPerHour int // to one mailbox, as the verify-request page says; -1: no limit
	requestsKey  *seal.Sealer
	cookie       string // the links that the browser asked for
}

// credentialsRoom is sign-in by a check of the application's.
type credentialsRoom struct {
	*fleet.Given
	fleet  *fleet.Fleet
	limits *limit.Limits
	site   *site
	desk   *desk

	accountLimit *limit.Limiter
	turn         *limit.Limiter
	queue        *limit.Queue
}

// accountRoom is the account page.
type accountRoom struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing
	vault   *vault
	desk    *desk

	on        bool                                           // there is the account page
	edits     bool                                           // people may change their name
	deletes   bool                                           // people may delete their account
	grace     time.Duration                                  // until that is done
	handleKey *seal.MAC                                      // of what accounts are called in lists
	entries   func(*request, *authsvc.Session) []pages.Entry // what the page leads to, of other rooms
}

// tokenRoom is POST token.
type tokenRoom struct {
	*fleet.Given
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	issuer  *issuer

	limit    *limit.Limiter
	metadata []byte // the metadata of the issuer of tokens
	issued   *counter[string]
}

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
