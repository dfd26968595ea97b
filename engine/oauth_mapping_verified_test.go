package engine

import (
	"testing"

	"authsvc/internal/protocol/oidc"
)

// TestMergedClaimsEmailVerified checks that email_verified counts only for the address
// that it came with.
func TestMergedClaimsEmailVerified(t *testing.T) {
	t.Parallel()
	type claims = oidc.Claims
	for name, c := range map[string]struct {
		token, userinfo claims
		email           string
		verified        bool
	}{
		"both in the token":            {claims{"email": "a", "email_verified": true}, claims{}, "a", true},
		"both in userinfo":             {claims{}, claims{"email": "a", "email_verified": true}, "a", true},
		"only userinfo":                {nil, claims{"email": "a", "email_verified": true}, "a", true},
		"same address":                 {claims{"email": "a"}, claims{"email": "a", "email_verified": true}, "a", true},
		"userinfo vouches for another": {claims{"email": "a"}, claims{"email": "b", "email_verified": true}, "a", false},
		"token vouches for nothing":    {claims{"email_verified": true}, claims{"email": "b"}, "b", false},
		"token against userinfo":       {claims{"email_verified": true}, claims{"email": "b", "email_verified": false}, "b", false},
		"token denies":                 {claims{"email": "a", "email_verified": false}, claims{"email": "a", "email_verified": true}, "a", false},
	} {
		got := mergeClaims(c.token, c.userinfo)
		if email, _ := got.String("email"); email != c.email || got.Bool("email_verified") != c.verified {
			t.Errorf("%s: %v", name, got)
		}
	}
}
