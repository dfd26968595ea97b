package config

import (
	"slices"
	"strings"

	"authsvc"
)

// A field is a key and what stores its value.
type field struct {
	key    string
	into   setter
	secret bool   // its variable may be NAME_FILE instead, and it is never quoted
	name   string // of the variable below the prefix, if it is not that of the key
}

// fields returns the table of all keys but those of providers.
func (s *Settings) fields() []field {
	c := &s.Engine
	return slices.Concat([]field{
		{key: "url", into: text(&c.URL)},
		{key: "listen", into: text(&s.Listen)},
		{key: "secret", into: secretList(&c.Secrets), secret: true},
		{key: "compat", into: text(&c.Compat)},
		{key: "trusted_proxies", into: networks(&c.TrustedProxies)},
		{key: "allowed_redirects", into: texts(&c.AllowedRedirects)},
		{key: "trusted_origins", into: texts(&c.TrustedOrigins)},
		{key: "allow_insecure_url", into: boolVar(&c.DangerousInsecureURL)},
		{key: "allow_short_secret", into: boolVar(&c.DangerousShortSecret)},
		{key: "hsts", into: duration(&c.HSTS)},
		{key: "first_proof", into: text(&c.FirstProof)},
		{key: "show_refusal", into: boolVar(&c.ShowRefusal)},
		{key: "session.strategy", into: text(&c.Session.Strategy)},
		{key: "session.max_age", into: duration(&c.Session.MaxAge)},
		{key: "session.update_age", into: zeroableDuration(&c.Session.UpdateAge)},
		{key: "session.absolute_max_age", into: duration(&c.Session.AbsoluteMaxAge)},
		{key: "session.stale_revocations", into: text(&c.StaleRevocations)},
		{key: "session.store", into: secretText(&s.Storage.Sessions), secret: true},
	}, s.storageFields(), s.appearanceFields(), s.limitFields(), []field{
		{key: "cookies.domain", into: text(&c.Cookies.Domain)},
		{key: "cookies.session", into: text(&c.Cookies.Session)},
		{key: "cookies.csrf", into: text(&c.Cookies.CSRF)},
		{key: "cookies.callback_url", into: text(&c.Cookies.CallbackURL)},
		{key: "outbound.allow_networks", into: networks(&c.Outbound.AllowNetworks)},
		{key: "audit.store", into: boolVar(&c.Audit.Store)},
		{key: "audit.keep", into: duration(&c.Audit.Keep)},
		{key: "log.format", into: enumVar(&s.Log.Format, "text", "json")},
		{key: "log.level", into: enumVar(&s.Log.Level, "debug", "info", "warn", "error")},
	})
}

func (s *Settings) storageFields() []field {
	return []field{
		{key: "storage.url", into: secretText(&s.Storage.URL), secret: true},
		{key: "storage.prefix", into: text(&s.Storage.Prefix)},
		{key: "storage.migrate", into: boolVar(&s.Storage.Migrate)},
		{key: "storage.naming", into: enumVar(&s.Storage.Naming.Preset, "prisma", "snake", "authjs")},
		{key: "storage.tables", into: textMap(&s.Storage.Naming.Tables)},
		{key: "storage.columns", into: textMap(&s.Storage.Naming.Columns)},
		{key: "storage.provider_tokens", into: s.tokens("keep, drop", func(value string) string {
			return map[string]string{"keep": string(s.Engine.ProviderTokens), "drop": "drop"}[value]
		})},
		{key: "storage.encrypt_tokens", into: s.tokens("true, false", func(value string) string {
			if s.Engine.ProviderTokens == "drop" { // nothing is left to encrypt
				return "drop"
			}
			return map[string]string{"true": "sealed", "false": "plain"}[value]
		})},
	}
}

// tokens returns the setter of one of the two keys that say how tokens of
// providers are kept; either may come first.
func (s *Settings) tokens(values string, how func(value string) string) setter {
	var w string
	t := enumVar(&w, strings.Split(values, ", ")...)
	set := t.set
	t.set = func(v value) string {
		problem := set(v)
		if problem == "" {
			s.Engine.ProviderTokens = authsvc.ProviderTokens(how(w))
		}
		return problem
	}
	if values == "true, false" {
		t.kind, t.fix = "boolean", "write true or false"
	}
	return t
}

func (s *Settings) appearanceFields() []field {
	p, t := &s.Engine.Pages, &s.Engine.Theme
	return []field{
		{key: "pages.sign_in", into: text(&p.SignIn)},
		{key: "pages.sign_out", into: text(&p.SignOut)},
		{key: "pages.error", into: text(&p.Error)},
		{key: "pages.verify_request", into: text(&p.VerifyRequest)},
		{key: "pages.new_user", into: text(&p.NewUser)},
		{key: "theme.color_scheme", into: text(&t.ColorScheme)},
		{key: "theme.brand_color", into: text(&t.BrandColor)},
		{key: "theme.button_text", into: text(&t.ButtonText)},
		{key: "theme.logo", into: text(&t.Logo)},
		{key: "theme.site_name", into: text(&t.SiteName)},
	}
}

func (s *Settings) limitFields() []field {
	r := &s.Engine.RateLimit
	return []field{
		{key: "rate_limit.enabled", into: notBoolVar(&r.Disabled)},
		{key: "rate_limit.sign_in", into: rate(&r.SignIn)},
		{key: "rate_limit.email_per_address", into: rate(&r.EmailPerAddress)},
		{key: "rate_limit.email_total", into: rate(&r.EmailTotal)},
		{key: "rate_limit.credentials_per_account", into: rate(&r.CredentialsPerAccount)},
		{key: "rate_limit.link", into: rate(&r.Link)},
		{key: "rate_limit.backchannel_logout", into: rate(&r.BackchannelLogout)},
	}
}

// A Key describes one key, for the documentation.
type Key struct {
	Name     string // such as session.max_age or providers[].client_id
	Kind     string
	Variable string // of the environment, "" if it has none
}

// Keys lists every key that a configuration may have.
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
	add("", variablePrefix, (&Settings{}).fields())
	add("providers[].", variablePrefix+"<ID>_", (&entry{oauth: &authsvc.OAuth{}}).oauthFields())
	add("providers[].", variablePrefix+"<ID>_", (&entry{oauth1: &authsvc.OAuth1{}}).oauth1Fields())
	add("providers[].", variablePrefix+"<ID>_", (&entry{}).emailFields())
	return keys
}
