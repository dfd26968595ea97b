package provider

import "authsvc"

func mailRuEntry() Entry {
	return Entry{
		ID: "mailru", Name: "Mail.ru", Protocol: "oauth2", Email: EmailImplied,
		Docs: "https://id.vk.com/about/business/go/docs/ru/vkid/latest/oauth/oauth-mail/index",
		Notes: []string{
			"New applications are accepted only in exceptional cases; the successor is VK ID.",
		},
		New: plain(MailRu),
	}
}

// MailRu signs in with a Mail.ru mailbox. The email address is the mailbox's address.
//
// https://id.vk.com/about/business/go/docs/ru/vkid/latest/oauth/oauth-mail/index
func MailRu(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "mailru", Name: "Mail.ru", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://oauth.mail.ru/login",
			Token:         "https://oauth.mail.ru/token",
			UserInfo:      "https://oauth.mail.ru/userinfo",
		},
		Scope: "userinfo",
		UserInfo: authsvc.UserInfo{
			Auth: "query:access_token",
		},
		Fields:     authsvc.Fields{ID: "id", Name: "name|nickname", Image: "image"},
		TrustEmail: true,
		Style:      authsvc.Style{Logo: "mailru", Background: "#005ff9", Text: "#ffffff"},
	}
}
