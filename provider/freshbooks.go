package provider

import "authsvc"

func freshBooksEntry() Entry {
	return Entry{
		ID: "freshbooks", Name: "FreshBooks", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://www.freshbooks.com/api/authentication",
		Notes: []string{
			"The redirect URI must be https and must not have a query.",
		},
		New: plain(FreshBooks),
	}
}

// FreshBooks signs in with a FreshBooks account. A refresh token can be used once. The
// email address is unverified.
//
// https://www.freshbooks.com/api/authentication
func FreshBooks(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "freshbooks", Name: "FreshBooks", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://auth.freshbooks.com/oauth/authorize",
			Token:         "https://api.freshbooks.com/auth/oauth/token",
			UserInfo:      "https://api.freshbooks.com/auth/api/v1/users/me",
		},
		Scope:      "user:profile:read",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "response.id",
			Name:          "{response.first_name} {response.last_name}",
			Email:         "response.email",
			EmailVerified: never,
		},
		Style: authsvc.Style{Background: "#0075dd", Text: "#ffffff"},
	}
}
