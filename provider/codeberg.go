package provider

import "authsvc"

func codebergEntry() Entry {
	return Entry{
		ID: "codeberg", Name: "Codeberg", Protocol: "oauth2", Email: EmailFiltered,
		Docs: "https://docs.codeberg.org/integrations/oauth2/",
		New:  plain(Codeberg),
	}
}

// Codeberg signs in with an account of codeberg.org, a Forgejo server that confirms
// email addresses. See [Gitea].
//
// https://docs.codeberg.org/integrations/oauth2/
func Codeberg(c authsvc.Client) *authsvc.OAuth {
	o := Gitea(c, "https://codeberg.org")
	o.ID, o.Name = "codeberg", "Codeberg"
	o.Fields.EmailVerified = giteaVerified
	o.Style = authsvc.Style{Logo: "codeberg", Background: "#2185d0", Text: "#000000"}
	return o
}
