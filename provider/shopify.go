package provider

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/internal/text"
)

func shopifyEntry() Entry {
	return Entry{
		ID: "shopify", Name: "Shopify", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://shopify.dev/docs/apps/build/authentication-authorization",
		Options: []Option{
			{Key: "shop", Doc: "the name of the shop: the part before .myshopify.com", Example: "acme", Required: true},
			{Key: "api_version", Doc: "the version of the Admin API to use", Example: "2026-07"},
		},
		Notes: []string{
			"A sign-in is for a shop: all of its staff are one user.",
			"For a person, set authorization_params to grant_options[]: per-user and profile.id, profile.name, profile.email and profile.email_verified to members of token.associated_user.",
		},
		New: shopify,
	}
}

// Shopify signs in with a Shopify shop, SHOP.myshopify.com. apiVersion is the version of
// the Admin API, such as 2026-07. Shopify releases one each quarter and retires it after
// a year. The user is the shop, no matter which of its staff signs in. The email
// address is the shop's contact address; it is unverified.
//
// https://shopify.dev/docs/apps/build/authentication-authorization
func Shopify(c authsvc.Client, shop, apiVersion string) *authsvc.OAuth {
	host := shop + ".myshopify.com"
	admin := "https://" + host + "/admin"
	o := &authsvc.OAuth{
		ID: "shopify", Name: "Shopify", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: admin + "/oauth/authorize",
			Token:         admin + "/oauth/access_token",
			UserInfo:      admin + "/api/" + cmp.Or(apiVersion, "2026-07") + "/shop.json",
		},
		UserInfo: authsvc.UserInfo{
			Auth: "header:X-Shopify-Access-Token",
		},
		Scope:      "read_customers",
		AuthMethod: "client_secret_post",
		NoPKCE:     true, // PKCE is not supported
		Hooks: authsvc.Hooks{
			ConformTokens: shopifyAnswer,
		},
		Fields: authsvc.Fields{ID: "shop.id", Name: "shop.name", Email: "shop.email", EmailVerified: never, Image: never},
		Style:  authsvc.Style{Logo: "shopify", Background: "#95bf47", Text: "#000000"},
	}
	o.Hooks.ExchangeCode = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		if err := shopifyCallback(host, x); err != nil {
			return nil, err
		}
		return shopifyTokens(ctx, o.Endpoints.Token, x)
	}
	return o
}

// shopifyCallback checks that Shopify signed the callback for this shop. It checks the
// same parameters as Shopify's own libraries.
func shopifyCallback(host string, x *authsvc.Exchange) error {
	signed := url.Values{}
	for _, name := range []string{"code", "host", "shop", "state", "timestamp"} {
		if v := x.Callback(name); v != "" {
			signed.Set(name, v)
		}
	}
	mac := hmac.New(sha256.New, []byte(x.Client.Secret))
	mac.Write([]byte(signed.Encode()))
	got, err := hex.DecodeString(x.Callback("hmac"))
	switch {
	case err != nil || !hmac.Equal(got, mac.Sum(nil)):
		return errors.New("shopify: hmac of the callback does not match this client's secret")
	case x.Code == "" || signed.Get("code") != x.Code || signed.Get("shop") != host:
		return errors.New("shopify: the callback is for another shop, or without a code")
	}
	return nil
}

func shopifyTokens(ctx context.Context, tokenURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	v, err := x.Do(ctx, authsvc.APIRequest{URL: tokenURL, Form: url.Values{
		"code": {x.Code}, "client_id": {x.Client.ID}, "client_secret": {x.Client.Secret},
	}})
	if err != nil {
		return nil, err
	}
	answer, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("shopify: the token answer is not an object")
	}
	return answer, nil
}

// shopifyAnswer adds the token type, which Shopify omits.
func shopifyAnswer(answer authsvc.Profile) (authsvc.Profile, error) {
	if answer["token_type"] == nil {
		answer["token_type"] = "Bearer"
	}
	return answer, nil
}

var (
	// shopName matches the name of a shop, which becomes part of a host name.
	shopName    = text.LazyRegexp(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	shopVersion = text.LazyRegexp(`^([0-9]{4}-[0-9]{2}|unstable)$`)
)

func shopify(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	shop := strings.TrimSuffix(strings.ToLower(options["shop"]), ".myshopify.com")
	switch version := options["api_version"]; {
	case shop == "":
		return nil, missing("shop")
	case !shopName.MatchString(shop):
		return nil, &OptionError{Key: "shop", Problem: "is not the name of a shop", Fix: "write the part before .myshopify.com"}
	case version != "" && !shopVersion.MatchString(version):
		return nil, &OptionError{Key: "api_version", Problem: "is not a version", Fix: "write the quarter, such as 2026-07"}
	}
	return Shopify(c, shop, options["api_version"]), nil
}
