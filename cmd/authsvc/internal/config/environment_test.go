package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnreadVariables checks that a misspelt variable, and one that NextAuth.js reads,
// is a warning with the name of the right one, without its value; that any other variable
// of our prefix is a warning too; that variables of other programs are not; and that none
// of them ends a start.
func TestUnreadVariables(t *testing.T) {
	t.Parallel()
	const whole = "url: https://app.example.com\nsecret: " + testSecret + "\ntrusted_proxies: [10.0.0.0/8]\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
	for name, tt := range map[string]struct {
		file, want string // "": there is no warning
	}{
		"AUTHSVC_GITHUB_CLIENT_ID":          {whole, `"AUTHSVC_GITHUB_CLIENT_ID" is not read; did you mean AUTHSVC_GITHUB_ID?`},
		"AUTHSVC_GITHUB_CLIENT_SECRET":      {whole, `"AUTHSVC_GITHUB_CLIENT_SECRET" is not read; did you mean AUTHSVC_GITHUB_SECRET?`},
		"AUTHSVC_GITLAB_CLIENT_SECRET_FILE": {whole, `"AUTHSVC_GITLAB_CLIENT_SECRET_FILE" is not read; did you mean AUTHSVC_GITLAB_SECRET_FILE?`},
		"AUTHSVC_GOGLE_CLIENTID":            {whole, `"AUTHSVC_GOGLE_CLIENTID" is not read; did you mean AUTHSVC_GOOGLE_ID?`},
		"AUTHSVC_SECERT":                    {whole, `"AUTHSVC_SECERT" is not read; did you mean AUTHSVC_SECRET?`},
		"AUTHSVC_DATABASE_URL":              {whole, `"AUTHSVC_DATABASE_URL" is not read; did you mean AUTHSVC_STORAGE_URL?`},
		"AUTHSVC_STORAGE":                   {whole, `"AUTHSVC_STORAGE" is not read; did you mean AUTHSVC_STORAGE_URL?`},
		"AUTHSVC_BASE_URL":                  {whole, `"AUTHSVC_BASE_URL" is not read; did you mean AUTHSVC_URL?`},
		"AUTHSVC_PUBLIC_URL":                {whole, `"AUTHSVC_PUBLIC_URL" is not read; did you mean AUTHSVC_URL?`},
		"AUTHSVC_PORT":                      {whole, `"AUTHSVC_PORT" is not read; did you mean AUTHSVC_LISTEN?`},
		"AUTHSVC_COLOUR":                    {whole, `"AUTHSVC_COLOUR" is not read; it is not the variable of a key or of a provider that is configured`},
		"AUTHSVC_ACME_ISSUER":               {whole, `"AUTHSVC_ACME_ISSUER" is not read; it is not the variable of a key or of a provider that is configured`},
		"AUTHSVC_GITHUB_COLOUR":             {whole, `"AUTHSVC_GITHUB_COLOUR" is not read; it is not the variable of a key or of a provider that is configured`},
		"AUTHSVC_KEYCLOAK_ISSUER":           {whole, `"AUTHSVC_KEYCLOAK_ISSUER" is not read, because there is no provider keycloak; set AUTHSVC_KEYCLOAK_ID, or add the provider to the file`},
		"AUTHSVC_STEAM_NAME":                {whole, `"AUTHSVC_STEAM_NAME" is not read, because there is no provider steam; set AUTHSVC_STEAM_API_KEY, or add the provider to the file`},
		"AUTHSVC_FOO_ISSUER":                {"providers: [{id: [foo]}]", ""}, // a mistake leaves open which provider this is
		"AUTHSVC_DB_URL":                    {"providers: [{id: [foo]}]", `"AUTHSVC_DB_URL" is not read; did you mean AUTHSVC_STORAGE_URL?`},
		"AUTHSVC_INTERNAL_URL":              {whole, ""},
		"AUTHSVC_PROXY_KEY":                 {whole, ""},
		"AUTHSVC_TEST_POSTGRES_URL":         {whole, ""},
		"AUTHSVC_E2E":                       {whole, ""},
		"AUTHSVC_VERIFY":                    {whole, ""},
		"AUTHSVC_VERIFY_REPORT":             {whole, ""},
		"AUTHSVC_VERIFYING":                 {whole, `"AUTHSVC_VERIFYING" is not read; it is not the variable of a key or of a provider that is configured`},
		"AUTHSVC_SERVICE_HOST":              {whole, ""}, // by Kubernetes, for a service authsvc
		"AUTHSVC_SERVICE_PORT_HTTP":         {whole, ""},
		"AUTHSVC_PORT_3000_TCP_ADDR":        {whole, ""},
		"AUTHSVC_REDIS_SERVICE_PORT":        {whole, ""}, // for a service authsvc-redis
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
	for name, tt := range map[string]struct {
		old, new string // in the file
		env      map[string]string
	}{
		"used in the file": {"https://app.example.com", "${NEXTAUTH_URL}", map[string]string{"NEXTAUTH_URL": "https://app.example.com"}},
		"used as an id":    {"client_id: a", `client_id: "${AUTH_GITHUB_ID}"`, map[string]string{"AUTH_GITHUB_ID": "a"}},
		"of our prefix":    {"client_id: a", `client_id: "${AUTHSVC_DATABASE_URL}"`, map[string]string{"AUTHSVC_DATABASE_URL": "a"}},
		"replaced":         {"client_id: a", `client_id: "${AUTHSVC_DATABASE_URL}"`, map[string]string{"AUTHSVC_DATABASE_URL": "a", "AUTHSVC_GITHUB_ID": "b"}},
		"of Kubernetes":    {"", "", map[string]string{"AUTHSVC_PORT": "tcp://10.0.0.1:3000", "AUTHSVC_REDIS_PORT": "tcp://10.0.0.2:6379"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Load(Input{Path: writeFile(t, strings.Replace(whole, tt.old, tt.new, 1)), Env: tt.env})
			if err != nil || len(s.Warnings) > 0 {
				t.Errorf("%v %v", s, err)
			}
		})
	}
}
