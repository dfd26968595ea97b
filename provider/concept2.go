package provider

import "authsvc"

func concept2Entry() Entry {
	return Entry{
		ID: "concept2", Name: "Concept2 Logbook", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://log.concept2.com/developers/documentation/",
		New:  plain(Concept2),
	}
}

// Concept2 signs in rowers with a Concept2 logbook account. The email address is
// unverified.
//
// https://log.concept2.com/developers/documentation/
func Concept2(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "concept2", Name: "Concept2 Logbook", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://log.concept2.com/oauth/authorize",
			Token:         "https://log.concept2.com/oauth/access_token",
			UserInfo:      "https://log.concept2.com/api/users/me",
		},
		Scope: "user:read",
		Fields: authsvc.Fields{
			ID:            "data.id",
			Name:          "data.username",
			Email:         "data.email",
			EmailVerified: never,
			Image:         "data.profile_image",
		},
		Style: authsvc.Style{Background: "#1a1a1a", Text: "#ffffff"},
	}
}
