package config

import (
	"slices"

	"authsvc"
)

// oauthFields returns the keys of OAuth and OpenID Connect providers.
func (e *entry) oauthFields() []field {
	o := e.oauth
	return slices.Concat([]field{
		{key: "id", into: stringVar(&e.discard), name: "-"},
		{key: "type", into: stringVar(&e.discard), name: "-"},
		{key: "name", into: stringVar(&o.Name)},
		{key: "client_id", into: stringVar(&o.Client.ID), name: "ID"},
		{key: "client_secret", into: secretVar(&o.Client.Secret), name: "SECRET", secret: true},
		{key: "private_key", into: secretVar(&o.Client.PrivateKey), secret: true},
		{key: "key_id", into: stringVar(&o.Client.KeyID)},
		{key: "issuer", into: stringVar(&o.Issuer)},
		{key: "allow_insecure_issuer", into: boolVar(&o.DangerousInsecureIssuer)},
		{key: "authorization_url", into: stringVar(&o.Endpoints.Authorization)},
		{key: "token_url", into: stringVar(&o.Endpoints.Token)},
		{key: "userinfo_url", into: stringVar(&o.Endpoints.UserInfo)},
		{key: "jwks_url", into: stringVar(&o.Endpoints.JWKS)},
		{key: "revocation_url", into: stringVar(&o.Endpoints.Revocation)},
		{key: "end_session_url", into: stringVar(&o.Endpoints.EndSession)},
		{key: "discovery_url", into: stringVar(&o.Endpoints.Discovery)},
		{key: "tenants", into: stringListVar(&o.Tenants)},
		{key: "hosts", into: stringListVar(&o.Hosts)},
		{key: "scope", into: stringVar(&o.Scope)},
		{key: "authorization_params", into: stringMapVar(&o.AuthorizationParams)},
		{key: "authorization_fragment", into: stringVar(&o.AuthorizationFragment)},
		{key: "token_params", into: stringMapVar(&o.TokenParams)},
		{key: "client_id_param", into: stringVar(&o.ClientIDParam)},
		{key: "auth_method", into: stringVar(&o.AuthMethod)},
		{key: "assertion_audience", into: stringVar(&o.AssertionAudience)},
		{key: "response_mode", into: stringVar(&o.ResponseMode)},
		{key: "denied_errors", into: stringListVar(&o.DeniedErrors)},
		{key: "signing_algs", into: stringListVar(&o.SigningAlgs)},
		{key: "checks", into: stringListVar(&o.Checks)},
		{key: "no_pkce", into: boolVar(&o.NoPKCE)},
		{key: "no_auth_time", into: boolVar(&o.NoAuthTime)},
		{key: "headers", into: stringMapVar(&o.Headers)},
		{key: "userinfo_method", into: stringVar(&o.UserInfo.Method)},
		{key: "userinfo_body", into: stringVar(&o.UserInfo.Body)},
		{key: "userinfo_auth", into: stringVar(&o.UserInfo.Auth)},
		{key: "userinfo_headers", into: stringMapVar(&o.UserInfo.Headers)},
		{key: "userinfo_claims", into: boolVar(&o.UserInfo.AddClaims)},
		{key: "trust_email", into: boolVar(&o.TrustEmail)},
		{key: "verified_text", into: boolVar(&o.VerifiedText)},
		{key: "initiate_login", into: boolVar(&o.InitiateLogin)},
		{key: "logout_at_provider", into: boolVar(&o.LogoutAtProvider)},
		{key: "link_verified_email", into: boolVar(&o.LinkVerifiedEmail)},
	}, profileFields(&o.Fields), styleFields(&o.Style))
}

// oauth1Fields returns the keys of OAuth 1.0a providers.
func (e *entry) oauth1Fields() []field {
	o := e.oauth1
	return slices.Concat([]field{
		{key: "id", into: stringVar(&e.discard), name: "-"},
		{key: "type", into: stringVar(&e.discard), name: "-"},
		{key: "name", into: stringVar(&o.Name)},
		{key: "client_id", into: stringVar(&o.Client.ID), name: "ID"},
		{key: "client_secret", into: secretVar(&o.Client.Secret), name: "SECRET", secret: true},
		{key: "request_token_url", into: stringVar(&o.RequestTokenURL)},
		{key: "authorization_url", into: stringVar(&o.AuthorizationURL)},
		{key: "access_token_url", into: stringVar(&o.AccessTokenURL)},
		{key: "userinfo_url", into: stringVar(&o.UserInfoURL)},
		{key: "hosts", into: stringListVar(&o.Hosts)},
		{key: "headers", into: stringMapVar(&o.Headers)},
		{key: "trust_email", into: boolVar(&o.TrustEmail)},
		{key: "link_verified_email", into: boolVar(&o.LinkVerifiedEmail)},
	}, profileFields(&o.Fields), styleFields(&o.Style))
}

// openID2Fields returns the keys of OpenID 2.0 providers, which are all built in.
func (e *entry) openID2Fields() []field {
	o := e.openID2
	return append([]field{
		{key: "id", into: stringVar(&e.discard), name: "-"},
		{key: "type", into: stringVar(&e.discard), name: "-"},
		{key: "name", into: stringVar(&o.Name)},
	}, styleFields(&o.Style)...)
}

func profileFields(f *authsvc.Fields) []field {
	return []field{
		{key: "profile.id", into: stringVar(&f.ID)},
		{key: "profile.name", into: stringVar(&f.Name)},
		{key: "profile.email", into: stringVar(&f.Email)},
		{key: "profile.email_verified", into: stringVar(&f.EmailVerified)},
		{key: "profile.image", into: stringVar(&f.Image)},
	}
}

func styleFields(s *authsvc.Style) []field {
	return []field{
		{key: "style.logo", into: stringVar(&s.Logo)},
		{key: "style.background", into: stringVar(&s.Background)},
		{key: "style.text", into: stringVar(&s.Text)},
	}
}

// credentialsFields returns the keys of providers whose fields a hook checks.
func (e *entry) credentialsFields() []field {
	c := &e.credentials
	return append([]field{
		{key: "id", into: stringVar(&e.discard), name: "-"},
		{key: "type", into: stringVar(&e.discard), name: "-"},
		{key: "name", into: stringVar(&c.Name)},
		{key: "fields", name: "-", into: listVar(&c.Fields, "write {name: username, label: User name}", formFields)},
		{key: "forgot_url", into: stringVar(&c.ForgotURL)},
	}, hookTarget("hook.", &e.hook)...)
}

func formFields(f *authsvc.Field) []field {
	return []field{
		{key: "name", name: "-", into: stringVar(&f.Name)},
		{key: "label", name: "-", into: stringVar(&f.Label)},
		{key: "type", name: "-", into: enumVar(&f.Type, "text", "password", "email", "number", "tel")},
		{key: "placeholder", name: "-", into: stringVar(&f.Placeholder)},
		{key: "autocomplete", name: "-", into: stringVar(&f.Autocomplete)},
	}
}

// emailFields returns the keys of email providers.
func (e *entry) emailFields() []field {
	return []field{
		{key: "id", into: stringVar(&e.discard), name: "-"},
		{key: "type", into: stringVar(&e.discard), name: "-"},
		{key: "name", into: stringVar(&e.email.Name)},
		{key: "server", into: secretVar(&e.mail.Server), secret: true},
		{key: "from", into: stringVar(&e.email.From)},
		{key: "max_age", into: durationVar(&e.email.MaxAge)},
		{key: "inbox_url", into: stringVar(&e.email.InboxURL)},
		{key: "codes", into: maybeBoolVar(&e.email.Codes)},
		{key: "sign_in", into: notBoolVar(&e.email.NoSignIn)},
		{key: "helo", into: stringVar(&e.mail.HELO)},
		{key: "insecure_no_tls", into: boolVar(&e.mail.InsecureNoTLS)},
	}
}
