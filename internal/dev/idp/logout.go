package idp

import (
	"crypto/rand"
	"time"
)

// LogoutToken returns a token that tells a client that a person signed out (OpenID
// Connect Back-Channel Logout 1.0 §2.4). The caller must send it.
func (p *Provider) LogoutToken(clientID, sub string) (string, error) {
	now := time.Now()
	return p.Sign("logout+jwt", map[string]any{
		"iss": p.issuer, "aud": clientID, "sub": sub, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	})
}
