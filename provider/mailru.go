package provider

import "authsvc"

// MailRu signs in with a mailbox of Mail.ru; the address is that mailbox.
//
// https://id.vk.com/about/business/go/docs/ru/vkid/latest/oauth/oauth-mail/index
func MailRu(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "mailru", Name: "Mail.ru", Client: c,
		AuthorizationURL: "https://oauth.mail.ru/login",
		TokenURL:         "https://oauth.mail.ru/token",
		UserInfoURL:      "https://oauth.mail.ru/userinfo",
		Scope:            "userinfo",
		UserInfoAuth:     "query:access_token",
		Fields:           authsvc.Fields{ID: "id", Name: "name|nickname", Image: "image"},
		TrustEmail:       true,
		Style:            authsvc.Style{Background: "#005ff9", Text: "#ffffff"},
	}
}
