package idp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"authsvc/internal/dev/idp"
)

// TestTokenRefusals: each refused request differs from the accepted one in one detail.
func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	other := idp.Client{ID: "other", Secret: "another secret"}
	server := listen(t, idp.Options{Clients: []idp.Client{confidential, publicClient, other}})
	basic := func(id, secret string) string {
		req, _ := http.NewRequest(http.MethodPost, "/", nil)
		req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		return req.Header.Get("Authorization")
	}
	set := func(form url.Values, kv ...string) {
		for i := 0; i < len(kv); i += 2 {
			form.Set(kv[i], kv[i+1])
		}
	}
	tests := map[string]struct {
		edit   func(form url.Values, header map[string]string)
		status int
		code   string
	}{
		"accepted":          {func(url.Values, map[string]string) {}, 200, ""},
		"accepted, charset": {func(_ url.Values, h map[string]string) { h["Content-Type"] += "; charset=UTF-8" }, 200, ""},
		"accepted, post": {func(f url.Values, h map[string]string) {
			delete(h, "Authorization")
			set(f, "client_id", "app", "client_secret", confidential.Secret)
		}, 200, ""},
		"wrong verifier":           {func(f url.Values, _ map[string]string) { set(f, "code_verifier", strings.Repeat("x", 43)) }, 400, "invalid_grant"},
		"no verifier":              {func(f url.Values, _ map[string]string) { f.Del("code_verifier") }, 400, "invalid_grant"},
		"redirect_uri differs":     {func(f url.Values, _ map[string]string) { set(f, "redirect_uri", callback+"/") }, 400, "invalid_grant"},
		"no redirect_uri":          {func(f url.Values, _ map[string]string) { f.Del("redirect_uri") }, 400, "invalid_grant"},
		"code of another client":   {func(_ url.Values, h map[string]string) { h["Authorization"] = basic("other", "another secret") }, 400, "invalid_grant"},
		"made-up code":             {func(f url.Values, _ map[string]string) { set(f, "code", "MADEUP") }, 400, "invalid_grant"},
		"no code":                  {func(f url.Values, _ map[string]string) { f.Del("code") }, 400, "invalid_grant"},
		"code twice":               {func(f url.Values, _ map[string]string) { f.Add("code", f.Get("code")) }, 400, "invalid_request"},
		"wrong secret":             {func(_ url.Values, h map[string]string) { h["Authorization"] = basic("app", "wrong") }, 401, "invalid_client"},
		"no secret":                {func(_ url.Values, h map[string]string) { h["Authorization"] = basic("app", "") }, 401, "invalid_client"},
		"no client":                {func(_ url.Values, h map[string]string) { delete(h, "Authorization") }, 401, "invalid_client"},
		"unknown client":           {func(_ url.Values, h map[string]string) { h["Authorization"] = basic("nobody", "") }, 401, "invalid_client"},
		"bearer as client":         {func(_ url.Values, h map[string]string) { h["Authorization"] = "Bearer x" }, 401, "invalid_client"},
		"secret for public client": {func(_ url.Values, h map[string]string) { h["Authorization"] = basic("native", "x") }, 401, "invalid_client"},
		"basic and post":           {func(f url.Values, _ map[string]string) { set(f, "client_secret", confidential.Secret) }, 400, "invalid_request"},
		"two client ids":           {func(f url.Values, _ map[string]string) { set(f, "client_id", "other") }, 400, "invalid_request"},
		"no grant_type":            {func(f url.Values, _ map[string]string) { f.Del("grant_type") }, 400, "invalid_request"},
		"password grant":           {func(f url.Values, _ map[string]string) { set(f, "grant_type", "password") }, 400, "unsupported_grant_type"},
		"JSON":                     {func(_ url.Values, h map[string]string) { h["Content-Type"] = "application/json" }, 400, "invalid_request"},
		"large body":               {func(f url.Values, _ map[string]string) { set(f, "padding", strings.Repeat("x", 64<<10)) }, 400, "invalid_request"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rp := newRelyingParty(t, server, confidential)
			answer, err := server.Approve(rp.authURL(), "ada")
			if err != nil {
				t.Fatal(err)
			}
			form := url.Values{
				"grant_type": {"authorization_code"}, "code": {answer.Params.Get("code")},
				"redirect_uri": {callback}, "code_verifier": {rp.verifier},
			}
			header := map[string]string{
				"Authorization": basic(confidential.ID, confidential.Secret),
				"Content-Type":  "application/x-www-form-urlencoded",
			}
			tt.edit(form, header)
			var pairs []string
			for name, value := range header {
				pairs = append(pairs, name, value)
			}
			res, body := postForm(t, server.Issuer()+"/token", form, pairs...)
			var got struct {
				Error       string `json:"error"`
				AccessToken string `json:"access_token"`
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if res.StatusCode != tt.status || got.Error != tt.code || (got.AccessToken != "") != (tt.status == 200) {
				t.Errorf("got %d %s", res.StatusCode, body)
			}
			if strings.Contains(body, confidential.Secret) || strings.Contains(body, rp.verifier) {
				t.Error("the answer repeats a secret")
			}
			if cc := res.Header.Get("Cache-Control"); cc != "no-store" {
				t.Errorf("Cache-Control = %q", cc)
			}
			wantChallenge := tt.status == 401 && header["Authorization"] != ""
			if got := res.Header.Get("WWW-Authenticate") != ""; got != wantChallenge {
				t.Errorf("WWW-Authenticate there: %v, want %v", got, wantChallenge)
			}
		})
	}
}

func TestVerifierWithoutChallenge(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	for _, tt := range []struct {
		verifier string
		ok       bool
	}{{"", true}, {rp.verifier, false}} {
		answer, err := server.Approve(rp.config.AuthCodeURL("st"), "ada")
		if err != nil {
			t.Fatal(err)
		}
		var opts []oauth2.AuthCodeOption
		if tt.verifier != "" {
			opts = append(opts, oauth2.VerifierOption(tt.verifier))
		}
		_, err = rp.config.Exchange(t.Context(), answer.Params.Get("code"), opts...)
		if (err == nil) != tt.ok {
			t.Errorf("verifier %v: %v", tt.verifier != "", err)
		}
	}
}

func TestCodeReuseRevokes(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	answer, err := server.Approve(rp.authURL(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	exchange := func() (*oauth2.Token, error) {
		return rp.config.Exchange(t.Context(), answer.Params.Get("code"), oauth2.VerifierOption(rp.verifier))
	}
	token, err := exchange()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token)); err != nil {
		t.Fatalf("before the reuse: %v", err)
	}
	if _, err := exchange(); err == nil {
		t.Fatal("the code was good twice")
	}
	if _, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token)); err == nil {
		t.Error("the access token outlives the reuse of its code")
	}
}

// TestConcurrentRedemption: of many requests with one code, exactly one gets tokens.
// The others are replays, so these tokens are revoked.
func TestConcurrentRedemption(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	rp.config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	answer, err := server.Approve(rp.authURL(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	const n = 16
	tokens := make(chan *oauth2.Token, n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			token, err := rp.config.Exchange(t.Context(), answer.Params.Get("code"), oauth2.VerifierOption(rp.verifier))
			if err == nil {
				tokens <- token
			}
		})
	}
	wg.Wait()
	if len(tokens) != 1 {
		t.Fatalf("%d exchanges succeeded", len(tokens))
	}
	if _, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(<-tokens)); err == nil {
		t.Error("the access token outlives the replays")
	}
}

// TestFailedAttemptSpendsCode: a wrong verifier uses up the code.
func TestFailedAttemptSpendsCode(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	answer, err := server.Approve(rp.authURL(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	for _, verifier := range []string{oauth2.GenerateVerifier(), rp.verifier} {
		if _, err := rp.config.Exchange(t.Context(), answer.Params.Get("code"), oauth2.VerifierOption(verifier)); err == nil {
			t.Fatal("the code is good after a failed attempt")
		}
	}
}

// TestLifetimes: codes are valid for exactly 60 seconds, access tokens for exactly an
// hour.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	const issuer = "https://op.example.com"
	provider, err := idp.New(idp.Options{Issuer: issuer, Key: ecKey(), Clients: []idp.Client{confidential}})
	if err != nil {
		t.Fatal(err)
	}
	authURL := issuer + "/authorize?" + url.Values{
		"client_id": {"app"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid"},
	}.Encode()
	serve := func(req *http.Request) (int, string) {
		rec := httptest.NewRecorder()
		provider.ServeHTTP(rec, req)
		return rec.Code, rec.Body.String()
	}
	redeem := func(wait time.Duration) (int, string) {
		answer, err := provider.Approve(authURL, "ada")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		form := url.Values{
			"grant_type": {"authorization_code"}, "code": {answer.Params.Get("code")}, "redirect_uri": {callback},
			"client_id": {"app"}, "client_secret": {confidential.Secret},
		}
		req := httptest.NewRequest(http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return serve(req)
	}
	synctest.Test(t, func(t *testing.T) {
		if status, body := redeem(time.Minute); status != http.StatusBadRequest {
			t.Errorf("code after 60 s: %d %s", status, body)
		}
		status, body := redeem(time.Minute - time.Nanosecond)
		if status != http.StatusOK {
			t.Fatalf("code just before 60 s: %d %s", status, body)
		}
		var token struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(body), &token); err != nil {
			t.Fatal(err)
		}
		userinfo := func() int {
			req := httptest.NewRequest(http.MethodGet, issuer+"/userinfo", nil)
			req.Header.Set("Authorization", "bearer "+token.AccessToken)
			status, _ := serve(req)
			return status
		}
		time.Sleep(time.Hour - time.Nanosecond)
		if status := userinfo(); status != http.StatusOK {
			t.Errorf("token just before an hour: %d", status)
		}
		time.Sleep(time.Nanosecond)
		if status := userinfo(); status != http.StatusUnauthorized {
			t.Errorf("token after an hour: %d", status)
		}
	})
}

func TestUserInfoNeedsBearerHeader(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	token, err := rp.signIn(t, server, "ada")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		query, header string
		status        int
	}{
		"header":        {"", "Bearer " + token.AccessToken, 200},
		"query":         {"?access_token=" + token.AccessToken, "", 401},
		"basic":         {"", "Basic " + token.AccessToken, 401},
		"nothing":       {"", "", 401},
		"unknown token": {"", "Bearer x", 401},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, endpoint := range []string{"/userinfo", "/oauth2/user"} {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.Issuer()+endpoint+tt.query, nil)
				if tt.header != "" {
					req.Header.Set("Authorization", tt.header)
				}
				res, _ := do(t, req)
				if res.StatusCode != tt.status || (res.Header.Get("WWW-Authenticate") != "") != (tt.status == 401) {
					t.Errorf("%s: %d %q", endpoint, res.StatusCode, res.Header.Get("WWW-Authenticate"))
				}
			}
		})
	}
}
