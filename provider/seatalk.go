package provider

import "authsvc"

func seaTalkEntry() Entry {
	return Entry{
		ID: "seatalk", Name: "SeaTalk", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://open.seatalk.io/docs",
		New:  plain(SeaTalk),
	}
}

// SeaTalk signs in with a SeaTalk account. The access token is sent in the query. It is
// not documented whether email addresses are verified.
//
// https://open.seatalk.io/docs
func SeaTalk(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "seatalk", Name: "SeaTalk", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://seatalkweb.com/webapp/oauth2/authorize",
			Token:         "https://seatalkweb.com/webapp/oauth2/token",
			UserInfo:      "https://seatalkweb.com/webapp/oauth2/profile",
		},
		Scope: "email",
		UserInfo: authsvc.UserInfo{
			Auth: "query:access_token",
		},
		Fields: authsvc.Fields{ID: "user_id", EmailVerified: never},
		Style:  authsvc.Style{Background: "#1d6ff2", Text: "#ffffff"},
	}
}
