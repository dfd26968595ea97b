package provider

import "authsvc"

func workOSEntry() Entry {
	return Entry{
		ID: "workos", Name: "WorkOS SSO", Protocol: "oauth2", Email: EmailIssuer,
		Docs: "https://workos.com/docs/reference/sso",
		Options: []Option{
			{Key: "connection", Doc: "the id of the connection to sign in by", Example: "conn_01E4ZCR3C56J083X43JQXF3JK5"},
			{Key: "organization", Doc: "the id of the organization to sign in for; one of the three is required", Example: "org_01EHWNCE74X7JSDV0X3SZ3KJNY", Required: true},
			{Key: "provider", Doc: "a way to sign in, such as authkit or GoogleOAuth", Example: "GoogleOAuth"},
		},
		Notes: []string{
			noteTrustEmail,
		},
		New: workOS,
	}
}

// WorkOS signs in through WorkOS SSO. params names a connection, an organization or a
// provider such as GoogleOAuth. The client secret is the API key. Email addresses come
// from the customer's identity provider; if you trust it, set TrustEmail.
//
// https://workos.com/docs/reference/sso
func WorkOS(c authsvc.Client, params map[string]string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "workos", Name: "WorkOS SSO", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://api.workos.com/sso/authorize",
			Token:         "https://api.workos.com/sso/token",
			UserInfo:      "https://api.workos.com/sso/profile",
		},
		AuthorizationParams: params,
		AuthMethod:          "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "{first_name} {last_name}|email",
			Email:         "email",
			EmailVerified: never,
			Image:         "raw_attributes.picture",
		},
		Style: authsvc.Style{Background: "#6363f1", Text: "#ffffff"},
	}
}

// workOS creates the provider from one of three options, which name the identity
// provider to use.
func workOS(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	params := map[string]string{}
	for _, key := range []string{"connection", "organization", "provider"} {
		if options[key] != "" {
			params[key] = options[key]
		}
	}
	if len(params) == 0 {
		return nil, &OptionError{Key: "organization", Problem: "is missing", Fix: "give one of connection, organization and provider"}
	}
	return WorkOS(c, params), nil
}
