package provider

import "authsvc"

func amazonEntry() Entry {
	return Entry{
		ID: "amazon", Name: "Login with Amazon", Button: "Amazon", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.amazon.com/docs/login-with-amazon/documentation-overview.html",
		New:  plain(Amazon),
	}
}

// Amazon signs in with an Amazon account (Login with Amazon). Ids are specific to a
// security profile. The email address is unverified.
//
// https://developer.amazon.com/docs/login-with-amazon/documentation-overview.html
func Amazon(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "amazon", Name: "Amazon", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.amazon.com/ap/oa",
			Token:         "https://api.amazon.com/auth/o2/token",
			UserInfo:      "https://api.amazon.com/user/profile",
		},
		Scope:  "profile",
		Fields: authsvc.Fields{ID: "user_id", EmailVerified: never},
		Style:  authsvc.Style{Background: "#ff9900", Text: "#000000"},
	}
}
