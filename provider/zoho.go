package provider

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"authsvc"
)

// zohoCentres maps regions to the accounts servers of Zoho's data centres.
var zohoCentres = map[string]string{
	"au": "https://accounts.zoho.com.au",
	"ca": "https://accounts.zohocloud.ca",
	"eu": "https://accounts.zoho.eu",
	"in": "https://accounts.zoho.in",
	"jp": "https://accounts.zoho.jp",
	"sa": "https://accounts.zoho.sa",
	"uk": "https://accounts.zoho.uk",
	"us": "https://accounts.zoho.com",
}

func zohoEntry() Entry {
	return Entry{
		ID: "zoho", Name: "Zoho", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://www.zoho.com/accounts/protocol/oauth/sign-in-using-zoho.html",
		Options: []Option{
			{Key: "region", Doc: "the data centre where the client is registered: us (default), au, ca, eu, in, jp, sa or uk", Example: "eu"},
		},
		Notes: []string{
			"People of other data centres can sign in if the client is enabled for several, with the same secret.",
			"Ids from data centres other than us begin with the name of the data centre, such as eu:20061234567; to keep accounts that NextAuth.js stored for one data centre, set profile.id to ZUID and enable no other.",
			"For a refresh token, set authorization_params: {access_type: offline}.",
		},
		New: zoho,
	}
}

// Zoho signs in with a Zoho account. region is the data centre where the client is
// registered: us (default), au, ca, eu, in, jp, sa or uk.
//
// People of another data centre can sign in too if the client is enabled there with the
// same secret. Their codes are redeemed, and their tokens refreshed and revoked, at
// that data centre; the account stores it as session_state. Each data centre has its
// own users: ids are ZUID in us and REGION:ZUID elsewhere. The email address is
// unverified.
//
// https://www.zoho.com/accounts/protocol/oauth/sign-in-using-zoho.html
func Zoho(c authsvc.Client, region string) *authsvc.OAuth {
	home := zohoCentres[cmp.Or(region, "us")]
	o := &authsvc.OAuth{
		ID: "zoho", Name: "Zoho", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: home + "/oauth/v2/auth",
			Token:         home + "/oauth/v2/token",
			Revocation:    home + "/oauth/v2/token/revoke",
		},
		Hosts:      zohoHosts(),
		Scope:      "AaaServer.profile.Read",
		AuthMethod: "client_secret_post",
		Hooks: authsvc.Hooks{
			ExchangeCode: func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
				return zohoTokens(ctx, home, x)
			},
			UserInfo: func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
				return zohoUser(ctx, home, x)
			},
		},
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "{First_Name} {Last_Name}|Display_Name",
			Email:         "Email",
			EmailVerified: never,
			Image:         never,
		},
		Style: authsvc.Style{Background: "#e42527", Text: "#ffffff"},
	}
	o.Hooks.RefreshTokens = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		r := authsvc.APIRequest{URL: zohoKept(x, home, o.Endpoints.Token), Form: withRefreshToken(x)}
		return refreshTokens(ctx, x, "zoho", r, textIs("error", "invalid_code", "invalid_grant"))
	}
	o.Hooks.RevokeToken = func(ctx context.Context, x *authsvc.Exchange, token, hint string) error {
		_, err := x.Do(ctx, authsvc.APIRequest{URL: zohoKept(x, home, o.Endpoints.Revocation), Form: url.Values{"token": {token},
			"token_type_hint": {hint}, "client_id": {x.Client.ID}, "client_secret": {x.Client.Secret}}})
		return err
	}
	return o
}

func zohoHosts() []string {
	var hosts []string
	for _, region := range slices.Sorted(maps.Keys(zohoCentres)) {
		hosts = append(hosts, strings.TrimPrefix(zohoCentres[region], "https://"))
	}
	return hosts
}

// zohoCentre returns the data centre that issued the code, as named in the callback. It
// must be one of Zoho's; otherwise nothing is sent.
func zohoCentre(home string, x *authsvc.Exchange) (region, accounts string, err error) {
	accounts = cmp.Or(withoutSlash(x.Callback("accounts-server")), home)
	for name, known := range zohoCentres {
		if accounts == known {
			return name, known, nil
		}
	}
	return "", "", errors.New("zoho: accounts-server of the callback is not a data centre of Zoho")
}

// zohoTokens redeems the code at the data centre that issued it.
func zohoTokens(ctx context.Context, home string, x *authsvc.Exchange) (authsvc.Profile, error) {
	if x.Code == "" {
		return nil, errors.New("zoho: no code")
	}
	region, accounts, err := zohoCentre(home, x)
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {x.Code}, "redirect_uri": {x.RedirectURI},
		"client_id": {x.Client.ID}, "client_secret": {x.Client.Secret}}
	if x.Verifier != "" {
		form.Set("code_verifier", x.Verifier)
	}
	v, err := x.Do(ctx, authsvc.APIRequest{URL: accounts + "/oauth/v2/token", Form: form})
	if err != nil {
		return nil, err
	}
	answer, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("zoho: the token answer is not an object")
	}
	answer["session_state"] = region
	return answer, nil
}

// zohoKept translates endpoint, a URL at home, to the data centre of a stored account.
// That is the data centre of its sign-in, or home if none is stored. Unknown regions
// also lead to home.
func zohoKept(x *authsvc.Exchange, home, endpoint string) string {
	if path, ok := strings.CutPrefix(endpoint, home); ok {
		return cmp.Or(zohoCentres[x.Tokens.Text("session_state")], home) + path
	}
	return endpoint // set by the operator
}

// zohoUser reads the profile at the same data centre. Two data centres may give the
// same number to different people, so the id includes the region.
func zohoUser(ctx context.Context, home string, x *authsvc.Exchange) (authsvc.Profile, error) {
	region, accounts, err := zohoCentre(home, x)
	if err != nil {
		return nil, err
	}
	v, err := x.Get(ctx, accounts+"/oauth/user/info")
	if err != nil {
		return nil, err
	}
	user, _ := v.(map[string]any)
	id := authsvc.Profile(user).Text("ZUID")
	if id == "" {
		return nil, errors.New("zoho: the profile has no ZUID")
	}
	if region != "us" {
		id = region + ":" + id
	}
	user["id"] = id
	return user, nil
}

func zoho(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	region := options["region"]
	if _, ok := zohoCentres[region]; region != "" && !ok {
		return nil, &OptionError{Key: "region", Problem: "is not a data centre of Zoho",
			Fix: "write one of " + strings.Join(slices.Sorted(maps.Keys(zohoCentres)), ", ")}
	}
	return Zoho(c, region), nil
}
