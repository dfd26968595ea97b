package engine

import (
	"crypto/sha256"
	"net/netip"
	"sync"
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

// The engine is built in storeys. Each knows the storeys below it and none above. The
// rooms on top do not know each other. A test checks this.

// site holds what requests need: addresses, cookies, pages, routes and providers.
type site struct {
	*fleet.Common
	dialect *dialect
	fleet   *fleet.Fleet
	auditor *audit.Log
	limits  *limit.Limits

	publicURL
	origins origins
	hosts   *gate.Table // nil: no programs are behind the gate
	proxies []netip.Prefix
	// forwardsHost lets the X-Forwarded-Host of a proxy stand for Host.
	forwardsHost bool
	proxyKeys    [][sha256.Size]byte // digests of Config.ProxyKeys
	routes       map[string]*route
	hooks        hooks
	bodies       *bodySlots
	warned       warned
	answered     *fleet.Counter[requestKey]

	flows     map[string]flow // by provider id
	positions map[string]int  // index in Config.Providers, by provider id
	views     []pages.Provider
	custom    authsvc.Pages
	pages     *pages.Pages
	siteName  string
	hsts      []string // header value; nil: not sent

	names       cookie.Names
	csrf        csrfTokens
	typedKey    *seal.Sealer
	typedCookie string         // holds the input of a form that was refused
	beaconLimit *limit.Limiter // for reports of browsers
}

// keeper keeps sessions: it makes, reads, lists and ends them.
type keeper struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site

	sessions      sessions
	places        places // where sessions are read
	lifetime      lifetime
	customSession bool                // callbacks take part in GET session
	shape         *sessionshape.Shape // additional fields of sessions; nil: none
	revoked       *revocations
	seen          *seenSessions
	handleKey     *seal.MAC // for the names of sessions in lists
	enteredCookie string    // session cookie of hosts with a cookie of their own
}

// mailing sends mails to people: it composes, limits, queues and delivers them.
type mailing struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	limits  *limit.Limits
	site    *site

	mails       *mailQueue
	notices     notices
	addresses   mailer       // mails for a change of address; nil: people cannot change it
	accountURL  string       // of the account page; "": it is off
	key         *seal.Sealer // of queued mails
	codeKey     *seal.MAC
	linkKeys    []*seal.MAC // one per secret; none if there are hashSecrets
	hashSecrets []string    // that NextAuth.js hashes links with

	mailboxRate               authsvc.Rate
	mailboxLimit, noticeLimit *limit.Limiter
	plainNoticeLimit          *limit.Limiter // notices without an undo link
	browserLimit              *limit.Limiter // notices of the same new browser
	linkLimit                 *limit.Limiter // for links and codes that are tried
	clientLimit, networkLimit *limit.Limiter // share of all mails for one client, and for one IPv6 /48
	totalLimit, reservedLimit *limit.Limiter // all mails, and the part reserved for known devices; reservedLimit may be nil
}

// vault keeps accounts at identity providers and their tokens.
type vault struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing

	tokens    tokenStorage
	refreshes *refreshCalls
}

// issuer issues tokens to programs, and checks personal access tokens.
type issuer struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	limits  *limit.Limits
	site    *site
	keeper  *keeper
	mailing *mailing

	signing       *signing
	audiences     []audience     // that tokens are issued for
	pats          personalTokens // settings of personal access tokens
	personalLimit *limit.Limiter
}

// desk signs people in and out, and lets them prove who they are.
type desk struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing
	vault   *vault

	admit           func(identity) identity // adapts an identity to a service without storage
	linksAsked      bool                    // signed-in users may ask to link an identity
	linksSignedIn   bool                    // signing in while signed in links, without being asked
	linksFresh      bool                    // asking to link needs a fresh proof
	canStepUp       bool                    // people can be asked for a fresh proof of who they are
	reauthenticates bool                    // at least one way to sign in makes users prove again who they are
	cancelsOnce     bool                    // a cancelled attempt is remembered as used
	keepFirstProof  bool
	freshWithin     time.Duration      // longest age of a fresh proof
	allowed         []access.Condition // one must hold; empty: everyone may sign in
	invitedOnly     bool               // signing in does not create users
	newDomains      []access.Condition // who may become a user; empty: everyone

	home          string   // where a fresh proof leads by default
	issuersStored sync.Map // when the issuers of providers were stored, by the provider's id
	providersJSON []byte
	stateKey      *seal.MAC
	txKey         *seal.Sealer
	deviceKey     *seal.Sealer
	freshKey      *seal.Sealer
	signInLimit   *limit.Limiter
	accountLimit  *limit.Limiter // for changes of one user's account

	txPrefix         string // begins the cookies of attempts that wait for a provider
	lastCookie       string // cookie of the provider that was used last
	deviceCookieName string // cookie of the accounts to which the browser signed in
	pendingCookie    string // cookie of a sign-in that waits; see pendingSignIn
}

// oauthRoom handles sign-in at identity providers.
type oauthRoom struct {
	*fleet.Common
	fleet   *fleet.Fleet
	site    *site
	desk    *desk
	vault   *vault
	auditor *audit.Log
	keeper  *keeper

	tenantIDs   bool // see dialect
	logoutLimit *limit.Limiter
}

// emailRoom handles sign-in by mail.
type emailRoom struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing
	desk    *desk

	showRefusal  bool
	linksPerHour int // to one mailbox, shown on the verify-request page; -1: no limit
	requestsKey  *seal.Sealer
	cookie       string // cookie of the links that the browser asked for
}

// credentialsRoom handles sign-in that the application itself checks.
type credentialsRoom struct {
	*fleet.Common
	fleet  *fleet.Fleet
	limits *limit.Limits
	site   *site
	desk   *desk

	accountLimit *limit.Limiter
	turn         *limit.Limiter
	queue        *limit.Queue
}

// accountRoom handles the account page.
type accountRoom struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	mailing *mailing
	vault   *vault
	desk    *desk

	on          bool                                           // the account page is on
	edits       bool                                           // people may change their name
	deletes     bool                                           // people may delete their account
	grace       time.Duration                                  // time until a deletion is done
	exportLimit *limit.Limiter                                 // for exports of one user's data
	handleKey   *seal.MAC                                      // for the names of accounts in lists
	keepKey     *seal.Sealer                                   // for links that cancel a deletion
	entries     func(*request, *authsvc.Session) []pages.Entry // links to pages of other rooms
}

// tokenRoom handles POST token.
type tokenRoom struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	issuer  *issuer

	limit    *limit.Limiter
	metadata []byte // metadata of the token issuer
	issued   *fleet.Counter[string]
}

// gateRoom holds the compiled configuration of the gate.
type gateRoom struct {
	*fleet.Common
	fleet   *fleet.Fleet
	auditor *audit.Log
	site    *site
	keeper  *keeper
	issuer  *issuer
	desk    *desk

	handOver      handover.Keys
	marker        string // cookie: the gate has just redirected this browser to a page that it may see
	attemptPrefix string // begins the cookies of hand-overs that wait

	websocket   [][]string // by the index of the host
	forwards    []forwards
	matches     [][]string // of the rules of each host
	upstreams   []*upstream.Proxy
	budget      *upstream.Budget
	claims      []func(name string) bool // which claims a host with a cookie of its own receives
	proxies     []netip.Prefix           // may ask whether a request may pass
	headers     []identityHeader
	recheck     time.Duration
	tooLong     atomic.Bool // the log already says that a value was left out
	dropped     atomic.Bool // the log already says that a header was left out
	notAsserted atomic.Bool // the log already says that an assertion could not be made
	assertions  assertions
	overdue     gate.Overdue
	idle        []func() // close idle connections to upstreams

	addresses bool         // a condition depends on addresses
	asks      bool         // a condition has a function, which needs the request
	meters    []*hostMeter // by the index of the host
	allMeters *meters
	streams   streams
}
