package provider

import "authsvc"

func vercelMarketplaceEntry() Entry {
	return Entry{
		ID: "vercel-marketplace", Name: "Vercel Marketplace", Aliases: []string{"vercel_marketplace"}, Protocol: "oidc", Email: EmailUnverified,
		Docs: "https://vercel.com/docs/integrations/marketplace-api",
		Notes: []string{
			"The endpoint URLs of this provider are not confirmed; try it before you rely on it.",
		},
		New: plain(VercelMarketplace),
	}
}

// VercelMarketplace signs in people who open an integration from Vercel's marketplace.
// It is not documented whether email addresses are verified.
//
// https://vercel.com/docs/integrations/marketplace-api
func VercelMarketplace(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "vercel-marketplace", Name: "Vercel Marketplace", Client: c,
		OpenID: true,
		Issuer: "https://marketplace.vercel.com",
		Endpoints: authsvc.Endpoints{
			Authorization: "https://api.vercel.com/oauth/v2/authorization",
			Token:         "https://api.vercel.com/oauth/v2/accessToken",
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Logo: "vercel", Background: "#000000", Text: "#ffffff"},
	}
}
