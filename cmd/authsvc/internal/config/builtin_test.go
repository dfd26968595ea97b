package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
)

// TestBuiltIn: providers of the table by the environment alone, by alias and
// by file; an option is what the constructor makes of it, not a field of the
// same name, and the file's fields are written over the result.
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
			s, err := Load(Input{Path: write(t, "url: https://a.example\n"+c.file), Env: c.env})
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
