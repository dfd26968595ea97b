package provider

import (
	"context"
	"fmt"

	"authsvc"
)

// requireActive refuses accounts that the provider has locked, suspended or closed:
// some providers issue tokens for them too. got is the value in the profile at provider
// id, want the value for an active account.
func requireActive(id string, got, want any) error {
	switch got {
	case want:
		return nil
	case nil, "":
		return fmt.Errorf("%s: the profile does not say whether the account is in use", id)
	}
	return fmt.Errorf("%s: the account is not in use: %w", id, authsvc.ErrAccessDenied)
}

// activeUser returns a Hooks.UserInfo that only checks whether the account is active:
// the profile must have want, a text or the digits of a number, at path.
func activeUser(id, path, want string) func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
	return func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		profile, err := x.UserInfo(ctx)
		if err != nil {
			return nil, err
		}
		return profile, requireActive(id, profile.Text(path), want)
	}
}
