// Package idp is a small OpenID Connect provider. `authsvc dev` uses it as its identity
// provider. Tests sign in with it, and make it misbehave.
//
// It enforces the protocol: authorization codes are single-use, short-lived and bound
// to client, redirect URI and PKCE challenge; clients are authenticated; an unknown
// client or redirect URI never causes a redirect. It is not a product: it has no
// passwords, and anyone who reaches the page can sign in as anyone on the list. Use it
// only on a loopback listener.
//
// It has two sets of endpoints. The endpoints of OpenID Connect are under the issuer
// and in the discovery document:
//
//	GET  /.well-known/openid-configuration
//	GET  /jwks
//	GET  /authorize     also POST; a page that lists the people
//	POST /token         authorization_code; client_secret_basic, _post, private_key_jwt, none with PKCE
//	GET  /userinfo      also POST; bearer token in the header
//
// The endpoints of a plain OAuth 2.0 provider have neither ID tokens nor the iss
// parameter:
//
//	GET  /oauth2/authorize
//	POST /oauth2/token
//	GET  /oauth2/user   {"id": 123, "login", "name", "email", "avatar_url"}
//
// Tests make it lie with [Provider.SetFault], count requests with [Provider.Calls], and
// skip the page with [Provider.Approve] or with prompt=none and a login_hint.
package idp
