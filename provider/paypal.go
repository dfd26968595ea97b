package provider

import "authsvc"

func payPalEntry() Entry {
	return Entry{
		ID: "paypal", Name: "PayPal", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developer.paypal.com/docs/log-in-with-paypal/integrate/",
		Notes: []string{
			"The host of the redirect URI must not be localhost; 127.0.0.1 is accepted.",
		},
		New: plain(PayPal),
	}
}

// PayPal signs in with a PayPal account. The email address is the primary one; it is
// verified if PayPal says that it is confirmed. For the sandbox, use the hosts sandbox.
// and api-m.sandbox. in the three URLs.
//
// https://developer.paypal.com/docs/log-in-with-paypal/integrate/
func PayPal(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "paypal", Name: "PayPal", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.paypal.com/signin/authorize",
			Token:         "https://api-m.paypal.com/v1/oauth2/token",
			UserInfo:      "https://api-m.paypal.com/v1/identity/oauth2/userinfo?schema=paypalv1.1",
		},
		Scope:               "openid email profile",
		AuthorizationParams: map[string]string{"flowEntry": "static"},
		Fields: authsvc.Fields{
			ID:            "user_id",
			Email:         "emails[primary=true].value",
			EmailVerified: "emails[primary=true].confirmed",
		},
		Style: authsvc.Style{Logo: "paypal", Background: "#003087", Text: "#ffffff"},
	}
}
