package config

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc"
)

// TestBuiltIn: providers of the table from the environment alone, by alias, and from
// the file. The constructor interprets an option; an option is not a field of the same
// name. The fields in the file override the result.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		want authsvc.OAuth // ID, Name, Issuer, Scope and Client are compared
	}{
		"environment": {
			env:  map[string]string{"AUTHSVC_ASGARDEO_ID": "a", "AUTHSVC_ASGARDEO_SECRET": "b", "AUTHSVC_ASGARDEO_ISSUER": "https://api.asgardeo.io/t/acme/"},
			want: authsvc.OAuth{ID: "asgardeo", Name: "Asgardeo", Issuer: "https://api.asgardeo.io/t/acme/oauth2/token"},
		},
		"alias in the environment": {
			env:  map[string]string{"AUTHSVC_SLACK_OIDC_ID": "a", "AUTHSVC_SLACK_OIDC_SECRET": "b"},
			want: authsvc.OAuth{ID: "slack_oidc", Name: "Slack", Issuer: "https://slack.com"},
		},
		"any OpenID Connect in the environment": {
			env:  map[string]string{"AUTHSVC_OIDC_ID": "a", "AUTHSVC_OIDC_SECRET": "b", "AUTHSVC_OIDC_ISSUER": "https://id.example"},
			want: authsvc.OAuth{ID: "oidc", Issuer: "https://id.example"},
		},
		"file and variable": {
			file: "providers: [{id: work, type: auth0, name: Work, client_id: x, client_secret: b, scope: openid, issuer: https://file.example}]\n",
			env:  map[string]string{"AUTHSVC_WORK_ID": "a", "AUTHSVC_WORK_ISSUER": "https://env.example"},
			want: authsvc.OAuth{ID: "work", Name: "Work", Issuer: "https://env.example/", Scope: "openid"},
		},
		"client id makes the issuer": {
			file: "providers: [{id: descope, client_id: a, client_secret: b}]\n",
			want: authsvc.OAuth{ID: "descope", Name: "Descope", Issuer: "https://api.descope.com/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Load(Input{Path: writeFile(t, "url: https://a.example\n"+c.file), Env: c.env})
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Engine.Providers) != 1 {
				t.Fatalf("%d providers", len(s.Engine.Providers))
			}
			o := s.Engine.Providers[0].(*authsvc.OAuth)
			got := []any{o.ID, o.Name, o.Issuer, o.Scope, o.Client}
			want := []any{c.want.ID, c.want.Name, c.want.Issuer, c.want.Scope, authsvc.Client{ID: "a", Secret: "b"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("provider (-want +got):\n%s", diff)
			}
		})
	}
}

// ignoreFunctions omits the functions of a provider, which cannot be compared.
var ignoreFunctions = cmp.FilterPath(func(p cmp.Path) bool {
	name := p.Last().String()
	return name == ".MapProfile" || name == ".UserInfo"
}, cmp.Ignore())

// TestFullProviders: every value of providers is loaded.
func TestFullProviders(t *testing.T) {
	t.Parallel()
	s := loadFull(t)
	c := s.Engine
	acme := c.Providers[1].(*authsvc.OAuth)
	wantAcme := &authsvc.OAuth{ID: "acme", Name: "Acme", OpenID: true, Issuer: "https://id.acme.example",
		Client: authsvc.Client{ID: "ac", Secret: "ac-secret"}, Scope: "openid profile email", NoPKCE: true, NoAuthTime: true, Checks: []string{"pkce", "state", "nonce"},
		AuthorizationParams: map[string]string{"audience": "api"}, AuthMethod: "client_secret_post", ResponseMode: "form_post", DeniedErrors: []string{"cancelled"},
		Endpoints: authsvc.Endpoints{
			Discovery:  "https://meta.acme.example/openid",
			Revocation: "https://id.acme.example/revoke",
			EndSession: "https://id.acme.example/logout",
		}, Tenants: []string{"one", "two"}, Hosts: []string{"api.acme.example", "*.users.acme.example"},
		AuthorizationFragment: "start",
		TokenParams:           map[string]string{"audience": "api"}, ClientIDParam: "app_id", UserInfo: authsvc.UserInfo{
			Method:    "POST",
			Body:      "{}",
			Auth:      "header:X-Token OAuth",
			Headers:   map[string]string{"X-Client": "{client_id}"},
			AddClaims: true,
		},
		VerifiedText: true,
		SigningAlgs:  []string{"ES256"}, Headers: map[string]string{"X-Version": "1"},
		Fields:     authsvc.Fields{ID: "sub", Name: "name", Email: "email", EmailVerified: "email_verified", Image: "picture"},
		TrustEmail: true, LinkVerifiedEmail: true, InitiateLogin: true, LogoutAtProvider: true, Style: authsvc.Style{Background: "#112233", Text: "#ffffff"}}
	if diff := cmp.Diff(wantAcme, acme, ignoreFunctions); diff != "" {
		t.Errorf("acme (-want +got):\n%s", diff)
	}
	plain := c.Providers[2].(*authsvc.OAuth)
	if got := []string{plain.Client.PrivateKey, plain.Client.KeyID, plain.AssertionAudience, string(plain.AuthMethod)}; !slices.Equal(got, []string{"pl-secret", "k1", "https://p.example", "private_key_jwt"}) {
		t.Errorf("key, its id, audience and method are %q", got)
	}
	wantOld := &authsvc.OAuth1{ID: "old", Name: "Old", Client: authsvc.Client{ID: "ol", Secret: "ol-secret"},
		RequestTokenURL: "https://o.example/r", AuthorizationURL: "https://o.example/a", AccessTokenURL: "https://o.example/t",
		UserInfoURL: "https://o.example/u", Hosts: []string{"api.o.example"}, Headers: map[string]string{"X-Version": "1"},
		Fields: authsvc.Fields{ID: "token.user_id"}, TrustEmail: true}
	if diff := cmp.Diff(wantOld, c.Providers[4].(*authsvc.OAuth1), ignoreFunctions); diff != "" {
		t.Errorf("old (-want +got):\n%s", diff)
	}
	if len(s.Mail) != 1 || s.Mail[0].HELO != "app.example.com" || s.Mail[0].Provider.MaxAge != 10*time.Minute || s.Mail[0].Key != "providers[3]" {
		t.Errorf("mail is not as written")
	}
}

// TestBuiltInOverrides: a built-in provider under another ID, with another host. Its
// functions use the overridden values.
func TestBuiltInOverrides(t *testing.T) {
	t.Parallel()
	s, err := Load(Input{Path: writeFile(t, "providers: [{id: work, type: github, client_id: a, client_secret: b, userinfo_url: https://ghe.example/api/v3/user}]")})
	if err != nil {
		t.Fatal(err)
	}
	o := s.Engine.Providers[0].(*authsvc.OAuth)
	if o.ID != "work" || o.Name != "GitHub" || o.Endpoints.Token != "https://github.com/login/oauth/access_token" {
		t.Errorf("got id %q, name %q, token url %q", o.ID, o.Name, o.Endpoints.Token)
	}
	if o.Endpoints.UserInfo != "https://ghe.example/api/v3/user" {
		t.Errorf("profile is asked at %s", o.Endpoints.UserInfo)
	}
}

// TestSteam: a provider without a client, enabled only by the variable of its option.
func TestSteam(t *testing.T) {
	t.Parallel()
	s, err := Load(Input{Path: writeFile(t, "url: https://app.example\nproviders: [{id: work, type: twitter-legacy, client_id: a, client_secret: b}]\n"),
		Env: map[string]string{"AUTHSVC_STEAM_API_KEY": "key", "AUTHSVC_WORK_NAME": "Work"}})
	if err != nil {
		t.Fatal(err)
	}
	work := s.Engine.Providers[0].(*authsvc.OAuth1)
	if work.ID != "work" || work.Name != "Work" || work.Client.Secret != "b" {
		t.Errorf("id %q, name %q", work.ID, work.Name)
	}
	if o, ok := s.Engine.Providers[1].(*authsvc.OpenID2); !ok || o.ID != "steam" {
		t.Errorf("%T", s.Engine.Providers[1])
	}
}
