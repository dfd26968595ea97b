package provider

import "authsvc"

func cognitoEntry() Entry {
	return Entry{
		ID: "cognito", Name: "Amazon Cognito", Protocol: "oidc", Email: EmailClaim,
		Docs:    "https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html",
		Options: issuerOption("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEf"),
		Notes: []string{
			"Sign-out is at https://DOMAIN/logout with client_id and logout_uri, which is not the standard endpoint.",
		},
		New: withIssuer(Cognito),
	}
}

// Cognito signs in with an Amazon Cognito user pool. issuer is the pool's issuer URL.
// Its host is not that of the login pages. For an app client without a secret, set
// AuthMethod to none. The pool decides what email_verified means; its value may be a
// text.
//
// https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html
func Cognito(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "cognito", Name: "Amazon Cognito", Client: c,
		OpenID:       true,
		Issuer:       withoutSlash(issuer),
		Fields:       authsvc.Fields{Name: "name|given_name|cognito:username|username"},
		VerifiedText: true,
		Style:        authsvc.Style{Background: "#ffffff", Text: "#000000"},
	}
}
