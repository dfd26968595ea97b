package provider

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"

	"authsvc"
	"authsvc/internal/text"
)

func facebookEntry() Entry {
	return Entry{
		ID: "facebook", Name: "Facebook", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow",
		Options: []Option{
			{Key: "api_version", Doc: "the version of the Graph API, such as v24.0", Example: "v24.0"},
		},
		Notes: []string{
			"Facebook retires a version of its API about two years after it appears; set api_version to use another.",
			"Facebook Login for Business takes config_id in authorization_params.",
			"Facebook appends #_=_ to the URL that people return to.",
		},
		New: facebook,
	}
}

// Facebook signs in with a Facebook account. Ids are specific to the app. apiVersion is
// the version of the Graph API, v24.0 if empty; Facebook retires a version about two
// years after its release. The email address may be missing, and is unverified. Calls
// carry appsecret_proof, so an app may require it.
//
// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
func Facebook(c authsvc.Client, apiVersion string) *authsvc.OAuth {
	version := cmp.Or(apiVersion, "v24.0")
	o := &authsvc.OAuth{
		ID: "facebook", Name: "Facebook", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.facebook.com/" + version + "/dialog/oauth",
			Token:         "https://graph.facebook.com/" + version + "/oauth/access_token",
			UserInfo:      "https://graph.facebook.com/" + version + "/me?fields=id,name,email,picture",
		},
		Scope:      "email,public_profile",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "name",
			Email:         "email",
			EmailVerified: never,
			Image:         "picture.data.url",
		},
		Style: authsvc.Style{Logo: "facebook", Background: "#006aff", Text: "#ffffff"},
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return facebookProfile(ctx, x, o.Endpoints.UserInfo)
	}
	return o
}

// facebookProfile proves with each call that the holder of the token also has the app
// secret.
func facebookProfile(ctx context.Context, x *authsvc.Exchange, address string) (authsvc.Profile, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("facebook: malformed userinfo url")
	}
	token, _ := x.Tokens["access_token"].(string)
	proof := hmac.New(sha256.New, []byte(x.Client.Secret))
	proof.Write([]byte(token))
	q := u.Query()
	q.Set("appsecret_proof", hex.EncodeToString(proof.Sum(nil)))
	u.RawQuery = q.Encode()
	v, err := x.Get(ctx, u.String())
	if err != nil {
		return nil, err
	}
	profile, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("facebook: the profile is not an object")
	}
	return profile, nil
}

var graphVersion = text.LazyRegexp(`^v[0-9]{1,3}\.[0-9]{1,2}$`)

func facebook(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	version := options["api_version"]
	if version != "" && !graphVersion.MatchString(version) {
		return nil, &OptionError{Key: "api_version", Problem: "is not a version of the Graph API", Fix: "write one such as v24.0"}
	}
	return Facebook(c, version), nil
}
