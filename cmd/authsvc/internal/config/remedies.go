package config

import (
	"strconv"
	"strings"

	"authsvc"
)

// remedies holds texts by the code of a mistake, where the engine's texts are for Go
// programs. An empty problem means the engine's text.
var remedies = map[string]struct{ problem, fix string }{
	"absolute_max_age_short":          {"is shorter than session.max_age", "make it at least as long; 2160h is the default"},
	"audit_without_storage":           {"", "set storage.url, or leave the events to the log"},
	"claim_not_kept":                  {"", "add it to session.claims"},
	"client_key_unused":               {"is given, but auth_method is not private_key_jwt", "set auth_method: private_key_jwt, or remove it"},
	"client_secret_missing":           {"", "copy it from the application that you registered, or set auth_method: none for a public client"},
	"client_secret_unused":            {"is given, but auth_method private_key_jwt uses none", "remove it, or use another auth_method without private_key"},
	"column_not_read":                 {"", "add it to storage.user_columns"},
	"compat_changed":                  {"", "change it back, or convert the store with `authsvc migrate compat {compat}` (ends all sessions)"},
	"database_without_storage":        {"", "set storage.url, or use jwt"},
	"domains_without_storage":         {"", "set storage.url, or name the domains in sign_in.allow"},
	"email_without_storage":           {"", "links are kept in the store; set storage.url"},
	"insecure_issuer":                 {"", "use https, or set allow_insecure_issuer: true if the issuer is in your own network"},
	"forwarded_host_untrusted":        {"", "list the networks of the proxies in trusted_proxies, or a key in proxy_keys"},
	"insecure_url":                    {"", "use https, or set allow_insecure_url: true in a closed network"},
	"invited_without_storage":         {"", "set storage.url, or say in sign_in.allow who may sign in"},
	"issuer_changed":                  {"", "give the new issuer an id of its own, or accept it with `authsvc migrate issuer {provider}`"},
	"keys_of_short_secret":            {"", "set storage.url, or replace the short secret"},
	"no_authorize":                    {"", "name the hook that checks the fields: hook: {url: https://app.example.com/credentials, secret: whsec_…}"},
	"no_providers":                    {"", "name at least one way to sign in, such as {id: github, client_id: …, client_secret: …}"},
	"no_sender":                       {"", "write the address of a mail server: smtp://user:password@host:587"},
	"personal_tokens_without_storage": {"", "set storage.url, or leave it out"},
	"rate":                            {"", "write a count and a period, such as 30/min"},
	"rs256_without_storage":           {"", "set storage.url, or use ES256 or EdDSA"},
	"several_tenants":                 {"", "use OpenID Connect (type: oidc), or name one issuer"},
	"short_secret":                    {"", "run `authsvc secret` and use what it prints; if this one must stay, also as a later entry, set allow_short_secret: true"},
	"signing_keys_sealed":             {"", "add the secret that sealed them as a further entry; if it is lost, replace the keys with `authsvc keys rotate --now` (existing tokens are then refused)"},
	"source_unknown":                  {"", "use id, email_verified, provider, a name in session.claims or one in storage.user_columns"},
	"store_unusable":                  {"", "start the store, and create its tables with `authsvc migrate up`"},
	"update_age_long":                 {"is longer than session.max_age", "sessions would end before they are extended; 24h is the default"},
	"userinfo_missing":                {"", "the profile comes from there, except with OpenID Connect (type: oidc)"},
	"weak_secret":                     {"", "run `authsvc secret` and use what it prints"},
}

// remedy returns the problem and the fix of an error of the engine.
func (s *Settings) remedy(e *authsvc.ConfigError) (problem, fix string) {
	r, ok := remedies[e.Code]
	if !ok {
		return e.Problem, e.Fix
	}
	if problem = r.problem; problem == "" {
		problem = e.Problem
	}
	mode := s.Engine.Compat
	if mode == "" {
		mode = authsvc.CompatNone
	}
	provider := ""
	if i := ofProvider.FindStringSubmatch(e.Field); i != nil {
		if n, err := strconv.Atoi(i[1]); err == nil && n < len(s.Engine.Providers) {
			provider = ProviderID(s.Engine.Providers[n])
		}
	}
	return problem, strings.NewReplacer("{compat}", string(mode), "{provider}", provider).Replace(r.fix)
}
