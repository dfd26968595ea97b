package provider

import "authsvc"

func unitedEffectsEntry() Entry {
	return Entry{
		ID: "united-effects", Name: "United Effects", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://docs.unitedeffects.com/integrations/nextauthjs",
		Options: issuerOption("https://auth.unitedeffects.com/acme"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(UnitedEffects),
	}
}

// UnitedEffects signs in with a United Effects auth group. Names and email addresses
// come from its userinfo endpoint. Addresses count as unverified, since the
// administrator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
//
// https://docs.unitedeffects.com/integrations/nextauthjs
func UnitedEffects(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "united-effects", Name: "United Effects", Client: c,
		OpenID:              true,
		Issuer:              issuer,
		AuthorizationParams: map[string]string{"resource": issuer},
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#1b4965", Text: "#ffffff"},
	}
}
