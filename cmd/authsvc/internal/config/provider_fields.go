package config

import (
	"slices"

	"authsvc"
)

// oauthFields returns the table of keys of OAuth and OpenID Connect providers.
func (e *entry) oauthFields() []field {
	o := e.oauth
	return slices.Concat([]field{
		{key: "id", into: text(&e.discard), name: "-"},
		{key: "type", into: text(&e.discard), name: "-"},
		{key: "name", into: text(&o.Name)},
		{key: "client_id", into: text(&o.Client.ID), name: "ID"},
		{key: "client_secret", into: secretText(&o.Client.Secret), name: "SECRET", secret: true},
		{key: "private_key", into: secretText(&o.Client.PrivateKey), secret: true},
		{key: "key_id", into: text(&o.Client.KeyID)},
		{key: "issuer", into: text(&o.Issuer)},
		{key: "authorization_url", into: text(&o.Endpoints.Authorization)},
		{key: "token_url", into: text(&o.Endpoints.Token)},
		{key: "userinfo_url", into: text(&o.Endpoints.UserInfo)},
		{key: "jwks_url", into: text(&o.Endpoints.JWKS)},
		{key: "revocation_url", into: text(&o.Endpoints.Revocation)},
		{key: "end_session_url", into: text(&o.Endpoints.EndSession)},
		{key: "discovery_url", into: text(&o.Endpoints.Discovery)},
		{key: "tenants", into: texts(&o.Tenants)},
		{key: "hosts", into: texts(&o.Hosts)},
		{key: "scope", into: text(&o.Scope)},
		{key: "authorization_params", into: textMap(&o.AuthorizationParams)},
		{key: "authorization_fragment", into: text(&o.AuthorizationFragment)},
		{key: "token_params", into: textMap(&o.TokenParams)},
		{key: "client_id_param", into: text(&o.ClientIDParam)},
		{key: "auth_method", into: text(&o.AuthMethod)},
		{key: "assertion_audience", into: text(&o.AssertionAudience)},
		{key: "response_mode", into: text(&o.ResponseMode)},
		{key: "denied_errors", into: texts(&o.DeniedErrors)},
		{key: "signing_algs", into: texts(&o.SigningAlgs)},
		{key: "checks", into: texts(&o.Checks)},
		{key: "no_pkce", into: boolVar(&o.NoPKCE)},
		{key: "headers", into: textMap(&o.Headers)},
		{key: "userinfo_method", into: text(&o.UserInfo.Method)},
		{key: "userinfo_body", into: text(&o.UserInfo.Body)},
		{key: "userinfo_auth", into: text(&o.UserInfo.Auth)},
		{key: "userinfo_headers", into: textMap(&o.UserInfo.Headers)},
		{key: "userinfo_claims", into: boolVar(&o.UserInfo.AddClaims)},
		{key: "trust_email", into: boolVar(&o.TrustEmail)},
		{key: "verified_text", into: boolVar(&o.VerifiedText)},
		{key: "logout_at_provider", into: boolVar(&o.LogoutAtProvider)},
		{key: "link_verified_email", into: boolVar(&o.LinkVerifiedEmail)},
	}, profileFields(&o.Fields), styleFields(&o.Style))
}

// oauth1Fields returns the table of keys of OAuth 1.0a providers.
func (e *entry) oauth1Fields() []field {
	o := e.oauth1
	return slices.Concat([]field{
		{key: "id", into: text(&e.discard), name: "-"},
		{key: "type", into: text(&e.discard), name: "-"},
		{key: "name", into: text(&o.Name)},
		{key: "client_id", into: text(&o.Client.ID), name: "ID"},
		{key: "client_secret", into: secretText(&o.Client.Secret), name: "SECRET", secret: true},
		{key: "request_token_url", into: text(&o.RequestTokenURL)},
		{key: "authorization_url", into: text(&o.AuthorizationURL)},
		{key: "access_token_url", into: text(&o.AccessTokenURL)},
		{key: "userinfo_url", into: text(&o.UserInfoURL)},
		{key: "hosts", into: texts(&o.Hosts)},
		{key: "headers", into: textMap(&o.Headers)},
		{key: "trust_email", into: boolVar(&o.TrustEmail)},
		{key: "link_verified_email", into: boolVar(&o.LinkVerifiedEmail)},
	}, profileFields(&o.Fields), styleFields(&o.Style))
}

// openID2Fields returns the table of keys of OpenID 2.0 providers, all built in.
func (e *entry) openID2Fields() []field {
	o := e.openID2
	return append([]field{
		{key: "id", into: text(&e.discard), name: "-"},
		{key: "type", into: text(&e.discard), name: "-"},
		{key: "name", into: text(&o.Name)},
	}, styleFields(&o.Style)...)
}

func profileFields(f *authsvc.Fields) []field {
	return []field{
		{key: "profile.id", into: text(&f.ID)},
		{key: "profile.name", into: text(&f.Name)},
		{key: "profile.email", into: text(&f.Email)},
		{key: "profile.email_verified", into: text(&f.EmailVerified)},
		{key: "profile.image", into: text(&f.Image)},
	}
}

func styleFields(s *authsvc.Style) []field {
	return []field{
		{key: "style.logo", into: text(&s.Logo)},
		{key: "style.background", into: text(&s.Background)},
		{key: "style.text", into: text(&s.Text)},
	}
}

// emailFields returns the table of keys of e-mail providers.
func (e *entry) emailFields() []field {
	return []field{
		{key: "id", into: text(&e.discard), name: "-"},
		{key: "type", into: text(&e.discard), name: "-"},
		{key: "name", into: text(&e.email.Name)},
		{key: "server", into: secretText(&e.mail.Server), secret: true},
		{key: "from", into: text(&e.email.From)},
		{key: "max_age", into: duration(&e.email.MaxAge)},
		{key: "inbox_url", into: text(&e.email.InboxURL)},
		{key: "helo", into: text(&e.mail.HELO)},
		{key: "insecure_no_tls", into: boolVar(&e.mail.InsecureNoTLS)},
	}
}
