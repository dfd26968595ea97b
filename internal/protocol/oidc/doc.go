// Package oidc is the relying-party side of OAuth 2.0 (RFC 6749) and OpenID
// Connect Core 1.0: where to send the browser, how to turn a code into tokens,
// and whether an ID token or a userinfo answer may be believed.
//
// It is pure protocol. It knows nothing of sessions, cookies or users, keeps no
// state of a sign-in (state, nonce and PKCE verifier are the caller's) and
// stores nothing but two cached documents per [Client]: the provider's metadata
// and its keys.
//
// Everything that comes from a provider is hostile until checked, and JSON is
// decoded strictly: one object, no duplicate members, bounded depth, valid UTF-8.
// What a provider wrote never reaches an error: errors are fixed texts of this
// package and, in [TokenError], a code of a fixed alphabet.
//
// Calls are made by package outbound, with its bounds. A code or a refresh token
// is sent once and never again.
package oidc
