// Package oidc implements the relying party of OAuth 2.0 (RFC 6749) and OpenID Connect
// Core 1.0. It makes authorization URLs, exchanges codes for tokens, and verifies ID
// tokens and userinfo answers.
//
// It only implements the protocol and knows nothing about sessions, cookies or users.
// The caller keeps the state of a sign-in (state, nonce and PKCE verifier). The package
// stores only two cached documents per [Client]: the provider's metadata and its keys.
//
// Everything that comes from a provider is hostile until checked. JSON is decoded
// strictly: one object, no duplicate members, bounded depth, valid UTF-8. Errors never
// quote the provider. They are fixed texts of this package and, in [TokenError], a code
// of a fixed alphabet.
//
// Package outbound makes the calls, within its limits. A code or a refresh token is
// sent only once.
package oidc
