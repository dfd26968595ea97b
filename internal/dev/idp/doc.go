// Package idp is a small OpenID Connect provider. It is the identity provider
// that `authsvc dev` clicks through, and the one that tests sign in with and
// misbehave with.
//
// It is honest where it counts: authorization codes are single use, short
// lived and bound to client, redirect URI and PKCE challenge; clients are
// authenticated; an unknown client or redirect URI never causes a redirect.
// It is not a product: nobody has a password, whoever reaches the page may be
// anybody on the list, so it belongs on a loopback listener and nowhere else.
//
// Two faces share one implementation. Under the issuer live the endpoints of
// OpenID Connect, described by discovery:
//
//	GET  /.well-known/openid-configuration
//	GET  /jwks
//	GET  /authorize     also POST; a page that lists the people
//	POST /token         authorization_code; client_secret_basic, _post, private_key_jwt, none with PKCE
//	GET  /userinfo      also POST; bearer token in the header
//
// and those of a plain OAuth 2.0 provider, which has neither ID tokens nor
// the iss parameter:
//
//	GET  /oauth2/authorize
//	POST /oauth2/token
//	GET  /oauth2/user   {"id": 123, "login", "name", "email", "avatar_url"}
//
// Tests make it lie with [Provider.SetFault], count with [Provider.Calls] and
// skip the page with [Provider.Approve] or with prompt=none and a login_hint.
package idp
