package provider

import "authsvc"

func huggingFaceEntry() Entry {
	return Entry{
		ID: "huggingface", Name: "Hugging Face", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://huggingface.co/docs/hub/oauth",
		New:  plain(HuggingFace),
	}
}

// HuggingFace signs in with a Hugging Face Hub account.
//
// https://huggingface.co/docs/hub/oauth
func HuggingFace(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "huggingface", Name: "Hugging Face", Client: c,
		OpenID: true,
		Issuer: "https://huggingface.co",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Style: authsvc.Style{Logo: "huggingface", Background: "#ffd21e", Text: "#000000"},
	}
}
