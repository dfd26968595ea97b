package idp_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/protocol/oauth1"
)

// call1 sends a signed request and returns status and body.
func call1(t *testing.T, method, address string, c oauth1.Credentials, protocol map[string]string, nonce string, at time.Time, edit func(string) string) (int, string) {
	t.Helper()
	header, err := c.Authorization(oauth1.Request{Method: method, URL: address, Protocol: protocol}, nonce, at)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		header = edit(header)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", header)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestOAuth1 completes the whole flow, and checks that every deviation is refused.
func TestOAuth1(t *testing.T) {
	t.Parallel()
	s := listen(t, idp.Options{})
	app := oauth1.Credentials{ClientID: confidential.ID, ClientSecret: confidential.Secret}
	protocol := map[string]string{"oauth_callback": callback + "?state=x"}
	initiate := s.Issuer() + "/oauth1/initiate"
	now := time.Now()
	other := app
	other.ClientSecret = "x"
	native := oauth1.Credentials{ClientID: publicClient.ID}
	swap := func(from, to string) func(string) string {
		return func(h string) string { return strings.Replace(h, from, to, 1) }
	}
	for name, c := range map[string]struct {
		app      oauth1.Credentials
		protocol map[string]string
		at       time.Time
		edit     func(string) string
	}{
		"secret":   {app: other, protocol: protocol, at: now},
		"public":   {app: native, protocol: protocol, at: now},
		"callback": {app: app, protocol: map[string]string{"oauth_callback": "https://evil.example/"}, at: now},
		"old":      {app: app, protocol: protocol, at: now.Add(-6 * time.Minute)},
		"future":   {app: app, protocol: protocol, at: now.Add(6 * time.Minute)},
		"method":   {app: app, protocol: protocol, at: now, edit: swap("HMAC-SHA1", "PLAINTEXT")},
		"scheme":   {app: app, protocol: protocol, at: now, edit: swap("OAuth ", "Bearer ")},
		"twice":    {app: app, protocol: protocol, at: now, edit: func(h string) string { return h + `, oauth_nonce="b"` }},
		"changed":  {app: app, protocol: protocol, at: now, edit: swap("state", "stale")},
	} {
		if status, _ := call1(t, "POST", initiate, c.app, c.protocol, "nonce "+name, c.at, c.edit); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	status, body := call1(t, "POST", initiate, app, protocol, "n1", now, nil)
	temporary, err := oauth1.ParseAnswer([]byte(body))
	if status != http.StatusOK || err != nil || !temporary.Confirmed {
		t.Fatalf("twin: %d %v", status, err)
	}
	if status, _ = call1(t, "POST", initiate, app, protocol, "n1", now, nil); status != http.StatusUnauthorized {
		t.Errorf("nonce again: %d", status)
	}
	with := app
	with.Token, with.TokenSecret = temporary.Token, temporary.Secret
	if status, _ = call1(t, "POST", s.Issuer()+"/oauth1/token", with, map[string]string{"oauth_verifier": ""}, "n2", now, nil); status != http.StatusUnauthorized {
		t.Errorf("not approved: %d", status)
	}
	answer, err := s.Approve(s.Issuer()+"/oauth1/authorize?oauth_token="+url.QueryEscape(temporary.Token), "ada")
	if err != nil || !strings.HasPrefix(answer.URL(), callback+"?state=x&") {
		t.Fatalf("%s, %v", answer.URL(), err)
	}
	verifier := map[string]string{"oauth_verifier": answer.Params.Get("oauth_verifier")}
	if status, _ = call1(t, "POST", s.Issuer()+"/oauth1/token", with, map[string]string{"oauth_verifier": "x"}, "n3", now, nil); status != http.StatusUnauthorized {
		t.Errorf("wrong verifier: %d", status)
	}
	status, body = call1(t, "POST", s.Issuer()+"/oauth1/token", with, verifier, "n4", now, nil)
	permanent, err := oauth1.ParseAnswer([]byte(body))
	if status != http.StatusOK || err != nil || permanent.Fields["user_id"] != "ada" {
		t.Fatalf("twin: %d %s %v", status, body, err)
	}
	if status, _ = call1(t, "POST", s.Issuer()+"/oauth1/token", with, verifier, "n5", now, nil); status != http.StatusUnauthorized {
		t.Errorf("token again: %d", status)
	}
	with.Token, with.TokenSecret = permanent.Token, permanent.Secret
	if status, body = call1(t, "GET", s.Issuer()+"/oauth1/user?x=1", with, nil, "n6", now, nil); status != http.StatusOK || !strings.Contains(body, "ada@example.com") {
		t.Errorf("user: %d %s", status, body)
	}
	with.TokenSecret = temporary.Secret
	if status, _ = call1(t, "GET", s.Issuer()+"/oauth1/user?x=1", with, nil, "n7", now, nil); status != http.StatusUnauthorized {
		t.Errorf("user with another secret: %d", status)
	}
}
