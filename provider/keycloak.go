package provider

import "authsvc"

func keycloakEntry() Entry {
	return Entry{
		ID: "keycloak", Name: "Keycloak", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://www.keycloak.org/securing-apps/oidc-layers",
		Options: issuerOption("https://id.example.com/realms/acme"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(Keycloak),
	}
}

// Keycloak signs in with a realm of a Keycloak server. Before version 17, the issuer's
// path begins with /auth. Addresses count as unverified, since the administrator
// controls them; to trust the flag, set Fields.EmailVerified to email_verified.
//
// https://www.keycloak.org/securing-apps/oidc-layers
func Keycloak(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "keycloak", Name: "Keycloak", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#4d4d4d", Text: "#ffffff"},
	}
}
