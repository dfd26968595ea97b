package provider

import "authsvc"

func classLinkEntry() Entry {
	return Entry{
		ID: "classlink", Name: "ClassLink", Protocol: "oauth2", Email: EmailIssuer,
		Docs: "https://developer.classlink.com/docs",
		Notes: []string{
			noteTrustEmail,
		},
		New: plain(ClassLink),
	}
}

// ClassLink signs in pupils and teachers through their school's LaunchPad. Schools
// decide whether they verify email addresses; if you trust all of them, set
// TrustEmail.
//
// https://developer.classlink.com/docs
func ClassLink(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "classlink", Name: "ClassLink", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://launchpad.classlink.com/oauth2/v2/auth",
			Token:         "https://launchpad.classlink.com/oauth2/v2/token",
			UserInfo:      "https://nodeapi.classlink.com/v2/my/info",
		},
		Scope: "profile",
		Fields: authsvc.Fields{
			ID:            "UserId",
			Name:          "DisplayName|{FirstName} {LastName}",
			Email:         "Email",
			EmailVerified: never,
		},
		Style: authsvc.Style{Background: "#0a4b78", Text: "#ffffff"},
	}
}
