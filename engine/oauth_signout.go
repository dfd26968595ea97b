package engine

import (
	"context"

	"authsvc/internal/protocol/oidc"
)

// signOut begins RP-Initiated Logout, if the provider is configured for it.
func (f *oauthFlow) signOut(ctx context.Context, r oidc.LogoutRequest, idToken func() string) (oidc.Logout, error) {
	if !f.LogoutAtProvider {
		return oidc.Logout{}, nil
	}
	r.IDToken = idToken()
	return f.oidc.Logout(ctx, r)
}
