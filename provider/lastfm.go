package provider

import (
	"context"
	"crypto/md5" // #nosec G501 -- the service signs by it
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/text"
)

func lastFMEntry() Entry {
	return Entry{
		ID: "lastfm", Name: "Last.fm", Protocol: "custom", Email: EmailAbsent,
		Docs: "https://www.last.fm/api/webauth",
		Notes: []string{
			"The client id is the API key, the client secret the shared secret of the API account.",
		},
		New: plain(LastFM),
	}
}

// LastFM signs in with a Last.fm account, using Last.fm's own protocol. The client id
// is the API key and the client secret the shared secret of an API account. The id is
// the user name. The profile has no email address.
//
// https://www.last.fm/api/webauth
func LastFM(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "lastfm", Name: "Last.fm", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.last.fm/api/auth",
			Token:         "https://ws.audioscrobbler.com/2.0/",
			UserInfo:      "https://ws.audioscrobbler.com/2.0/",
		},
		Hooks: authsvc.Hooks{
			Authorize: lastFMCallback,
		},
		ClientIDParam: "api_key",
		Checks:        []string{"state"}, // PKCE is not supported
		Fields: authsvc.Fields{
			ID:    "user.name",
			Name:  "user.realname|user.name",
			Email: never,
			Image: `user.image[size=extralarge]."#text"`,
		},
		Style: authsvc.Style{Logo: "lastfm", Background: "#d51007", Text: "#ffffff"},
	}
	o.Hooks.ExchangeCode = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return lastFMSession(ctx, o.Endpoints.Token, x)
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return lastFMUser(ctx, o.Endpoints.UserInfo, x)
	}
	return o
}

// lastFMCallback puts the state into the callback URL, since Last.fm returns no other
// parameter of ours.
func lastFMCallback(q url.Values) {
	q.Set("cb", q.Get("redirect_uri")+"?"+url.Values{"state": q["state"]}.Encode())
	q.Del("redirect_uri")
	q.Del("response_type")
}

var lastFMToken = text.LazyRegexp(`^[A-Za-z0-9_-]{1,128}$`)

// lastFMSession redeems the token in the callback. A session does not expire.
func lastFMSession(ctx context.Context, api string, x *authsvc.Exchange) (authsvc.Profile, error) {
	token := x.Callback("token")
	if !lastFMToken.MatchString(token) {
		return nil, errors.New("lastfm: the token is missing or malformed")
	}
	params := map[string]string{"method": "auth.getSession", "api_key": x.Client.ID, "token": token}
	form := url.Values{"format": {"json"}, "api_sig": {lastFMSignature(params, x.Client.Secret)}}
	for name, v := range params {
		form.Set(name, v)
	}
	answer, err := object(ctx, x, "lastfm", authsvc.APIRequest{URL: api, Form: form})
	if err != nil {
		return nil, err
	}
	return authsvc.Profile{"access_token": answer.Text("session.key"), "token_type": "Bearer", "name": answer.Text("session.name")}, nil
}

// lastFMSignature signs params with the secret, by Last.fm's algorithm.
func lastFMSignature(params map[string]string, secret string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(params)) {
		b.WriteString(name + params[name])
	}
	sum := md5.Sum([]byte(b.String() + secret)) // #nosec G401 -- the service signs by it
	return hex.EncodeToString(sum[:])
}

// lastFMUser reads the public profile of the session's user.
func lastFMUser(ctx context.Context, api string, x *authsvc.Exchange) (authsvc.Profile, error) {
	name := x.Tokens.Text("name")
	if name == "" {
		return nil, errors.New("lastfm: the session names no user")
	}
	q := url.Values{"method": {"user.getInfo"}, "user": {name}, "api_key": {x.Client.ID}, "format": {"json"}}
	profile, err := object(ctx, x, "lastfm", authsvc.APIRequest{URL: api + "?" + q.Encode()})
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(profile.Text("user.name"), name) { // names are case-insensitive
		return nil, errors.New("lastfm: the profile does not match the session")
	}
	return profile, nil
}
