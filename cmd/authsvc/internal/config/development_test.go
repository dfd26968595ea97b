package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGaps: with Development, each part that needs a value of the deployment is left out
// and named. A part that has its values stays.
func TestGaps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		yaml string
		env  map[string]string
		want []Gap
	}{
		"nothing":                {"url: http://localhost:3000", nil, nil},
		"a variable":             {"secret: ${S}", nil, []Gap{{"secret", "", "secret is S, which is not set"}}},
		"a variable that is set": {"secret: ${S}", map[string]string{"S": "x"}, nil},
		"an empty variable":      {"secret: ${S}", map[string]string{"S": ""}, []Gap{{"secret", "", "secret is S, which is not set"}}},
		"the key's variable":     {"secret: ${S}", map[string]string{"AUTHSVC_SECRET": "x", "S": "y"}, nil},
		"one of a list":          {"secret: [\"${S}\", \"${T}\"]", map[string]string{"S": "x"}, []Gap{{"secret", "", "secret is T, which is not set"}}},
		"two characters":         {"secret: \"$${S}\"", nil, nil},
		"below":                  {"storage: {url: \"postgres://u:${P}@db/app\", migrate: false}", nil, []Gap{{"storage.url", "", "storage.url is P, which is not set"}}},
		"placeholders":           {"providers: [{id: github, client_id: …, client_secret: ...}]", nil, []Gap{{"providers[0]", "github", "client_id is a placeholder"}}},
		"no client":              {"providers: [{id: github}]", nil, []Gap{{"providers[0]", "github", "client_id is missing"}}},
		"a client in variables":  {"providers: [{id: github}]", map[string]string{"AUTHSVC_GITHUB_ID": "a", "AUTHSVC_GITHUB_SECRET": "b"}, nil},
		"half of it":             {"providers: [{id: github}]", map[string]string{"AUTHSVC_GITHUB_ID": "a"}, []Gap{{"providers[0]", "github", "client_secret is missing"}}},
		"a client":               {"providers: [{id: github, client_id: a, client_secret: b}]", nil, nil},
		"a public client":        {"providers: [{id: acme, type: oidc, issuer: https://id.example, client_id: a, auth_method: none}]", nil, nil},
		"a private key":          {"providers: [{id: acme, type: oidc, issuer: https://id.example, client_id: a, private_key: \"${K}\"}]", nil, []Gap{{"providers[0]", "acme", "private_key is K, which is not set"}}},
		"an option":              {"providers: [{id: auth0, client_id: a, client_secret: b}]", nil, []Gap{{"providers[0]", "auth0", "issuer is missing"}}},
		"no client at all":       {"providers: [{id: steam}]", nil, []Gap{{"providers[0]", "steam", "api_key is missing"}}},
		"mail":                   {"providers: [{id: email, type: email, server: \"${SMTP}\", from: a@example.com}]", nil, nil},
		"credentials":            {"providers: [{id: staff, type: credentials, fields: [{name: a}], hook: {url: \"${U}\", secret: \"${S}\"}}]", nil, []Gap{{"providers[0]", "staff", "hook is U, which is not set"}}},
		"a hook":                 {"hooks: [{on: claims, url: http://localhost/, secret: \"${S}\"}]", nil, []Gap{{"hooks[0]", "", "it needs S, which is not set"}}},
		"a hook elsewhere":       {"hooks: [{on: claims, url: \"${U}\", secret: x}]", map[string]string{"U": "https://app.example.com/"}, []Gap{{"hooks[0]", "", "its url is not on this machine"}}},
		"a hook here":            {"hooks: [{on: claims, url: \"${U}\", secret: x}]", map[string]string{"U": "http://localhost:8080/"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := compile(Input{Env: test.env, Development: true}, "authsvc.yaml", []byte(test.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, s.Gaps); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if s, err := compile(Input{}, "authsvc.yaml", []byte("secret: ${S}")); err == nil || s.Gaps != nil {
		t.Errorf("without Development: %v %v", err, s.Gaps)
	}
}
