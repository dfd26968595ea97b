package provider

import "authsvc"

func liveChatEntry() Entry {
	return Entry{
		ID: "livechat", Name: "LiveChat", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://platform.text.com/docs/authorization",
		New:  plain(LiveChat),
	}
}

// LiveChat signs in agents with a LiveChat (text.com) account. The permissions of the
// app are set when it is registered.
//
// https://platform.text.com/docs/authorization
func LiveChat(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "livechat", Name: "LiveChat", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://accounts.livechat.com/",
			Token:         "https://accounts.livechat.com/token",
			UserInfo:      "https://accounts.livechat.com/v2/accounts/me",
		},
		Fields: authsvc.Fields{ID: "account_id", Image: "avatar_url"},
		Style:  authsvc.Style{Logo: "livechat", Background: "#ff5100", Text: "#000000"},
	}
}
