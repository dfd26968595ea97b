package provider

import "authsvc"

func ouraEntry() Entry {
	return Entry{
		ID: "oura", Name: "Oura", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://cloud.ouraring.com/docs/authentication",
		New:  plain(Oura),
	}
}

// Oura signs in with an Oura ring account through the API v2. The only name is the
// email address, which is unverified. People may deselect single scopes.
//
// https://cloud.ouraring.com/docs/authentication
func Oura(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "oura", Name: "Oura", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://cloud.ouraring.com/oauth/authorize",
			Token:         "https://api.ouraring.com/oauth/token",
			UserInfo:      "https://api.ouraring.com/v2/usercollection/personal_info",
		},
		Scope:  "email personal",
		Fields: authsvc.Fields{ID: "id", Name: "email", EmailVerified: never},
		Style:  authsvc.Style{Background: "#2f4a73", Text: "#ffffff"},
	}
}
