package engine

import (
	"maps"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/engine/internal/limit"
	"authsvc/internal/seal"
	"authsvc/internal/text/pages"
)

// A part is a storey or a room and what it adds to the engine. Only the field named of
// must be set.
type part struct {
	of      any                                            // the storey or room itself, which may use only its own fields
	check   func(*builder)                                 // compiles its options
	cookies func(*cookie.Names)                            // names its cookies
	keys    func(*seal.Ring)                               // derives its keys
	routes  func() map[string]*route                       // see allRoutes
	events  []audit.Kind                                   // rows of docs/audit.md
	account func(*request, *authsvc.Session) []pages.Entry // links on the account page
}

// parts returns all storeys and rooms, from the ground up. Each may hold those before
// it, and no room may hold another. No other function
// lists all rooms.
func parts(h *storeys) []part {
	return []part{
		{of: h.site, cookies: h.site.nameCookies, keys: h.site.deriveKeys, routes: func() map[string]*route { return webRoutes(h.site) }, events: requestEvents},
		{of: h.keeper, cookies: h.keeper.nameCookies, keys: h.keeper.deriveKeys, routes: func() map[string]*route { return sessionRoutes(h.keeper) }, events: sessionEvents},
		{of: h.mailing, keys: h.mailing.deriveKeys, events: mailEvents},
		{of: h.vault, check: func(b *builder) { checkTokenStorage(b, h.vault) }, keys: h.vault.deriveKeys, events: vaultEvents},
		{of: h.issuer, check: func(b *builder) { checkPersonalTokens(b, h.issuer) }, keys: h.issuer.deriveKeys, events: issuerEvents},
		{of: h.desk, cookies: h.desk.nameCookies, keys: h.desk.deriveKeys, routes: func() map[string]*route { return signInRoutes(h.desk) }, events: signInEvents},
		{of: h.oauthRoom, routes: func() map[string]*route { return oauthRoutes(h.oauthRoom) }, events: oauthEvents},
		{of: h.emailRoom, cookies: h.emailRoom.nameCookies, keys: h.emailRoom.deriveKeys, routes: func() map[string]*route { return emailRoutes(h.emailRoom) }, events: emailEvents},
		{of: h.credentialsRoom, events: credentialsEvents},
		{of: h.accountRoom, keys: h.accountRoom.deriveKeys, routes: func() map[string]*route { return accountRoutes(h.accountRoom) }, events: accountEvents},
		{of: h.gateRoom, cookies: h.gateRoom.nameCookies, keys: h.gateRoom.deriveKeys, routes: func() map[string]*route { return gateRoutes(h.gateRoom) }, events: gateEvents},
		{of: h.tokenRoom, check: func(b *builder) { checkTokens(b, h.tokenRoom) }, routes: func() map[string]*route { return tokenRoutes(h.tokenRoom) }, events: tokenEvents},
		personalPart(h),
	}
}

// storeys holds all storeys and rooms.
type storeys struct {
	common          *fleet.Common
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
	parts           []part
}

// newStoreys creates the storeys and rooms, not yet configured.
func newStoreys(g *fleet.Common) storeys {
	h := storeys{common: g}
	h.fleet = fleet.New(g)
	h.auditor = audit.New(g, h.fleet)
	h.limits = limit.New(g)
	h.site = &site{Common: g, fleet: h.fleet, auditor: h.auditor, limits: h.limits, bodies: newBodySlots(), warned: newWarned(), answered: &fleet.Counter[requestKey]{}}
	h.keeper = &keeper{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site}
	h.mailing = &mailing{Common: g, fleet: h.fleet, auditor: h.auditor, limits: h.limits, site: h.site}
	h.vault = &vault{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing,
		refreshes: &refreshCalls{all: map[string]*refreshCall{}}}
	h.issuer = &issuer{Common: g, fleet: h.fleet, auditor: h.auditor, limits: h.limits, site: h.site, keeper: h.keeper, mailing: h.mailing}
	h.desk = &desk{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing, vault: h.vault}
	h.oauthRoom = &oauthRoom{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, vault: h.vault, desk: h.desk}
	h.emailRoom = &emailRoom{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing, desk: h.desk}
	h.credentialsRoom = &credentialsRoom{Common: g, fleet: h.fleet, limits: h.limits, site: h.site, desk: h.desk, queue: &limit.Queue{}}
	h.accountRoom = &accountRoom{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, mailing: h.mailing, vault: h.vault, desk: h.desk}
	h.gateRoom = &gateRoom{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, issuer: h.issuer, desk: h.desk, allMeters: &meters{}}
	h.tokenRoom = &tokenRoom{Common: g, fleet: h.fleet, auditor: h.auditor, site: h.site, keeper: h.keeper, issuer: h.issuer, issued: &fleet.Counter[string]{}}
	h.parts = parts(&h)
	for _, p := range h.parts {
		h.auditor.Know(p.events)
	}
	h.auditor.Know(serviceEvents)
	return h
}

// allRoutes returns the HTTP interface below the base path. ":provider" is a configured
// provider's id, ":code" an error word. Paths are matched exactly and in escaped form:
// no cleaning, no trailing slash, and HEAD is not GET.
func (h *storeys) allRoutes() map[string]*route {
	all := map[string]*route{}
	for _, p := range h.parts {
		if p.routes != nil {
			maps.Copy(all, p.routes())
		}
	}
	for path, rt := range all {
		if rt.name = path; path == "" {
			rt.name = "/"
		}
	}
	return all
}

// connect gives lower storeys what requests need from the storeys above.
func (h *storeys) connect() {
	h.desk.home = h.site.origin
	if h.accountRoom.on {
		h.mailing.accountURL = h.site.base + "/account"
		h.desk.home = h.mailing.accountURL
	}
	h.accountRoom.entries = h.entries
	h.site.routes = h.allRoutes()
	h.site.hooks = hooks{sessionID: h.keeper.sessions.id, place: func(host string) place { return h.keeper.sessionPlace(host) },
		elsewhere: h.gateRoom.elsewhere, waits: h.desk.waits}
}

// entries returns the links on the account page.
func (h *storeys) entries(rq *request, s *authsvc.Session) (list []pages.Entry) {
	for _, p := range h.parts {
		if p.account != nil {
			list = append(list, p.account(rq, s)...)
		}
	}
	return list
}

// allEvents returns the audit events of all storeys and rooms, and of Service.
func allEvents() (list []audit.Kind) {
	h := newStoreys(&fleet.Common{})
	for _, p := range h.parts {
		list = append(list, p.events...)
	}
	return append(list, serviceEvents...)
}

// serviceEvents are the audit events of the service and of methods about users.
var serviceEvents = []audit.Kind{
	{Name: "user.blocked", Outcome: authsvc.AuditSuccess, Meaning: "Block revoked all access of a user."},
	{Name: "user.block_failed", Outcome: authsvc.AuditFailed, Meaning: "Block failed, or there is no such user."},
	{Name: "user.unblocked", Outcome: authsvc.AuditSuccess, Meaning: "Unblock lets a user sign in again."},
	{Name: "user.created", Outcome: authsvc.AuditSuccess, Meaning: "CreateUser or Invite stored a user. A sign-up is reported as `sign_in.succeeded`."},
	{Name: "user.invited", Outcome: authsvc.AuditSuccess, Meaning: "Invite queued a mail with a link to a user."},
	{Name: "configuration.changed", Outcome: authsvc.AuditSuccess, Meaning: "The program applied a new configuration."},
	{Name: "configuration.change_failed", Outcome: authsvc.AuditFailed, Meaning: "A new configuration could not be applied; the earlier one stays in effect."},
	{Name: "service.started", Outcome: authsvc.AuditSuccess, Meaning: "New started a service. New records this event before it returns; Reconfigure does not record it."},
	{Name: "service.stopped", Outcome: authsvc.AuditSuccess, Meaning: "Close stopped a service that Reconfigure had not replaced."},
}
