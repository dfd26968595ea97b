package provider

import "authsvc"

// CloudFoundry signs in with a UAA server, the one of Cloud Foundry. Its
// administrator decides what an address is worth: to believe the flag, set
// Fields.EmailVerified to email_verified.
//
// https://docs.cloudfoundry.org/api/uaa/
func CloudFoundry(c authsvc.Client, uaaURL string) *authsvc.OAuth {
	base := server(uaaURL)
	return &authsvc.OAuth{
		ID: "cloudfoundry", Name: "Cloud Foundry UAA", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/oauth/authorize",
			Token:         base + "/oauth/token",
			UserInfo:      base + "/userinfo",
		},
		Scope:  "openid",
		Fields: authsvc.Fields{ID: "user_id", Name: "name|{given_name} {family_name}", EmailVerified: never},
		Style:  authsvc.Style{Background: "#0c9ed5", Text: "#000000"},
	}
}
