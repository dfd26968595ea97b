package provider

import (
	"context"
	"fmt"

	"authsvc"
)

// addresses fetches the email addresses that provider id keeps apart from the profile.
// It stores them in the profile as emails, replacing any earlier value.
func addresses(ctx context.Context, id string, x *authsvc.Exchange, profile authsvc.Profile, url string) error {
	list, err := x.Get(ctx, url)
	if err != nil {
		return fmt.Errorf("%s: email addresses: %w", id, err)
	}
	profile["emails"] = list
	return nil
}
