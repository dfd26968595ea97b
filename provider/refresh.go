package provider

import (
	"context"
	"errors"

	"authsvc"
)

// refreshTokens sends the request that renews an access token. spent reports whether a
// response, with any status, says that the refresh token is no longer valid. If it does
// not, the refresh token may be used again later.
func refreshTokens(ctx context.Context, x *authsvc.Exchange, id string, r authsvc.APIRequest, spent func(authsvc.Profile) bool) (authsvc.Profile, error) {
	answer, err := object(ctx, x, id, r)
	said := answer
	var refused *authsvc.RefusedError
	if errors.As(err, &refused) {
		said, _ = refused.Answer.(map[string]any)
	}
	if said != nil && spent(said) {
		return nil, authsvc.ErrTokenRefused
	}
	return answer, err
}

// textIs returns a spent function for refreshTokens: it reports whether a field of the
// answer is one of words.
func textIs(member string, words ...string) func(authsvc.Profile) bool {
	return func(answer authsvc.Profile) bool {
		got := answer.Text(member)
		for _, word := range words {
			if got == word {
				return true
			}
		}
		return false
	}
}
