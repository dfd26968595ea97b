package oidc

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestRefresh(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token  string
		status int
		body   string
		err    string
		spent  bool
	}{
		"good":             {"rt", 200, `{"access_token":"a","token_type":"bearer","refresh_token":"r2","expires_in":60}`, "", false},
		"no new one":       {"rt", 200, `{"access_token":"a","token_type":"bearer"}`, "", false},
		"spent":            {"rt", 400, `{"error":"invalid_grant","error_description":"rt was used"}`, "invalid_grant", true},
		"spent, with 200":  {"rt", 200, `{"error":"bad_refresh_token"}`, "bad_refresh_token", true},
		"busy":             {"rt", 503, `{"error":"invalid_grant"}`, "status 503", false},
		"bad client":       {"rt", 401, `{"error":"invalid_client"}`, "invalid_client", false},
		"repeats a secret": {"secretive", 400, `{"error":"secretive"}`, "unrecognised", false},
		"no JSON":          {"rt", 200, `<html>`, "JSON", false},
		"no token":         {"rt", 200, `{"token_type":"bearer"}`, "access_token", false},
		"empty":            {"", 200, "", "empty", false},
		"line break":       {"r\nt", 200, "", "printable", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newProvider(t)
			o.on("/token", reply(c.status, "application/json", c.body))
			client := o.client(t, func(c *Config) { c.TokenParams = map[string]string{"audience": "api"} })
			got, err := client.Refresh(t.Context(), Refresh{RefreshToken: c.token})
			wantError(t, err, c.err)
			if IsInvalidGrant(err) != c.spent || err != nil && strings.Contains(err.Error(), "secretive") {
				t.Errorf("spent %v: %v", IsInvalidGrant(err), err)
			}
			if c.err == "" && got.AccessToken != "a" {
				t.Errorf("%+v", got)
			}
			r := o.request("/token")
			if (c.token == "" || strings.Contains(c.token, "\n")) != (r == nil) {
				t.Fatal("asked or not asked")
			}
			if r == nil {
				return
			}
			want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.token}, "audience": {"api"}}
			id, secret, _ := r.BasicAuth()
			if r.Form.Encode() != want.Encode() || id != testClient || secret == "" {
				t.Errorf("sent %v as %s", r.Form, id)
			}
		})
	}
}

func TestVerifyRefreshed(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	good := o.claims()
	other := maps.Clone(good)
	other["aud"] = "x"
	plain := maps.Clone(good)
	delete(plain, "nonce")
	odd := maps.Clone(good)
	odd["nonce"] = 7
	for name, c := range map[string]struct {
		claims map[string]any
		err    string
	}{"with the nonce of then": {good, ""}, "without": {plain, ""}, "of another client": {other, "aud"}, "nonce of another type": {odd, "wrong type"}} {
		sub, err := o.client(t).VerifyRefreshed(t.Context(), &Tokens{IDToken: o.signer.sign(t, c.claims, nil), AccessToken: "a"})
		wantError(t, err, c.err)
		if err == nil && (sub.ID != "user-1" || sub.Issuer != good["iss"]) {
			t.Errorf("%s: %v", name, sub)
		}
	}
	if raw := o.signer.sign(t, good, nil); UnverifiedSubject(raw).ID != "user-1" || UnverifiedSubject("x") != (Subject{}) || UnverifiedSubject("a.!.c") != (Subject{}) || UnverifiedSubject("") != (Subject{}) {
		t.Error("subject of a stored token")
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		status int
		err    string
	}{
		"basic": {ClientSecretBasic, 200, ""}, "post": {ClientSecretPost, 200, ""}, "none": {AuthNone, 200, ""}, "no content": {ClientSecretPost, 204, ""},
		"refused": {ClientSecretPost, 400, "status 400"}, "down": {ClientSecretPost, 503, "unavailable"}, "redirect": {ClientSecretPost, 302, "redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newProvider(t)
			o.on("/revoke", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://evil.test/")
				w.WriteHeader(c.status)
			})
			client := o.client(t, func(config *Config) { config.AuthMethod, config.RevocationURL = c.method, o.URL+"/revoke" })
			wantError(t, client.Revoke(t.Context(), "tok", "refresh_token", ""), c.err)
			r := o.request("/revoke")
			id, secret, basic := r.BasicAuth()
			wantForm := url.Values{"token": {"tok"}, "token_type_hint": {"refresh_token"}}
			if !basic {
				wantForm.Set("client_id", testClient)
			}
			if c.method == ClientSecretPost {
				wantForm.Set("client_secret", testSecret)
			}
			if basic != (c.method == ClientSecretBasic) || r.Form.Encode() != wantForm.Encode() || basic && (id != testClient || secret != url.QueryEscape(testSecret)) {
				t.Errorf("sent %v, basic %v %s", r.Form, basic, id)
			}
		})
	}
	wantError(t, newProvider(t).client(t).Revoke(t.Context(), "tok", "access_token", ""), "no such endpoint")
}
