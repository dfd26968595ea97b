package engine

import (
	"cmp"
	"log/slog"

	"authsvc/engine/internal/fleet"

	"authsvc"
)

// compile checks every field of c and builds the service. The service is only usable if
// the builder has no mistakes.
func compile(c *authsvc.Config) (*Service, *builder) {
	b := &builder{config: c}
	s := &Service{People: People{newStoreys(&fleet.Common{Log: cmp.Or(c.Logger, slog.Default()), Callbacks: c.Callbacks, Events: c.Events})}}
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
		checkOrigins, checkInternalHosts, checkCookies, checkPages, checkRateLimit, checkProxies, checkForwarded, checkHSTS, checkEnums,
	} {
		check(b, s)
	}
	checkAudit(b, s.auditor)
	for _, p := range s.parts {
		if p.check != nil {
			p.check(b)
		}
	}
	b.storeys = s.storeys
	b.base, b.http, b.openIDType, b.mailsCodes = s.site.base, newHTTPClient(b), s.site.dialect.openIDType, s.site.dialect.mailsCodes
	s.closeIdle = b.http.CloseIdleConnections
	if c.Outbound.DangerousTransport != nil {
		s.closeIdle = func() {} // the application may use it elsewhere
		b.warn("the application's own transport calls the identity providers: the addresses that it reaches are not checked")
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
