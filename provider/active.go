package provider

import (
	"context"
	"fmt"

	"authsvc"
)

// requireActive refuses an account that the provider has locked, suspended or closed:
// some hand out tokens for those too. got is what the profile at provider id
// says, want what it says of an account that is in use.
func requireActive(id string, got, want any) error {
	switch got {
	case want:
		return nil
	case nil, "":
		return fmt.Errorf("%s: the profile does not say whether the account is in use", id)
	}
	return fmt.Errorf("%s: the account is not in use: %w", id, authsvc.ErrAccessDenied)
}

// activeUser is the Hooks.UserInfo of a provider that is plain but for that: the
// profile has want, a text or the digits of a number, at path.
func activeUser(id, path, want string) func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
	return func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		profile, err := x.UserInfo(ctx)
		if err != nil {
			return nil, err
		}
		return profile, requireActive(id, profile.Text(path), want)
	}
}
