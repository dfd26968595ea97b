package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestRequestOptions checks each data field in the request that it concerns.
func TestRequestOptions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tune  func(*authsvc.OAuth)
		where string
		want  func(r *http.Request) bool
	}{
		"token params": {func(p *authsvc.OAuth) { p.TokenParams = map[string]string{"audience": "api"} }, "odd.test/token",
			func(r *http.Request) bool {
				return r.Form.Get("audience") == "api" && r.Form.Get("code") == "the-code" && r.Form.Get("code_verifier") != ""
			}},
		"client id": {func(p *authsvc.OAuth) { p.ClientIDParam, p.AuthMethod = "client_key", "client_secret_post" }, "odd.test/token",
			func(r *http.Request) bool {
				return r.Form.Get("client_key") == "odd-client" && !r.Form.Has("client_id") && r.Form.Get("client_secret") == arena.ClientSecret
			}},
		"header": {func(p *authsvc.OAuth) { p.Headers = map[string]string{"Client-Id": "<{client_id}>"} }, "odd.test/token",
			func(r *http.Request) bool { return r.Header.Get("Client-Id") == "<odd-client>" }},
		"userinfo header": {func(p *authsvc.OAuth) {
			p.Headers, p.UserInfo.Headers = map[string]string{"V": "1"}, map[string]string{"Client-Id": "{client_id}"}
		},
			"api.odd.test/me", func(r *http.Request) bool {
				return r.Header.Get("Client-Id") == "odd-client" && r.Header.Get("V") == "1" && r.Header.Get("Authorization") == "Bearer the-token"
			}},
		"query": {func(p *authsvc.OAuth) {
			p.UserInfo.Auth, p.Endpoints.UserInfo = "query:oauth_token", "https://api.odd.test/me?v=2"
		}, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.URL.RawQuery == "oauth_token=the-token&v=2" && r.Header.Get("Authorization") == ""
			}},
		"bare header": {func(p *authsvc.OAuth) { p.UserInfo.Auth = "header:x-access-token" }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Header.Get("X-Access-Token") == "the-token" && r.Header.Get("Authorization") == ""
			}},
		"scheme": {func(p *authsvc.OAuth) { p.UserInfo.Auth = "header:Authorization OAuth" }, "api.odd.test/me",
			func(r *http.Request) bool { return r.Header.Get("Authorization") == "OAuth the-token" }},
		"post json": {func(p *authsvc.OAuth) { p.UserInfo.Method, p.UserInfo.Body = "POST", `{"query":"{me{id}}"}` }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Method == "POST" && r.Header.Get("Content-Type") == "application/json" && r.PostForm.Get("raw") == `{"query":"{me{id}}"}`
			}},
		"post form": {func(p *authsvc.OAuth) { p.UserInfo.Method, p.UserInfo.Body = "POST", "a=b" }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" && r.Form.Get("a") == "b"
			}},
		"post nothing": {func(p *authsvc.OAuth) { p.UserInfo.Method = "POST" }, "api.odd.test/me",
			func(r *http.Request) bool {
				return r.Method == "POST" && r.ContentLength == 0 && r.Header.Get("Content-Type") == ""
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOdd(nil)
			w := startOdd(t, o, tt.tune)
			if oddUser(w) == nil {
				t.Fatalf("%s", w.Logs)
			}
			if r := o.request(tt.where); r == nil || !tt.want(r) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestNonStandardTokenAnswer signs in at a provider that takes JSON, has its own form
// of answer and keeps the id in the token answer.
func TestNonStandardTokenAnswer(t *testing.T) {
	t.Parallel()
	o := newOdd(map[string]string{
		"odd.test/gettoken":   `{"code":0,"data":{"accessToken":"odd-token","openid":9007199254740993,"expires":60}}`,
		"api.odd.test/emails": `[{"email":"old@odd.test","primary":false},{"email":"ada@odd.test","primary":true,"verified":"true"}]`,
	})
	w := startOdd(t, o, func(p *authsvc.OAuth) {
		p.Fields = authsvc.Fields{ID: "token.openid", Email: "emails[primary=true].email", EmailVerified: "emails[primary=true].verified"}
		p.VerifiedText = true
		p.Hooks.ExchangeCode = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			v, err := x.Do(ctx, authsvc.APIRequest{URL: "https://odd.test/gettoken", JSON: map[string]string{"code": x.Code, "secret": x.Client.Secret, "verifier": x.Verifier},
				Header: map[string]string{"Authorization": "Basic eA=="}})
			answer, _ := v.(map[string]any)
			return answer, err
		}
		p.Hooks.ConformTokens = func(a authsvc.Profile) (authsvc.Profile, error) {
			if a.Text("code") != "0" {
				return nil, errors.New("the provider answered with code " + a.Text("code"))
			}
			return authsvc.Profile{"access_token": a.Text("data.accessToken"), "token_type": "bearer", "expires_in": a.Text("data.expires"),
				"openid": a.Text("data.openid")}, nil
		}
		p.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			profile, err := x.UserInfo(ctx)
			if err != nil {
				return nil, err
			}
			profile["emails"], err = x.Get(ctx, "https://api.odd.test/emails")
			return profile, err
		}
	})
	b := w.Browser()
	signInOdd(w, b)
	if b.Email() != "ada@odd.test" {
		t.Fatalf("%v %s", b.Session(), w.Logs)
	}
	u, err := w.Store.GetUserByAccount(t.Context(), "odd", "9007199254740993")
	if err != nil || u.Name != "Ada" || u.EmailVerified.IsZero() {
		t.Errorf("%+v, %v", u, err)
	}
	accounts, err := w.Accounts(t.Context(), u.ID)
	if err != nil || len(accounts) != 1 || accounts[0].AccessToken != "odd-token" || accounts[0].ExpiresAt == 0 {
		t.Errorf("%+v, %v", accounts, err)
	}
	var sent map[string]string
	r := o.request("odd.test/gettoken")
	if err := json.Unmarshal([]byte(r.PostForm.Get("raw")), &sent); err != nil || sent["code"] != "the-code" || sent["secret"] != arena.ClientSecret || sent["verifier"] == "" ||
		r.Header.Get("Authorization") != "Basic eA==" {
		t.Errorf("%v %v", sent, r.Header)
	}
	if got := o.request("api.odd.test/emails").Header.Get("Authorization"); got != "Bearer odd-token" {
		t.Error(got)
	}
	o.answers["odd.test/gettoken"] = `{"code":40029}`
	if oddUser(w) != nil || !strings.Contains(w.Logs.String(), "code 40029") {
		t.Errorf("an error with status 200 is accepted: %s", w.Logs)
	}
}
