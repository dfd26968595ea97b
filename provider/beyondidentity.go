package provider

import "authsvc"

// BeyondIdentity signs in with an application of a Beyond Identity realm,
// which has an issuer of its own. Its administrator decides what an address is
// worth: to believe the flag, set Fields.EmailVerified to email_verified.
//
// https://developer.beyondidentity.com/
func BeyondIdentity(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "beyondidentity", Name: "Beyond Identity", Client: c,
		OpenID: true,
		Issuer: server(issuer),
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#5077c5", Text: "#000000"},
	}
}
