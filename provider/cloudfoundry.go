package provider

import "authsvc"

func cloudFoundryEntry() Entry {
	return Entry{
		ID: "cloudfoundry", Name: "Cloud Foundry UAA", Protocol: "oauth2", Email: EmailIssuer,
		Docs: "https://docs.cloudfoundry.org/api/uaa/",
		Options: []Option{
			{Key: "uaa_url", Doc: "the URL of the UAA, such as https://uaa.example.com", Example: "https://uaa.example.com", Required: true},
		},
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withOption("uaa_url", CloudFoundry),
	}
}

// CloudFoundry signs in with a Cloud Foundry UAA server. Addresses count as unverified,
// since the administrator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
//
// https://docs.cloudfoundry.org/api/uaa/
func CloudFoundry(c authsvc.Client, uaaURL string) *authsvc.OAuth {
	base := withoutSlash(uaaURL)
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
