package provider

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/internal/text"
)

func weComEntry() Entry {
	return Entry{
		ID: "wecom", Name: "WeCom", Aliases: []string{"wxwork"}, Protocol: "oauth2", Email: EmailIssuer,
		Docs: "https://developer.work.weixin.qq.com/document/path/98152",
		Options: []Option{
			{Key: "agent_id", Doc: "the number of the app (AgentId)", Example: "1000002", Required: true},
		},
		Notes: []string{
			"The client id is the id of the company (CorpID), the client secret is the secret of the app.",
			"The directory withholds email addresses and pictures from apps created since June 2022.",
			"The API works only from the trusted IP addresses that the admin console lists.",
			noteTrustEmail,
		},
		New: weCom,
	}
}

// WeCom signs in members of one company through the company's own app. The client id is
// the company's id (CorpID), the client secret is the app's, and agentID is the app's
// number. The API's access token belongs to the app, not to the person: it is used for
// the calls and not stored. If you trust the email addresses in the directory, set
// TrustEmail.
//
// https://developer.work.weixin.qq.com/document/path/98152
func WeCom(c authsvc.Client, agentID string) *authsvc.OAuth {
	const api = "https://qyapi.weixin.qq.com/cgi-bin"
	o := &authsvc.OAuth{
		ID: "wecom", Name: "WeCom", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://login.work.weixin.qq.com/wwlogin/sso/login",
			Token:         api + "/gettoken",
			UserInfo:      api + "/user/get",
		},
		AuthorizationParams: map[string]string{"login_type": "CorpApp", "agentid": agentID},
		ClientIDParam:       "appid",
		Checks:              []string{"state"}, // PKCE is not supported
		UserInfo: authsvc.UserInfo{
			Auth: "query:access_token",
		},
		Fields: authsvc.Fields{
			ID:            "userid",
			Name:          "name|alias",
			Email:         "email",
			EmailVerified: never,
			Image:         "avatar",
		},
		Style: authsvc.Style{Background: "#2f7dcd", Text: "#000000"},
	}
	o.Hooks.ExchangeCode = withCode("wecom", func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		if err := weComToken(ctx, o.Endpoints.Token, x); err != nil {
			return nil, err
		}
		member, err := weComMember(ctx, api+"/auth/getuserinfo", o.Endpoints.UserInfo, x)
		// The person has no access token to use or store.
		return authsvc.Profile{"access_token": "none", "token_type": "Bearer", "expires_in": 1, "member": map[string]any(member)}, err
	})
	o.Hooks.UserInfo = func(_ context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		member, _ := x.Tokens["member"].(map[string]any)
		return member, nil
	}
	return o
}

// weComToken requests an access token for the app.
func weComToken(ctx context.Context, tokenURL string, x *authsvc.Exchange) error {
	q := url.Values{"corpid": {x.Client.ID}, "corpsecret": {x.Client.Secret}}
	answer, err := weComCall(ctx, x, authsvc.APIRequest{URL: tokenURL + "?" + q.Encode()})
	x.Tokens = answer
	return err
}

// weComMember exchanges the code for a member and reads the member's directory entry.
func weComMember(ctx context.Context, codeURL, userURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	who, err := weComCall(ctx, x, authsvc.APIRequest{URL: codeURL + "?" + url.Values{"code": {x.Code}}.Encode(), WithToken: true})
	if err != nil {
		return nil, err
	}
	id := who.Text("userid")
	if id == "" {
		return nil, fmt.Errorf("wecom: the person is not a member of the company: %w", authsvc.ErrAccessDenied)
	}
	member, err := weComCall(ctx, x, authsvc.APIRequest{URL: userURL + "?" + url.Values{"userid": {id}}.Encode(), WithToken: true})
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(member.Text("userid"), id) { // ids are case-insensitive
		return nil, errors.New("wecom: the directory returns another member")
	}
	return member, nil
}

func weComCall(ctx context.Context, x *authsvc.Exchange, r authsvc.APIRequest) (authsvc.Profile, error) {
	answer, err := object(ctx, x, "wecom", r)
	if err != nil {
		return nil, err
	}
	return answer, success("wecom", answer, "errcode", "0")
}

var agentNumber = text.LazyRegexp(`^[0-9]{1,20}$`)

func weCom(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	switch {
	case options["agent_id"] == "":
		return nil, missing("agent_id")
	case !agentNumber.MatchString(options["agent_id"]):
		return nil, &OptionError{Key: "agent_id", Problem: "is not a number", Fix: "copy AgentId from the page of the app in the admin console"}
	}
	return WeCom(c, options["agent_id"]), nil
}
