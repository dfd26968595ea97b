package provider

import "authsvc"

func mailcowEntry() Entry {
	return Entry{
		ID: "mailcow", Name: "mailcow", Protocol: "oauth2", Email: EmailImplied,
		Docs: "https://docs.mailcow.email/third_party/",
		Options: []Option{
			{Key: "base_url", Doc: "the URL of the server, such as https://mail.example.com", Example: "https://mail.example.com", Required: true},
		},
		Notes: []string{
			"Accounts are identified by the email address of the mailbox: the next owner of a mailbox gets the account.",
		},
		New: withOption("base_url", Mailcow),
	}
}

// Mailcow signs in with a mailbox of the mailcow server at baseURL. The id is the
// mailbox's address: if the mailbox passes to another person, so does the account.
// Inactive mailboxes are refused.
//
// https://docs.mailcow.email/third_party/
func Mailcow(c authsvc.Client, baseURL string) *authsvc.OAuth {
	base := withoutSlash(baseURL)
	return &authsvc.OAuth{
		ID: "mailcow", Name: "mailcow", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/oauth/authorize",
			Token:         base + "/oauth/token",
			UserInfo:      base + "/oauth/profile",
		},
		Scope:      "profile",
		Fields:     authsvc.Fields{ID: "id", Name: "full_name|displayName", Email: "email"},
		TrustEmail: true,
		Hooks: authsvc.Hooks{
			UserInfo: activeUser("mailcow", "active", "1"), // 2: a mailbox that only receives mail
		},
		Style: authsvc.Style{Background: "#f9e82d", Text: "#000000"},
	}
}
