package config

import (
	"log/slog"
	"strings"

	"authsvc/internal/text"
)

// The engine names fields of authsvc.Config. This file translates them to keys of the
// configuration.

// keyNames maps fields to keys, unless the key is the field's name in lower case.
var keyNames = map[string]string{
	"Adapter": "storage.url", "UserColumns": "storage.user_columns", "Secrets": "secret", "ProviderTokens": "storage.provider_tokens", "StaleRevocations": "session.stale_revocations",
	"DangerousInsecureURL": "allow_insecure_url", "DangerousInsecureIssuer": "allow_insecure_issuer", "DangerousShortSecret": "allow_short_secret",
	"Client.ID": "client_id", "Client.Secret": "client_secret", "Client.PrivateKey": "private_key", "Client.KeyID": "key_id",
	"Endpoints.Discovery": "discovery_url", "Endpoints.Authorization": "authorization_url", "Endpoints.Token": "token_url",
	"Endpoints.UserInfo": "userinfo_url", "Endpoints.JWKS": "jwks_url", "Endpoints.Revocation": "revocation_url", "Endpoints.EndSession": "end_session_url",
	"UserInfoURL": "userinfo_url", "UserInfo.AddClaims": "userinfo_claims", "UserInfo.Method": "userinfo_method", "UserInfo.Body": "userinfo_body",
	"RateLimit.Disabled": "rate_limit.enabled", "Account.Disabled": "account.enabled", "Notices.Disabled": "notices.enabled", "Notices.IgnoreNewBrowsers": "notices.new_browser", "NoAuthTime": "no_auth_time", "UserInfo.Auth": "userinfo_auth", "UserInfo.Headers": "userinfo_headers", "NoPKCE": "no_pkce", "Send": "server", "NoSignIn": "sign_in",
	"Authorize": "hook",
	"Fields.ID": "profile.id", "Fields.Name": "profile.name", "Fields.Email": "profile.email", "Fields.EmailVerified": "profile.email_verified", "Fields.Image": "profile.image",
	"AuthorizationParams[max_age]": "authorization_params.max_age",
}

var (
	ofProvider = text.LazyRegexp(`^Providers\[(\d+)\]\.?`)
	ofList     = text.LazyRegexp(`\[\d+\]$`)
	inName     = text.LazyRegexp(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
)

// Attr rewrites an attribute of the engine's log for the program's log: a name of a
// field becomes the name of its key.
func Attr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == "field" {
		return slog.String("key", keyOf(a.Value.String()))
	}
	return a
}

// keyOf returns the key of a field, such as session.max_age for Session.MaxAge and
// providers[0].client_id for Providers[0].Client.ID.
func keyOf(field string) string {
	for _, named := range []string{"Session.Expose", "Session.Claims"} { // followed by names that the operator chose
		if name, ok := strings.CutPrefix(field, named+"."); ok {
			return keyOf(named) + "." + name
		}
	}
	provider := ofProvider.FindString(field)
	field = field[len(provider):]
	prefix := strings.ToLower(provider)
	at := ofList.FindString(field)
	if key, ok := keyNames[field]; ok {
		return prefix + key
	}
	field = strings.NewReplacer(".AnyOf", "", "WebSocket", "Websocket").Replace(strings.TrimSuffix(field, at))
	key, ok := keyNames[field]
	if !ok {
		key = strings.ToLower(inName.ReplaceAllString(field, "${1}${3}_${2}${4}"))
	}
	return strings.TrimSuffix(prefix+key+at, ".")
}
