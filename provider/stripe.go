package provider

import (
	"context"
	"errors"
	"fmt"

	"authsvc"
	"authsvc/internal/text"
)

func stripeEntry() Entry {
	return Entry{
		ID: "stripe", Name: "Stripe Connect", Button: "Stripe", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://docs.stripe.com/connect/oauth-reference",
		Notes: []string{
			"The client secret is the secret API key of the platform.",
			"A sign-in is for a business: all people who run it are one user.",
		},
		New: plain(Stripe),
	}
}

// Stripe signs in with a Stripe account through Connect. The user is a business, no
// matter which of its staff signs in. The client secret is the platform's secret API
// key. To revoke tokens, use https://connect.stripe.com/oauth/deauthorize, which does
// not follow RFC 7009. The email address is unverified.
//
// https://docs.stripe.com/connect/oauth-reference
func Stripe(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "stripe", Name: "Stripe", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://connect.stripe.com/oauth/authorize",
			Token:         "https://connect.stripe.com/oauth/token",
			UserInfo:      "https://api.stripe.com/v1/accounts",
		},
		Scope:      "read_only",
		AuthMethod: "client_secret_post",
		NoPKCE:     true, // PKCE is not supported
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "display_name|settings.dashboard.display_name",
			Email:         "email",
			EmailVerified: never,
			Image:         "business_logo",
		},
		Style: authsvc.Style{Logo: "stripe", Background: "#635bff", Text: "#ffffff"},
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return stripeAccount(ctx, o.Endpoints.UserInfo, x)
	}
	return o
}

// stripeID matches account ids, which become part of a path.
var stripeID = text.LazyRegexp(`^acct_[A-Za-z0-9]+$`)

// stripeAccount fetches the account that the token belongs to.
func stripeAccount(ctx context.Context, accounts string, x *authsvc.Exchange) (authsvc.Profile, error) {
	id := x.Tokens.Text("stripe_user_id")
	if !stripeID.MatchString(id) {
		return nil, errors.New("stripe: stripe_user_id of the token answer is not an account id")
	}
	v, err := x.Get(ctx, accounts+"/"+id)
	if err != nil {
		return nil, fmt.Errorf("stripe: account: %w", err)
	}
	account, _ := v.(map[string]any)
	if account["id"] != id {
		return nil, errors.New("stripe: the account does not match the token")
	}
	return account, nil
}
