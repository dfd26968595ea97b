package provider

import "authsvc"

func lineEntry() Entry {
	return Entry{
		ID: "line", Name: "LINE", Protocol: "oidc", Email: EmailUnverified,
		Docs: "https://developers.line.biz/en/docs/line-login/integrate-line-login/",
		Notes: []string{
			"For email addresses, apply for the permission in the console and set scope: openid profile email.",
		},
		New: plain(Line),
	}
}

// Line signs in with a LINE account through OpenID Connect. ID tokens of web logins are
// signed with the channel secret itself (HS256). For email addresses, apply for the
// permission and add email to the scope; they are unverified.
//
// https://developers.line.biz/en/docs/line-login/integrate-line-login/
func Line(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "line", Name: "LINE", Client: c,
		OpenID:      true,
		Issuer:      "https://access.line.me",
		Scope:       "openid profile",
		AuthMethod:  "client_secret_post",
		SigningAlgs: []string{"HS256"},
		Fields:      authsvc.Fields{EmailVerified: never},
		Style:       authsvc.Style{Logo: "line", Background: "#00c300", Text: "#000000"},
	}
}
