package engine

import (
	"cmp"
	"log/slog"
	"maps"

	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/engine/internal/limit"

	"authsvc"
)

// compile checks every field of c and makes the service that it describes.
// What it returns is only usable if the builder has no mistakes.
func compile(c *authsvc.Config) (*Service, *builder) {
	b := &builder{config: c}
	s := &Service{People: People{raise(&fleet.Given{Log: cmp.Or(c.Logger, slog.Default()), Callbacks: c.Callbacks, Events: c.Events})}}
	s.Keys = Keys{s.issuer}
	s.site.custom, s.site.proxies, s.emailRoom.showRefusal = c.Pages, c.TrustedProxies, c.ShowRefusal
	s.keeper.customSession = c.Callbacks.JWT != nil || c.Callbacks.Session != nil
	for _, check := range []func(*builder, *Service){
		checkCompat, useAdapter, checkURL, checkSecrets, checkSession, checkShape,
	} {
		check(b, s)
	}
	checkAccount(b, s.accountRoom)
	checkSignUp(b, s.desk)
	for _, check := range []func(*builder, *Service){
		checkOrigins, checkInternalHosts, checkCookies, checkPages, checkRateLimit, checkProxies, checkHSTS, checkEnums,
	} {
		check(b, s)
	}
	checkTokenStorage(b, s.vault)
	checkAudit(b, s.auditor)
	checkTokens(b, s.tokenRoom)
	checkPersonalTokens(b, s.issuer)
	b.storeys = s.storeys
	b.base, b.http, b.openIDType, b.mailsCodes = s.site.base, newHTTPClient(c), s.site.dialect.openIDType, s.site.dialect.mailsCodes
	s.closeIdle = b.http.CloseIdleConnections
	if c.Outbound.DangerousTransport != nil {
		s.closeIdle = func() {} // others may use it
		b.warn("a transport of the application's makes the calls to identity providers: the addresses that it reaches are not checked")
	}
	flows, order := b.providers()
	s.site.flows, s.site.positions = flows, b.positions
	checkConditions(b, s)
	checkGate(b, s.gateRoom)
	checkEmailChange(b, s.accountRoom, order)
	checkNotices(b, s.mailing, order)
	makePages(b, s, order)
	if len(b.mistakes) == 0 {
		s.describeProviders(order)
		s.fleet.Open()
		s.deriveKeys(c)
		s.connect()
	}
	return s, b
}

// allRoutes is the HTTP interface below the base path. ":provider" is a configured
// provider's id, ":code" an error word. Paths are matched exactly and as escaped: no
// cleaning, no trailing slash, HEAD is not GET.
func (h *storeys) allRoutes() map[string]*route {
	all := map[string]*route{}
	for _, table := range []map[string]*route{webRoutes(h.site), signInRoutes(h.desk), sessionRoutes(h.keeper), emailRoutes(h.emailRoom),
		accountRoutes(h.accountRoom), oauthRoutes(h.oauthRoom), tokenRoutes(h.tokenRoom), gateRoutes(h.gateRoom)} {
		maps.Copy(all, table)
	}
	return all
}

// connect gives the requests what they need of the storeys above.
func (h *storeys) connect() {
	h.desk.home = h.site.origin
	if h.accountRoom.on {
		h.mailing.accountURL = h.site.base + "/account"
		h.desk.home = h.mailing.accountURL
	}
	h.site.routes, h.gateRoom.satellites = h.allRoutes(), satellites(h.gateRoom)
	h.site.hooks = hooks{sessionID: h.keeper.sessions.id, place: func(host string) place { return h.keeper.sessionPlace(host) },
		elsewhere: h.gateRoom.elsewhere, waits: h.desk.waits}
}

// storeys are all of them.
type storeys struct {
	given           *fleet.Given
	fleet           *fleet.Fleet
	auditor         *audit.Log
	limits          *limit.Limits
	site            *site
	keeper          *keeper
	mailing         *mailing
	vault           *vault
	issuer          *issuer
	desk            *desk
	oauthRoom       *oauthRoom
	emailRoom       *emailRoom
	credentialsRoom *credentialsRoom
	accountRoom     *accountRoom
	gateRoom        *gateRoom
	tokenRoom       *tokenRoom
}

// auditKinds are the events of all storeys and rooms, in the order of docs/audit.md.
var auditKinds = [][]audit.Kind{signInEvents, credentialsEvents, requestEvents, sessionEvents, emailEvents, mailEvents, vaultEvents, accountEvents, oauthEvents,
	tokenEvents, issuerEvents, gateEvents, serviceEvents}

// raise builds the storeys, empty.
func raise(g *fleet.Given) storeys {
	h := storeys{given: g}
	h.fleet = fleet.New(g)
	h.auditor = audit.New(g, h.fleet, auditKinds)
	h.limits = limit.New(g)
	h.site = &site{Given: g, fleet: h.fleet, auditor: h.auditor, limits: h.limits, bodies: newBodySlots(), warned: newWarned()}
	h.keeper = &keeper{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site}
	h.mailing = &mailing{Given: g, fleet: h.fleet, auditor: h.auditor, limits: h.limits, site: h.site}
	h.vault = &vault{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing,
		refreshes: &refreshCalls{all: map[string]*refreshCall{}}}
	h.issuer = &issuer{Given: g, fleet: h.fleet, auditor: h.auditor, limits: h.limits, site: h.site, keeper: h.keeper}
	h.desk = &desk{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing, vault: h.vault}
	h.oauthRoom = &oauthRoom{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, vault: h.vault, desk: h.desk}
	h.emailRoom = &emailRoom{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing, desk: h.desk}
	h.credentialsRoom = &credentialsRoom{Given: g, fleet: h.fleet, limits: h.limits, site: h.site, desk: h.desk, queue: &limit.Queue{}}
	h.accountRoom = &accountRoom{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing, vault: h.vault, desk: h.desk}
	h.gateRoom = &gateRoom{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, issuer: h.issuer, desk: h.desk, allMeters: &meters{}}
	h.tokenRoom = &tokenRoom{Given: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, issuer: h.issuer, issued: &counter[string]{}}
	return h
}

// serviceEvents are those of the service and of methods about users.
var serviceEvents = []audit.Kind{
	{Name: "user.blocked", Outcome: authsvc.AuditSuccess, Meaning: "Block took all access from a user."},
	{Name: "user.block_failed", Outcome: authsvc.AuditFailed, Meaning: "Block failed, or there is no such user."},
	{Name: "user.unblocked", Outcome: authsvc.AuditSuccess, Meaning: "Unblock lets a user sign in again."},
	{Name: "user.created", Outcome: authsvc.AuditSuccess, Meaning: "CreateUser or Invite stored a user. Those who sign up are in `sign_in.succeeded`."},
	{Name: "user.invited", Outcome: authsvc.AuditSuccess, Meaning: "Invite queued a mail with a link to a user."},
	{Name: "configuration.changed", Outcome: authsvc.AuditSuccess, Meaning: "The program took over another configuration."},
	{Name: "configuration.change_failed", Outcome: authsvc.AuditFailed, Meaning: "Another configuration could not be taken over; the one before holds."},
	{Name: "service.started", Outcome: authsvc.AuditSuccess, Meaning: "New started a service. It is recorded before New returns, and not by Reconfigure."},
	{Name: "service.stopped", Outcome: authsvc.AuditSuccess, Meaning: "Close ended a service that no other took over from by Reconfigure."},
}
