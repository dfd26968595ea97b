// Package exchange holds the data of a sign-in at an identity provider that the engine
// passes to the provider's hooks.
package exchange

import (
	"time"

	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
)

// A State holds the parts of an authsvc.Exchange that only the engine sets.
type State struct {
	Calls           *outbound.Client
	JWTs            *oidc.JWTVerifier
	OIDC            *oidc.Client // with OAuth
	Tokens          *oidc.Tokens
	AuthTime        time.Time                  // of the ID token; zero: not given
	Headers         map[string]string          // of every call
	UserInfoHeaders map[string]string          // of calls with the token
	UserInfoURL     string                     // with Sign
	Sign            func(*outbound.Call) error // attaches the token of a protocol that signs; else nil
}
