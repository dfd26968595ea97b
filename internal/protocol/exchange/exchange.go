// Package exchange is what the engine gives to a sign-in at an identity provider, for
// the hooks of the provider to use.
package exchange

import (
	"time"

	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
)

// A State is what of an authsvc.Exchange the engine alone sets.
type State struct {
	Calls           *outbound.Client
	JWTs            *oidc.JWTVerifier
	OIDC            *oidc.Client // with OAuth
	Tokens          *oidc.Tokens
	AuthTime        time.Time                  // of the ID token; zero: it does not say
	Headers         map[string]string          // of every call
	UserInfoHeaders map[string]string          // of those with the token
	UserInfoURL     string                     // with Sign
	Sign            func(*outbound.Call) error // attaches the token of a protocol that signs; else nil
}
