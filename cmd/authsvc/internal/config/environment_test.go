package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnreadVariables checks that a misspelt variable, and one that NextAuth.js reads,
// is a warning with the name of the right one, without its value; that variables of
// other programs are not; and that none of them ends a start.
func TestUnreadVariables(t *testing.T) {
	t.Parallel()
	const whole = "url: https://app.example.com\nsecret: " + testSecret + "\ntrusted_proxies: [10.0.0.0/8]\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
	for name, tt := range map[string]struct {
		file, want string // the warning begins with want; "": there is none
	}{
		"AUTHSVC_GITHUB_CLIENT_ID":          {whole, `"AUTHSVC_GITHUB_CLIENT_ID" is not read; did you mean AUTHSVC_GITHUB_ID?`},
		"AUTHSVC_GITHUB_CLIENT_SECRET":      {whole, `"AUTHSVC_GITHUB_CLIENT_SECRET" is not read; did you mean AUTHSVC_GITHUB_SECRET?`},
		"AUTHSVC_GITLAB_CLIENT_SECRET_FILE": {whole, `"AUTHSVC_GITLAB_CLIENT_SECRET_FILE" is not read; did you mean AUTHSVC_GITLAB_SECRET_FILE?`},
		"AUTHSVC_GOGLE_CLIENTID":            {whole, `"AUTHSVC_GOGLE_CLIENTID" is not read; did you mean AUTHSVC_GOOGLE_ID?`},
		"AUTHSVC_SECERT":                    {whole, `"AUTHSVC_SECERT" is not read; did you mean AUTHSVC_SECRET?`},
		"AUTHSVC_PORT":                      {whole, ""},
		"NEXTAUTH_URL":                      {"secret: x", `"NEXTAUTH_URL" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_URL, or url in the file`},
		"AUTH_URL":                          {"secret: x", `"AUTH_URL" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_URL, or url in the file`},
		"NEXTAUTH_SECRET":                   {"url: https://app.example.com", `"NEXTAUTH_SECRET" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_SECRET, or secret in the file`},
		"AUTH_SECRET":                       {"url: https://app.example.com", `"AUTH_SECRET" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_SECRET, or secret in the file`},
		"AUTH_TRUST_HOST":                   {"secret: x", `"AUTH_TRUST_HOST" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_TRUSTED_PROXIES, or trusted_proxies in the file`},
		"NEXTAUTH_URL_INTERNAL":             {whole, `"NEXTAUTH_URL_INTERNAL" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_INTERNAL_HOSTS, or internal_hosts in the file`},
		"AUTH_DEBUG":                        {whole, `"AUTH_DEBUG" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_LOG_LEVEL, or log.level in the file`},
		"AUTH_GITLAB_ID":                    {whole, `"AUTH_GITLAB_ID" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_GITLAB_ID`},
		"AUTH_MICROSOFT_ENTRA_ID_SECRET":    {whole, `"AUTH_MICROSOFT_ENTRA_ID_SECRET" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_MICROSOFT_ENTRA_ID_SECRET`},
		"AUTH_KEYCLOAK_ISSUER":              {whole, `"AUTH_KEYCLOAK_ISSUER" is a variable of NextAuth.js, which authsvc does not read; set AUTHSVC_KEYCLOAK_ISSUER`},
		"AUTH_GITHUB_ID":                    {whole, ""}, // GitHub is configured
		"AUTH_MODE":                         {whole, ""},
		"AUTH_TOKEN_ID":                     {whole, ""},
		"AUTH_REALM_SECRET":                 {whole, ""},
		"AUTH_":                             {whole, ""},
		"NEXTAUTH_COLOUR":                   {whole, ""},
		"XAUTH_SECRET":                      {whole, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "authsvc.yaml")
			if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			const value = "a value that nothing prints"
			s, err := Load(Input{Path: path, Env: map[string]string{name: value}})
			if tt.file == whole && err != nil {
				t.Errorf("the start ends: %v", err)
			}
			if s == nil {
				t.Fatal(err)
			}
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if got := s.Warnings; strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("warnings %q, want %q", got, want)
			}
			if s, err = Load(Input{Path: path, Env: map[string]string{name: ""}}); s == nil || len(s.Warnings) > 0 {
				t.Errorf("an empty variable counts as set: %v, %v", s.Warnings, err)
			}
		})
	}
	t.Run("used in the file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "authsvc.yaml")
		file := strings.NewReplacer("https://app.example.com", "${NEXTAUTH_URL}", "client_id: a", `client_id: "${AUTH_GITHUB_ID}"`).Replace(whole)
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(Input{Path: path, Env: map[string]string{"NEXTAUTH_URL": "https://app.example.com", "AUTH_GITHUB_ID": "a"}})
		if err != nil || len(s.Warnings) > 0 {
			t.Errorf("%v %v", s, err)
		}
	})
}
