package provider

import "authsvc"

func meetupEntry() Entry {
	return Entry{
		ID: "meetup", Name: "Meetup", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://www.meetup.com/graphql/authentication/",
		Notes: []string{
			"OAuth clients need a subscription to Meetup Pro.",
		},
		New: plain(Meetup),
	}
}

// Meetup signs in with a Meetup account. The profile comes from a GraphQL query. The
// email address is unverified.
//
// https://www.meetup.com/graphql/authentication/
func Meetup(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "meetup", Name: "Meetup", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://secure.meetup.com/oauth2/authorize",
			Token:         "https://secure.meetup.com/oauth2/access",
			UserInfo:      "https://api.meetup.com/gql-ext",
		},
		AuthMethod: "client_secret_post",
		UserInfo: authsvc.UserInfo{
			Method: "POST",
			Body:   `{"query":"query { self { id name email } }"}`,
		},
		Fields: authsvc.Fields{
			ID:            "data.self.id",
			Name:          "data.self.name",
			Email:         "data.self.email",
			EmailVerified: never,
		},
		Style: authsvc.Style{Background: "#f64060", Text: "#000000"},
	}
}
