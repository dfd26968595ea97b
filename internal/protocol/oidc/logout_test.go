package oidc

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

func TestLogout(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	client := o.client(t, func(c *Config) { c.EndSessionURL = o.URL + "/end?tenant=a" })
	plain := o.signer.sign(t, map[string]any{"iss": o.URL, "sub": "user-1"}, nil)
	long := o.signer.sign(t, map[string]any{"sub": "user-1", "nonce": strings.Repeat("n", maxLogoutURL)}, nil)
	for name, c := range map[string]struct {
		token      string
		hint, post bool
	}{
		"none":           {"", false, false},
		"not personal":   {plain, true, false},
		"personal":       {o.signer.sign(t, map[string]any{"sub": "user-1", "name": "Ada"}, nil), true, true},
		"long":           {long, true, true},
		"longer than is": {strings.Repeat("x", maxIDToken+1), false, false},
	} {
		back := LogoutRequest{IDToken: c.token, RedirectURI: "https://app.test/back?x=1&y", State: "s t"}
		got, err := client.Logout(t.Context(), back)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(got.URL)
		if err != nil {
			t.Fatal(err)
		}
		want := url.Values{"client_id": {testClient}, "post_logout_redirect_uri": {back.RedirectURI}, "state": {"s t"}}
		if c.hint {
			want.Set("id_token_hint", c.token)
		}
		sent, tenant := got.Fields, u.Query().Get("tenant")
		if !c.post {
			sent = u.Query()
			sent.Del("tenant")
		}
		if post := got.Fields != nil; post != c.post || sent.Encode() != want.Encode() || u.Path != "/end" || tenant != "a" || post && len(u.Query()) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	_, err := o.client(t).Logout(t.Context(), LogoutRequest{})
	wantError(t, err, "no such endpoint")
}

func TestPersonal(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	protocol := func() map[string]any {
		return map[string]any{"iss": o.URL, "sub": "user-1", "aud": []string{testClient}, "azp": testClient, "exp": 1, "iat": 1, "nbf": 1, "jti": "j", "auth_time": 1,
			"nonce": "n", "acr": "1", "amr": []string{"pwd"}, "at_hash": "a", "c_hash": "c", "s_hash": "s", "sid": "s", "typ": "ID", "ver": "2.0"}
	}
	if personal(o.signer.sign(t, protocol(), nil)) {
		t.Error("the claims of the protocol are personal")
	}
	for _, name := range []string{"name", "email", "email_verified", "preferred_username", "picture", "address", "phone_number", "groups", "upn", "https://app.test/role", "Sub", ""} {
		claims := protocol()
		claims[name] = "x"
		if !personal(o.signer.sign(t, claims, nil)) {
			t.Errorf("%q is not personal", name)
		}
	}
	for name, sub := range map[string]any{"an address": "ada@example.com", "missing": nil, "a number": 7} {
		claims := protocol()
		if claims["sub"] = sub; sub == nil {
			delete(claims, "sub")
		}
		if !personal(o.signer.sign(t, claims, nil)) {
			t.Errorf("a sub that is %s is not personal", name)
		}
	}
	for _, raw := range []string{"x", "a.b.c", "a.!.c", "a..c", "a.e30.c.d.e", "a." + base64.RawURLEncoding.EncodeToString([]byte(`[]`)) + ".c"} {
		if !personal(raw) {
			t.Errorf("%q is not personal", raw)
		}
	}
}
