package provider

import "authsvc"

func eventbriteEntry() Entry {
	return Entry{
		ID: "eventbrite", Name: "Eventbrite", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://www.eventbrite.com/platform/api#/introduction/authentication",
		New:  plain(Eventbrite),
	}
}

// Eventbrite signs in with an Eventbrite account. The email address is the primary
// one; it is verified if Eventbrite says so.
//
// https://www.eventbrite.com/platform/api#/introduction/authentication
func Eventbrite(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "eventbrite", Name: "Eventbrite", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.eventbrite.com/oauth/authorize",
			Token:         "https://www.eventbrite.com/oauth/token",
			UserInfo:      "https://www.eventbriteapi.com/v3/users/me/",
		},
		Scope:      "user.profile",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "id",
			Email:         "emails[primary=true].email",
			EmailVerified: "emails[primary=true].verified",
			Image:         "https://img.evbuc.com/https%3A%2F%2Fcdn.evbuc.com%2Fimages%2F{image_id}%2F1%2Foriginal.jpg",
		},
		Style: authsvc.Style{Background: "#f05537", Text: "#000000"},
	}
}
