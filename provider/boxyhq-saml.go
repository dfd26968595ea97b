package provider

import "authsvc"

func boxyHQSAMLEntry() Entry {
	return Entry{
		ID: "boxyhq-saml", Name: "BoxyHQ SAML (Ory Polis)", Aliases: []string{"saml-jackson", "polis"}, Protocol: "oauth2", Email: EmailIssuer,
		Docs:    "https://www.ory.com/docs/polis",
		Options: issuerOption("https://sso.example.com"),
		Notes: []string{
			"Name the customer with the client id tenant=T&product=P and the secret dummy, or with tenant and product in authorization_params.",
			noteTrustEmail,
		},
		New: withIssuer(BoxyHQSAML),
	}
}

// BoxyHQSAML signs in through a server of Ory Polis, formerly BoxyHQ SAML Jackson,
// which speaks SAML to a customer's identity provider. The client id
// (tenant=T&product=P) or AuthorizationParams select the customer. Email addresses
// come from that identity provider; if you trust it, set TrustEmail.
//
// https://www.ory.com/docs/polis
func BoxyHQSAML(c authsvc.Client, issuer string) *authsvc.OAuth {
	base := withoutSlash(issuer)
	return &authsvc.OAuth{
		ID: "boxyhq-saml", Name: "BoxyHQ SAML (Ory Polis)", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/api/oauth/authorize",
			Token:         base + "/api/oauth/token",
			UserInfo:      base + "/api/oauth/userinfo",
		},
		AuthorizationParams: map[string]string{"provider": "saml"},
		Fields:              authsvc.Fields{ID: "id", Name: "{firstName} {lastName}|email", EmailVerified: never},
		Style:               authsvc.Style{Background: "#25c2a0", Text: "#000000"},
	}
}
