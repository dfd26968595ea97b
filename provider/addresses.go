package provider

import (
	"context"
	"fmt"

	"authsvc"
)

// addresses puts the addresses that provider id keeps apart from the profile
// into it, as the member emails, whatever that was before.
func addresses(ctx context.Context, id string, x *authsvc.Exchange, profile authsvc.Profile, url string) error {
	list, err := x.Get(ctx, url)
	if err != nil {
		return fmt.Errorf("%s: e-mail addresses: %w", id, err)
	}
	profile["emails"] = list
	return nil
}
