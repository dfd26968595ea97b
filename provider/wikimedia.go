package provider

import "authsvc"

func wikimediaEntry() Entry {
	return Entry{
		ID: "wikimedia", Name: "Wikimedia", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://www.mediawiki.org/wiki/OAuth/For_Developers",
		Notes: []string{
			"If you need the email address, register the consumer with access to it.",
		},
		New: plain(Wikimedia),
	}
}

// Wikimedia signs in with an account of Wikipedia and its sister projects. The email
// address is provided only if the consumer was registered to see it. The grants are set
// at registration, so no scope is sent.
//
// https://www.mediawiki.org/wiki/OAuth/For_Developers
func Wikimedia(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "wikimedia", Name: "Wikimedia", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://meta.wikimedia.org/w/rest.php/oauth2/authorize",
			Token:         "https://meta.wikimedia.org/w/rest.php/oauth2/access_token",
			UserInfo:      "https://meta.wikimedia.org/w/rest.php/oauth2/resource/profile",
		},
		Fields: authsvc.Fields{Name: "username|realname", EmailVerified: "confirmed_email"},
		Style:  authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
