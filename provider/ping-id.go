package provider

import "authsvc"

func pingIDEntry() Entry {
	return Entry{
		ID: "ping-id", Name: "Ping Identity (PingOne)", Button: "PingOne", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://docs.pingidentity.com/pingone/",
		Options: issuerOption("https://auth.pingone.eu/30663132-6464-6665-3032-326466613934/as"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(PingID),
	}
}

// PingID signs in with a PingOne environment. Its host has the top-level domain of its
// region. Names and email addresses come from its userinfo endpoint. Addresses count
// as unverified, since the administrator controls them; to trust the flag, set
// Fields.EmailVerified to email_verified.
//
// https://docs.pingidentity.com/pingone/
func PingID(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "ping-id", Name: "PingOne", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#b3282d", Text: "#ffffff"},
	}
}
