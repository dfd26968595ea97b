package engine

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	neturl "net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

func checkCompat(b *builder, s *Service) {
	mode := cmp.Or(b.config.Compat, authsvc.CompatNone)
	if s.site.dialect = newDialect(mode); s.site.dialect == nil {
		b.fail("Compat", fmt.Sprintf("%q is not known", text.Printable(string(mode), 30)), "use none, next-auth-v4 or authjs-v5")
		s.site.dialect = newDialect(authsvc.CompatNone)
	}
}

func checkURL(b *builder, s *Service) {
	raw := b.config.URL
	const fix = "write the public address, such as https://app.example.com or https://app.example.com/my/auth"
	if raw == "" {
		b.fail("URL", "is missing", fix)
		return
	}
	u, err := neturl.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || weburl.Origin(u) == "" {
		problem := "%q is not an address with http or https"
		if badPort(u, err) {
			problem = "%q has a port that is not a number from 1 to 65535"
		}
		b.fail("URL", fmt.Sprintf(problem, text.Printable(raw, 80)), inASCII(raw, fix))
		return
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "//") || u.EscapedPath() != u.Path {
		b.fail("URL", "has more than scheme, host, port and a plain path", fix)
		return
	}
	if u.Scheme == "http" && !weburl.Loopback(u.Hostname()) && !b.config.DangerousInsecureURL {
		b.fail("URL", "is http beyond loopback, where cookies and links can be read in transit",
			"use https, or set DangerousInsecureURL: true in a closed network", "DangerousInsecureURL").Code = "insecure_url"
		u.Scheme = "https" // to find further mistakes
	}
	s.site.origin = weburl.Origin(u)
	s.site.host = strings.TrimPrefix(strings.TrimPrefix(s.site.origin, "https://"), "http://")
	if s.site.basePath = strings.TrimSuffix(u.EscapedPath(), "/"); s.site.basePath == "" {
		s.site.basePath = "/api/auth"
	}
	s.site.base = s.site.origin + s.site.basePath
}

// badPort reports whether an address is wrong because of its port.
func badPort(u *neturl.URL, err error) bool {
	if err != nil {
		return strings.Contains(err.Error(), "invalid port")
	}
	n, bad := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() != "" && (bad != nil || n == 0)
}

func checkHSTS(b *builder, s *Service) {
	d := b.config.HSTS
	switch {
	case d == 0:
	case s.site.origin == "": // an invalid URL is reported by itself
	case d < time.Second:
		b.fail("HSTS", "must be at least 1s", "use a duration such as 8760h")
	case !strings.HasPrefix(s.site.origin, "https://"):
		b.fail("HSTS", "needs a URL with https", "browsers ignore it over http; leave it out", "URL")
	default:
		s.site.hsts = []string{"max-age=" + strconv.FormatInt(int64(d/time.Second), 10)}
	}
}

func checkSession(b *builder, s *Service) {
	o := b.config.Session
	s.keeper.lifetime = lifetime{
		maxAge:    cmp.Or(o.MaxAge, 720*time.Hour),
		updateAge: cmp.Or(o.UpdateAge, 24*time.Hour),
		absolute:  cmp.Or(o.AbsoluteMaxAge, 2160*time.Hour),
	}
	if o.UpdateAge < 0 {
		s.keeper.lifetime.updateAge = 0
	}
	if o.UpdateAge == 0 && s.keeper.lifetime.updateAge >= s.keeper.lifetime.maxAge {
		s.keeper.lifetime.updateAge = s.keeper.lifetime.maxAge / 2
	}
	if o.AbsoluteMaxAge == 0 && s.keeper.lifetime.absolute < s.keeper.lifetime.maxAge {
		s.keeper.lifetime.absolute = s.keeper.lifetime.maxAge
	}
	if s.keeper.lifetime.maxAge < time.Second {
		b.fail("Session.MaxAge", "must be at least 1s", "use a duration such as 720h")
	}
	if s.keeper.lifetime.absolute < s.keeper.lifetime.maxAge {
		b.fail("Session.AbsoluteMaxAge", "is shorter than Session.MaxAge", "make it at least as long; 2160h is the default", "Session.MaxAge").Code = "absolute_max_age_short"
	}
	if s.keeper.lifetime.updateAge > s.keeper.lifetime.maxAge {
		b.fail("Session.UpdateAge", "is longer than Session.MaxAge", "sessions would end before they are extended; 24h is the default", "Session.MaxAge").Code = "update_age_long"
	}
	switch strategy := cmp.Or(o.Strategy, b.defaultStrategy); strategy {
	case authsvc.StrategyDatabase:
		b.needStorage("database_without_storage", "Session.Strategy", "is database, but there is no storage", "set Adapter, or use jwt")
		s.keeper.revoked.enabled = false // database sessions do not use revocations
		if b.config.Callbacks.JWT != nil {
			b.warn("the JWT callback is never called with strategy database, where sessions have no token: use the callbacks Claims or Session", "field", "Callbacks.JWT")
		}
		s.keeper.sessions = &databaseSessions{keeper: s.keeper, plain: s.site.dialect.foreignSessions, slides: fleet.NewReplayCache()}
	case authsvc.StrategyJWT:
		s.keeper.sessions = &jwtSessions{keeper: s.keeper, shared: s.site.dialect.foreignSessions, leeway: s.site.dialect.leeway}
	default:
		b.fail("Session.Strategy", fmt.Sprintf("%q is not known", text.Printable(string(strategy), 30)), "use database or jwt")
	}
}

// checkShape compiles the fields that sessions have besides name, address and picture.
func checkShape(b *builder, s *Service) {
	o := b.config.Session
	shape, mistakes := sessionshape.Compile(sessionshape.Options{Claims: o.Claims, Expose: o.Expose, Columns: columnsOf(s.common.Adapter),
		ShowsID: s.site.dialect.showsID, AnyClaim: b.config.Callbacks.Claims != nil})
	for _, m := range mistakes {
		b.fail("Session."+m.Of+"."+m.Name, m.Problem, m.Fix).Code = m.Code
	}
	s.keeper.shape = shape
}

// columnsOf returns the names of the columns in User.Extra.
func columnsOf(a adapter.Adapter) []string {
	if columns, ok := a.(adapter.UserColumns); ok {
		return columns.UserColumns()
	}
	return nil
}

func checkOrigins(b *builder, s *Service) {
	s.site.origins.redirect = map[string]bool{s.site.origin: true}
	s.site.origins.trusted = map[string]bool{}
	for i, raw := range b.config.AllowedRedirects {
		if origin, ok := weburl.ExactOrigin(raw); ok {
			s.site.origins.redirect[origin] = true
		} else {
			b.fail(fmt.Sprintf("AllowedRedirects[%d]", i), fmt.Sprintf("%q is not an origin", text.Printable(raw, 80)), inASCII(raw, "write scheme, host and port only, such as https://www.example.com"))
		}
	}
	for i, raw := range b.config.TrustedOrigins {
		key := fmt.Sprintf("TrustedOrigins[%d]", i)
		origin, ok := weburl.ExactOrigin(raw)
		switch {
		case !ok:
			b.fail(key, fmt.Sprintf("%q is not an origin", text.Printable(raw, 80)), inASCII(raw, "write scheme, host and port only, such as https://www.example.com"))
		case s.site.origin == "":
		case !weburl.SameSite(origin, s.site.origin):
			b.fail(key, fmt.Sprintf("%q is on another site than the service", origin),
				"browsers send no Lax cookies from there; serve both under one registrable domain, with the same scheme", "URL")
		default:
			s.site.origins.redirect[origin], s.site.origins.trusted[origin] = true, true
		}
	}
}

func checkInternalHosts(b *builder, s *Service) {
	s.site.origins.internal = map[string]bool{}
	for i, raw := range b.config.InternalHosts {
		key := fmt.Sprintf("InternalHosts[%d]", i)
		origin, ok := weburl.ExactOrigin("http://" + raw)
		host := strings.TrimPrefix(origin, "http://")
		tls, _ := weburl.ExactOrigin("https://" + raw)
		switch {
		case !ok || strings.ContainsAny(raw, "/?#@") || strings.HasSuffix(raw, ":"):
			b.fail(key, fmt.Sprintf("%q is not a host", text.Printable(raw, 80)), inASCII(raw, "write host or host:port only, such as auth.internal:3000"))
		case host == s.site.host || tls == s.site.origin:
			b.fail(key, fmt.Sprintf("%q is the host of the service itself, where everything is answered", text.Printable(raw, 80)), "leave it out, or write the name that servers call", "URL")
		case s.site.origins.internal[host]:
			b.fail(key, fmt.Sprintf("%q is given twice", text.Printable(raw, 80)), "remove one")
		default:
			s.site.origins.internal[host] = true
			if u, err := neturl.Parse(origin); err == nil && u.Port() == "" {
				s.site.origins.internal[host+":80"] = true
			}
		}
	}
}

func checkCookies(b *builder, s *Service) {
	o := b.config.Cookies
	secure := s.site.origin == "" || strings.HasPrefix(s.site.origin, "https://")
	o.Domain = strings.TrimPrefix(o.Domain, ".")
	checkCookieDomain(b, s, o.Domain)
	if !cookie.ValidPrefix(o.Prefix) {
		b.fail("Cookies.Prefix", fmt.Sprintf("%q cannot begin cookie names", text.Printable(o.Prefix, 80)),
			"use up to 32 letters, digits, - and _, such as blog; authsvc itself adds __Host- and __Secure- over https")
	}
	s.site.names = cookie.NewNames(s.site.dialect.cookieStem, s.site.dialect.cookies, s.site.dialect.sessionPrefix, secure, o)
	for _, p := range s.parts {
		if p.cookies != nil {
			p.cookies(&s.site.names)
		}
	}
	for _, c := range []struct{ key, name string }{{"Session", o.Session}, {"CSRF", o.CSRF}, {"CallbackURL", o.CallbackURL}} {
		if c.name == "" {
			continue
		}
		host := hasPrefixFold(c.name, "__Host-")
		prefixed := host || hasPrefixFold(c.name, "__Secure-")
		switch {
		case !cookie.ValidName(c.name):
			b.fail("Cookies."+c.key, "is not a cookie name", "use letters, digits, - . and _")
		case prefixed && !secure:
			b.fail("Cookies."+c.key, "has a prefix that browsers accept over https only", "leave the prefix out over http", "URL")
		case host && o.Domain != "" && c.key != "CSRF":
			b.fail("Cookies."+c.key, "starts with __Host-, which excludes a domain", "use __Secure-", "Cookies.Domain")
		case secure && !prefixed:
			b.warn("a cookie name without __Host- or __Secure- can be planted by sibling hosts", "name", c.name)
		}
	}
	if one, two := s.site.names.Clash(); two != "" {
		b.fail("Cookies", fmt.Sprintf("has the names %s and %s, which could be confused", text.Printable(one, 80), text.Printable(two, 80)),
			"choose names that differ; none may be the session cookie's name followed by a dot, or begin with "+s.desk.txPrefix,
			"Compat", "Cookies.Session", "Cookies.CSRF", "Cookies.CallbackURL")
	}
}

func checkCookieDomain(b *builder, s *Service, domain string) {
	host, _, _ := strings.Cut(s.site.host, ":")
	switch suffix, _ := publicsuffix.PublicSuffix(domain); {
	case domain == "" || host == "":
	case host != domain && !strings.HasSuffix(host, "."+domain) || !strings.Contains(domain, "."):
		b.fail("Cookies.Domain", fmt.Sprintf("%q does not cover the host of the service", text.Printable(domain, 80)), inASCII(domain, "use that host or a parent domain of it, such as example.com"), "URL")
	case suffix == domain:
		b.fail("Cookies.Domain", fmt.Sprintf("%q is a public suffix, below which anyone can register a name", text.Printable(domain, 80)),
			"browsers keep no cookie for it; use a domain of your own, or leave it out")
	}
}

// hasPrefixFold compares the prefixes of cookie names as browsers do (RFC 6265bis).
func hasPrefixFold(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

func checkPages(b *builder, s *Service) {
	p := b.config.Pages
	for _, c := range []struct{ key, page, route string }{ // route leads to page
		{"SignIn", p.SignIn, "/signin"}, {"SignOut", p.SignOut, "/signout"}, {"Error", p.Error, "/error"},
		{"VerifyRequest", p.VerifyRequest, "/verify-request"}, {"NewUser", p.NewUser, ""},
		{"Account", p.Account, "/account"}, {"Confirm", p.Confirm, "/confirm"},
	} {
		if c.page == "" {
			continue
		}
		clean, ok := pageAddress(s.site.origin, c.page)
		switch {
		case !ok:
			b.fail("Pages."+c.key, fmt.Sprintf("%q is neither a path nor an address", text.Printable(c.page, 80)), "write /path or https://host/path")
		case c.route != "" && s.site.base != "" && s.site.leadsTo(clean, c.route):
			b.fail("Pages."+c.key, fmt.Sprintf("%q leads back to itself", text.Printable(c.page, 80)), "name a page of the application, or leave it out for the built-in one", "URL")
		}
	}
}

// pageAddress resolves a configured page against the origin, as absolute does. ok
// reports whether page is a path or an address.
func pageAddress(origin, page string) (clean string, ok bool) {
	if strings.HasPrefix(page, "/") { // browsers read a leading // as another host
		_, clean, _ = weburl.Parse(origin + page)
		return clean, !strings.HasPrefix(page, "//") && !strings.ContainsAny(page, "\\#")
	}
	_, clean, ok = weburl.Parse(page)
	return clean, ok && !strings.Contains(page, "#")
}

// makePages compiles the pages. It comes after the providers, whose colours are in the
// style sheet.
func makePages(b *builder, s *Service, order []flow) {
	t := b.config.Theme
	s.site.siteName = cmp.Or(text.Name(t.SiteName), s.site.host)
	t.SiteName = s.site.siteName
	var styles []pages.ProviderStyle
	for _, f := range order {
		styles = append(styles, pages.ProviderStyle{ID: f.info().id, Style: pages.Style(f.info().style)})
	}
	var errs []error
	s.site.pages, errs = pages.New(pages.Theme{ColorScheme: string(t.ColorScheme), BrandColor: t.BrandColor, ButtonText: t.ButtonText, Logo: t.Logo, SiteName: t.SiteName}, s.site.base, s.site.origin, styles...)
	for _, err := range errs {
		var m *pages.Mistake
		if errors.As(err, &m) {
			field := "Theme." + m.Field
			if m.Provider != "" {
				field = fmt.Sprintf("Providers[%d].Style.%s", s.site.positions[m.Provider], m.Field)
			}
			b.fail(field, m.Problem, m.Fix)
			continue
		}
		b.mistakes = append(b.mistakes, err)
	}
}

func checkRateLimit(b *builder, s *Service) {
	o := b.config.RateLimit
	r := limit.NewRating(s.limits, o.Disabled, func(key, problem, fix string, with ...string) {
		b.fail(key, problem, fix, with...).Code = "rate"
	})
	s.desk.signInLimit = r.Limiter("sign-in", r.Rate("SignIn", o.SignIn, authsvc.Rate{N: 30, Per: time.Minute}))
	s.mailing.setLimits(r, &o)
	s.credentialsRoom.setLimits(r, &o)
	s.oauthRoom.logoutLimit = r.Limiter("logout", r.Rate("BackchannelLogout", o.BackchannelLogout, authsvc.Rate{N: 300, Per: time.Minute}))
	s.tokenRoom.limit = r.Limiter("token", r.Rate("Token", o.Token, authsvc.Rate{N: 60, Per: time.Minute}))
	s.desk.accountLimit = r.Limiter("account-page", r.Rate("Account", o.Account, authsvc.Rate{N: 60, Per: time.Minute}))
	s.accountRoom.exportLimit = r.Limiter("export", authsvc.Rate{N: 5, Per: time.Hour})
	s.issuer.personalLimit = r.Limiter("personal-token", r.Rate("PersonalToken", o.PersonalToken, authsvc.Rate{N: 30, Per: time.Minute}))
	s.site.beaconLimit = r.Limiter("log", authsvc.Rate{N: 30, Per: time.Minute})
	if o.Disabled {
		b.warn("rate limits are off: passwords, links and addresses can be tried without limit", "field", "RateLimit.Disabled")
	}
	if o.Disabled {
		s.auditor.RecordEach()
	}
	s.emailRoom.linksPerHour = max(1, int(time.Duration(s.mailing.mailboxRate.N)*time.Hour/s.mailing.mailboxRate.Per))
	if o.Disabled {
		s.emailRoom.linksPerHour = -1
	}
}

// checkProxies warns about networks that are probably not intended.
func checkProxies(b *builder, s *Service) {
	for _, p := range s.site.proxies {
		least := 8 // shortest prefix of a network with one owner
		if p.Addr().Is6() {
			least = 7
		}
		switch {
		case p.Addr().Is4In6() && p.Bits() >= 96:
			b.warn("a network in trusted_proxies never matches: IPv4 addresses are compared as IPv4",
				"network", p.String(), "write", netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).String())
		case p.Bits() < least:
			b.warn("trusted_proxies trusts everyone or nearly everyone: clients choose the address that limits and the log use", "network", p.String())
		}
	}
}

func checkEnums(b *builder, s *Service) {
	c := b.config
	switch c.FirstProof {
	case "":
		s.desk.keepFirstProof = s.site.dialect.keepsFirstProof
	case authsvc.FirstProofStrict:
	case authsvc.FirstProofKeep:
		s.desk.keepFirstProof = true
	default:
		b.fail("FirstProof", "is not known", "use strict or keep")
	}
	if s.desk.keepFirstProof {
		b.warn("an email link that first proves an address leaves older accounts and sessions of that user alive", "field", "FirstProof")
	}
	switch c.StaleRevocations {
	case "", authsvc.StaleRevocationsRefuse, authsvc.StaleRevocationsAccept:
	default:
		b.fail("StaleRevocations", "is not known", "use refuse or accept")
	}
}
