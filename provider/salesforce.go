package provider

import (
	"cmp"

	"authsvc"
)

func salesforceEntry() Entry {
	return Entry{
		ID: "salesforce", Name: "Salesforce", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_endpoints.htm",
		Options: []Option{
			{Key: "issuer", Doc: "the issuer, such as https://acme.my.salesforce.com", Example: "https://acme.my.salesforce.com"},
		},
		New: withDefault("issuer", Salesforce),
	}
}

// Salesforce signs in with an account of a Salesforce organization. If empty, issuer is
// https://login.salesforce.com. The sandbox is https://test.salesforce.com, and an
// organization may have its own domain. The id is the user's id, without the
// organization.
//
// https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_endpoints.htm
func Salesforce(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "salesforce", Name: "Salesforce", Client: c,
		OpenID:              true,
		Issuer:              cmp.Or(issuer, "https://login.salesforce.com"),
		AuthorizationParams: map[string]string{"display": "page"},
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{ID: "user_id", Image: "picture|photos.picture|photos.thumbnail"},
		Style:  authsvc.Style{Background: "#00a1e0", Text: "#000000"},
	}
}
