package config

import (
	"slices"

	"authsvc"
)

// A field is a key with the setter that stores its value.
type field struct {
	key    string
	into   setter
	secret bool   // never quoted; its variable may be NAME_FILE instead
	name   string // of the variable below the prefix, if it differs from the key
}

// fields returns all keys except the keys of providers.
func (s *Settings) fields() []field {
	c := &s.Engine
	return slices.Concat([]field{
		{key: "url", into: stringVar(&c.URL)},
		{key: "listen", into: addressVar(&s.Listen)},
		{key: "stop_delay", into: upToMinuteVar(&s.StopDelay)},
		{key: "secret", into: secretListVar(&c.Secrets), secret: true},
		{key: "compat", into: stringVar(&c.Compat)},
		{key: "trusted_proxies", into: networkListVar(&c.TrustedProxies)},
		{key: "proxy_keys", into: keyListVar(&c.ProxyKeys), secret: true},
		{key: "forwarded_host", into: boolVar(&c.ForwardedHost)},
		{key: "allowed_redirects", into: stringListVar(&c.AllowedRedirects)},
		{key: "trusted_origins", into: stringListVar(&c.TrustedOrigins)},
		{key: "internal_hosts", into: stringListVar(&c.InternalHosts)},
		{key: "allow_insecure_url", into: boolVar(&c.DangerousInsecureURL)},
		{key: "allow_short_secret", into: boolVar(&c.DangerousShortSecret)},
		{key: "first_proof", into: stringVar(&c.FirstProof)},
		{key: "session.strategy", into: stringVar(&c.Session.Strategy)},
		{key: "session.max_age", into: durationVar(&c.Session.MaxAge)},
		{key: "session.update_age", into: zeroableDurationVar(&c.Session.UpdateAge)},
		{key: "session.absolute_max_age", into: durationVar(&c.Session.AbsoluteMaxAge)},
		{key: "session.claims", into: stringMapVar(&c.Session.Claims)},
		{key: "session.expose", into: exposeVar(&c.Session.Expose)},
		{key: "session.stale_revocations", into: stringVar(&c.StaleRevocations)},
		{key: "session.store", into: secretVar(&s.Storage.Sessions), secret: true},
	}, s.signInFields(), s.accountFields(), s.storageFields(), s.appearanceFields(), s.limitFields(), s.tokenFields(), s.gateFields(), []field{
		{key: "cookies.domain", into: stringVar(&c.Cookies.Domain)},
		{key: "cookies.prefix", into: stringVar(&c.Cookies.Prefix)},
		{key: "cookies.session", into: stringVar(&c.Cookies.Session)},
		{key: "cookies.csrf", into: stringVar(&c.Cookies.CSRF)},
		{key: "cookies.callback_url", into: stringVar(&c.Cookies.CallbackURL)},
		{key: "outbound.allow_networks", into: networkListVar(&c.Outbound.AllowNetworks)},
		{key: "outbound.proxy", into: secretVar(&c.Outbound.Proxy), secret: true},
		{key: "outbound.no_proxy", into: stringListVar(&c.Outbound.NoProxy)},
		{key: "audit.store", into: boolVar(&c.Audit.Store)},
		{key: "audit.keep", into: durationVar(&c.Audit.Keep)},
		{key: "log.format", into: enumVar(&s.Log.Format, "text", "json")},
		{key: "admin.listen", into: socketVar(&s.Admin.Listen)},
		{key: "admin.allow_remote", into: boolVar(&s.Admin.AllowRemote)},
		{key: "debug.listen", into: loopbackVar(&s.Debug)},
		{key: "log.level", into: enumVar(&s.Log.Level, "debug", "info", "warn", "error")},
	})
}

func (s *Settings) accountFields() []field {
	a := &s.Engine.Account
	return []field{
		{key: "account.enabled", into: notBoolVar(&a.Disabled)},
		{key: "account.fresh", into: durationVar(&a.Fresh)},
		{key: "account.change_email", into: maybeBoolVar(&a.ChangeEmail)},
		{key: "notices.enabled", into: notBoolVar(&s.Engine.Notices.Disabled)},
		{key: "notices.new_browser", into: notBoolVar(&s.Engine.Notices.IgnoreNewBrowsers)},
		{key: "account.delete", into: boolVar(&a.Delete)},
		{key: "account.delete_grace", into: zeroableDurationVar(&a.DeleteGrace)},
	}
}

func (s *Settings) signInFields() []field {
	r := &s.Engine.SignIn
	return []field{
		{key: "sign_in.allow", name: "-", into: listVar(&r.Allow, "write a list, such as [{domains: [example.com]}]", conditionFields)},
		{key: "sign_up.policy", into: stringVar(&s.Engine.SignUp.Policy)},
		{key: "sign_up.domains", into: stringListVar(&s.Engine.SignUp.Domains)},
		{key: "rules.sign_in", into: expressionVar(&s.Rules.SignIn)},
		{key: "rules.claims", into: expressionVar(&s.Rules.Claims)},
		{key: "rules.redirect", into: expressionVar(&s.Rules.Redirect)},
		{key: "hooks", name: "-", into: listVar(&s.Hooks, "write a list, such as [{on: sign_in, url: https://…, secret: whsec_…}]", hookFields)},
	}
}

// listVar accepts a list of mappings with these fields.
func listVar[T any](p *[]T, fix string, fields func(*T) []field) setter {
	return setter{kind: "list of mappings", fix: fix, set: func(v value) string {
		*p = nil
		if v.shape != list {
			return "is " + v.shape.name() + ", not a list"
		}
		return ""
	}, element: func() []field {
		*p = append(*p, *new(T))
		return fields(&(*p)[len(*p)-1])
	}}
}

// allowVar accepts a list of conditions, or signed_in, which means every user with a
// session.
func allowVar(p *[]authsvc.Condition) setter {
	s := listVar(p, "write signed_in, or a list of conditions such as [{groups: [ops]}]", conditionFields)
	s.kind = "signed_in or list of mappings"
	set := s.set
	s.set = func(v value) string {
		if *p = nil; v.shape != scalar {
			return set(v)
		}
		if v.text != "signed_in" {
			return quote(v.raw) + " is not known"
		}
		return ""
	}
	return s
}

func conditionFields(c *authsvc.Condition) []field {
	return []field{
		{key: "emails", name: "-", into: stringListVar(&c.Emails)},
		{key: "domains", name: "-", into: stringListVar(&c.Domains)},
		{key: "users", name: "-", into: stringListVar(&c.Users)},
		{key: "providers", name: "-", into: stringListVar(&c.Providers)},
		{key: "groups", name: "-", into: stringListVar(&c.Groups)},
		{key: "claims", name: "-", into: listMapVar(&c.Claims)},
		{key: "networks", name: "-", into: networkListVar(&c.Networks)},
	}
}

func hookFields(h *Hook) []field {
	return append([]field{{key: "on", name: "-", into: enumVar(&h.On, "sign_in", "claims", "create_user")}}, hookTarget("", h)...)
}

// hookTarget returns the fields that say how to reach a hook.
func hookTarget(prefix string, h *Hook) []field {
	name := "" // of variables; elements of lists have none
	if prefix == "" {
		name = "-"
	}
	return []field{
		{key: prefix + "url", name: name, into: stringVar(&h.URL)},
		{key: prefix + "secret", name: name, into: secretListVar(&h.Secrets), secret: true},
		{key: prefix + "timeout", name: name, into: durationVar(&h.Timeout)},
	}
}

func (s *Settings) storageFields() []field {
	return []field{
		{key: "storage.url", into: secretVar(&s.Storage.URL), secret: true},
		{key: "storage.prefix", into: stringVar(&s.Storage.Prefix)},
		{key: "storage.migrate", into: boolVar(&s.Storage.Migrate)},
		{key: "storage.naming", into: enumVar(&s.Storage.Naming.Preset, "prisma", "snake", "authjs")},
		{key: "storage.tables", into: stringMapVar(&s.Storage.Naming.Tables)},
		{key: "storage.columns", into: stringMapVar(&s.Storage.Naming.Columns)},
		{key: "storage.user_columns", into: stringListVar(&s.Storage.Naming.UserColumns)},
		{key: "storage.provider_tokens", into: s.providerTokens()},
	}
}

// providerTokens accepts how tokens of providers are kept. The engine's default is
// keep.
func (s *Settings) providerTokens() setter {
	var how string
	t := enumVar(&how, "keep", "sealed", "plain", "drop")
	set := t.set
	t.set = func(v value) string {
		problem := set(v)
		if s.Engine.ProviderTokens = authsvc.ProviderTokens(how); how == "keep" {
			s.Engine.ProviderTokens = ""
		}
		return problem
	}
	return t
}

func (s *Settings) appearanceFields() []field {
	p, t := &s.Engine.Pages, &s.Engine.Theme
	return []field{
		{key: "pages.sign_in", into: stringVar(&p.SignIn)},
		{key: "pages.sign_out", into: stringVar(&p.SignOut)},
		{key: "pages.error", into: stringVar(&p.Error)},
		{key: "pages.verify_request", into: stringVar(&p.VerifyRequest)},
		{key: "pages.new_user", into: stringVar(&p.NewUser)},
		{key: "pages.account", into: stringVar(&p.Account)},
		{key: "pages.confirm", into: stringVar(&p.Confirm)},
		{key: "theme.color_scheme", into: stringVar(&t.ColorScheme)},
		{key: "theme.brand_color", into: stringVar(&t.BrandColor)},
		{key: "theme.button_text", into: stringVar(&t.ButtonText)},
		{key: "theme.logo", into: stringVar(&t.Logo)},
		{key: "theme.site_name", into: stringVar(&t.SiteName)},
		{key: "mail.templates", into: stringVar(&s.MailTemplates)},
	}
}

func (s *Settings) limitFields() []field {
	r := &s.Engine.RateLimit
	return []field{
		{key: "rate_limit.enabled", into: notBoolVar(&r.Disabled)},
		{key: "rate_limit.sign_in", into: rateVar(&r.SignIn)},
		{key: "rate_limit.email_per_address", into: rateVar(&r.EmailPerAddress)},
		{key: "rate_limit.email_total", into: rateVar(&r.EmailTotal)},
		{key: "rate_limit.credentials_per_account", into: rateVar(&r.CredentialsPerAccount)},
		{key: "rate_limit.token", into: rateVar(&r.Token)},
		{key: "rate_limit.personal_token", into: rateVar(&r.PersonalToken)},
		{key: "rate_limit.notices_per_user", into: rateVar(&r.NoticesPerUser)},
	}
}

func (s *Settings) tokenFields() []field {
	t := &s.Engine.Tokens
	return []field{
		{key: "personal_tokens.enabled", into: boolVar(&s.Engine.PersonalTokens.Enabled)},
		{key: "personal_tokens.max_age", into: durationVar(&s.Engine.PersonalTokens.MaxAge)},
		{key: "tokens.rotate", into: durationVar(&t.Rotate)},
		{key: "tokens.audiences", name: "-", into: listVar(&t.Audiences, "write {id: https://api.example.com}", s.audienceFields)},
	}
}

func (s *Settings) audienceFields(a *authsvc.Audience) []field {
	return []field{
		{key: "id", name: "-", into: stringVar(&a.ID)},
		{key: "alg", name: "-", into: stringVar(&a.Alg)},
		{key: "typ", name: "-", into: stringVar(&a.Typ)},
		{key: "ttl", name: "-", into: durationVar(&a.TTL)},
		{key: "claims", name: "-", into: stringListVar(&a.Claims)},
		{key: "allow", name: "-", into: allowVar(&a.Allow)},
		{key: "when", name: "-", into: s.whenVar(&a.When)},
	}
}

// A Key describes one key for the documentation.
type Key struct {
	Name     string // such as session.max_age or providers[].client_id
	Kind     string
	Variable string // of the environment; "" if it has none
}

// Keys lists all keys of a configuration.
func Keys() []Key {
	var keys []Key
	add := func(prefix, variable string, fields []field) {
		for _, f := range fields {
			k := Key{Name: prefix + f.key, Kind: f.into.kind, Variable: f.variable(variable)}
			if !slices.ContainsFunc(keys, func(known Key) bool { return known.Name == k.Name }) {
				keys = append(keys, k)
			}
		}
	}
	s := &Settings{}
	add("", variablePrefix, s.fields())
	add("sign_in.allow[].", variablePrefix, conditionFields(&authsvc.Condition{}))
	add("hooks[].", variablePrefix, hookFields(&Hook{}))
	add("gate.hosts[].", variablePrefix, s.gateHostFields(&authsvc.GateHost{}))
	add("gate.hosts[].rules[].", variablePrefix, s.gateRuleFields(&authsvc.GateRule{}))
	add("gate.hosts[].rules[].allow[].", variablePrefix, s.gateConditionFields(&authsvc.Condition{}))
	add("tokens.audiences[].", variablePrefix, s.audienceFields(&authsvc.Audience{}))
	add("tokens.audiences[].allow[].", variablePrefix, conditionFields(&authsvc.Condition{}))
	add("providers[].", variablePrefix+"<ID>_", (&entry{oauth: &authsvc.OAuth{}}).oauthFields())
	add("providers[].", variablePrefix+"<ID>_", (&entry{oauth1: &authsvc.OAuth1{}}).oauth1Fields())
	add("providers[].", variablePrefix+"<ID>_", (&entry{}).emailFields())
	add("providers[].", variablePrefix+"<ID>_", (&entry{}).credentialsFields())
	add("providers[].fields[].", variablePrefix+"<ID>_", formFields(&authsvc.Field{}))
	return keys
}
