package oidcoracle_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/oauth2"

	"authsvc/internal/protocol/oidc"
)

const (
	redirectURI = "https://app.example/callback/op"
	verifier    = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// TestExchange checks that x/oauth2 sends the same request and parses an ordinary
// answer alike.
func TestExchange(t *testing.T) {
	t.Parallel()
	for method, style := range map[string]oauth2.AuthStyle{oidc.ClientSecretBasic: oauth2.AuthStyleInHeader, oidc.ClientSecretPost: oauth2.AuthStyleInParams} {
		var sent *http.Request // the last request, with its body in Form
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Form, _ = url.ParseQuery(string(body))
			sent = r
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"access_token":"at","token_type":"bearer","refresh_token":"rt","expires_in":60}`)
		}))
		t.Cleanup(server.Close)
		const secret = "a:b c+d%ü"
		client, err := oidc.New(oidc.Config{AuthorizationURL: server.URL + "/authorize", TokenURL: server.URL + "/token",
			ClientID: clientID, ClientSecret: secret, AuthMethod: method})
		if err != nil {
			t.Fatal(err)
		}
		ours, err := client.Exchange(t.Context(), oidc.Grant{Code: "code", RedirectURI: redirectURI, Verifier: verifier})
		if err != nil {
			t.Fatal(err)
		}
		request := sent
		reference := oauth2.Config{
			ClientID: clientID, ClientSecret: secret, RedirectURL: redirectURI,
			Endpoint: oauth2.Endpoint{TokenURL: server.URL + "/token", AuthStyle: style},
		}
		theirs, err := reference.Exchange(t.Context(), "code", oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Authorization", "Content-Type"} {
			if !slices.Equal(sent.Header[name], request.Header[name]) {
				t.Errorf("%s: %s: theirs %q, ours %q", method, name, sent.Header[name], request.Header[name])
			}
		}
		if !maps.EqualFunc(sent.Form, request.Form, slices.Equal[[]string]) {
			t.Errorf("%s: theirs %v, ours %v", method, sent.Form, request.Form)
		}
		if theirs.AccessToken != ours.AccessToken || theirs.RefreshToken != ours.RefreshToken || theirs.Type() != ours.TokenType || theirs.Expiry.Unix()-ours.ExpiresAt > 5 {
			t.Errorf("%s: theirs %+v, ours %+v", method, theirs, ours)
		}
	}
}
