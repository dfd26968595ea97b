package config

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/engine"
	"authsvc/internal/protocol/oidc"
	"authsvc/provider"
)

// TestPrivateKey: a key in the file, in a variable, and in a file that a variable
// names. Mistakes have the place of the key and do not show it.
func TestPrivateKey(t *testing.T) {
	t.Parallel()
	apple, _ := provider.Lookup("apple")
	text := apple.Options[2].Example
	line := strings.ReplaceAll(text, "\n", `\n`)
	keyFile := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(keyFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const head = "url: https://a.example\nsecret: " + testSecret + "\nsession: {strategy: jwt}\nproviders:\n"
	const oidcEntry = head + "  - {id: acme, type: oidc, issuer: https://id.example, client_id: a"
	const keyed = oidcEntry + ", auth_method: private_key_jwt"
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		want []string // prefixes of the mistakes; empty: it starts
	}{
		"in the file":       {file: head + "  - id: acme\n    type: oidc\n    issuer: https://id.example\n    client_id: a\n    auth_method: private_key_jwt\n    private_key: |\n      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"},
		"in a variable":     {file: keyed + "}\n", env: map[string]string{"AUTHSVC_ACME_PRIVATE_KEY": text}},
		"in one line":       {file: keyed + ", key_id: k}\n", env: map[string]string{"AUTHSVC_ACME_PRIVATE_KEY": line}},
		"in a file":         {file: keyed + "}\n", env: map[string]string{"AUTHSVC_ACME_PRIVATE_KEY_FILE": keyFile}},
		"built in":          {file: head + "  - {id: okta, issuer: https://acme.okta.com, client_id: a}\n", env: map[string]string{"AUTHSVC_OKTA_PRIVATE_KEY_FILE": keyFile, "AUTHSVC_OKTA_KEY_ID": "k", "AUTHSVC_OKTA_AUTH_METHOD": "private_key_jwt"}},
		"audience":          {file: head + "  - {id: x, type: oauth2, authorization_url: https://x.example/a, token_url: https://x.example/t, userinfo_url: https://x.example/u, client_id: a, auth_method: private_key_jwt, assertion_audience: https://x.example, profile: {id: id}}\n", env: map[string]string{"AUTHSVC_X_PRIVATE_KEY": text}},
		"without audience":  {file: head + "  - {id: x, type: oauth2, authorization_url: https://x.example/a, token_url: https://x.example/t, userinfo_url: https://x.example/u, client_id: a, auth_method: private_key_jwt, profile: {id: id}}\n", env: map[string]string{"AUTHSVC_X_PRIVATE_KEY": text}, want: []string{"F:5: providers[0].assertion_audience is missing"}},
		"without key":       {file: keyed + "}\n", want: []string{"F:5: providers[0].private_key is missing; give the key"}},
		"no key":            {file: keyed + ", private_key: hunter2}\n", want: []string{"F:5: providers[0].private_key is neither PEM text nor a JWK; give the whole file"}},
		"public key":        {file: keyed + "}\n", env: map[string]string{"AUTHSVC_ACME_PRIVATE_KEY": `{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}`}, want: []string{"AUTHSVC_ACME_PRIVATE_KEY: providers[0].private_key is a public key; give the private key"}},
		"no method":         {file: oidcEntry + ", client_secret: b, private_key: \"" + line + "\"}\n", want: []string{"F:5: providers[0].private_key is given, but auth_method is not private_key_jwt; set auth_method"}},
		"secret as well":    {file: keyed + ", client_secret: b, private_key: \"" + line + "\"}\n", want: []string{"F:5: providers[0].client_secret is given, but auth_method private_key_jwt uses none"}},
		"secret only":       {file: oidcEntry + ", client_secret: b}\n"},
		"apple as ever":     {file: head + "  - {id: apple, client_id: a, team_id: T, key_id: K, private_key: \"" + line + "\"}\n"},
		"apple, the method": {file: head + "  - {id: apple, client_id: a, team_id: T, key_id: K, auth_method: private_key_jwt, private_key: \"" + line + "\"}\n", want: []string{"F:5: providers[0].auth_method is private_key_jwt, but this provider"}},
		"OAuth 1.0a":        {file: head + "  - {id: old, type: oauth1, client_id: a, client_secret: b, private_key: c, request_token_url: https://old.example/r, authorization_url: https://old.example/a, access_token_url: https://old.example/t, userinfo_url: https://old.example/u}\n", want: []string{"F:5: providers[0].private_key is an option that oauth1 does not take"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := startMistakes(t, c.file, c.env)
			if len(got) != len(c.want) {
				t.Fatalf("got %q", got)
			}
			for i, w := range c.want {
				if !strings.HasPrefix(got[i], w) || strings.Contains(got[i], "MIGHAgEA") || strings.Contains(got[i], "hunter2") {
					t.Errorf("got %q, want %q", got[i], w)
				}
			}
		})
	}
}

// startMistakes loads a file, starts the engine with it, and returns the mistakes. F
// stands for the file.
func startMistakes(t *testing.T, text string, env map[string]string) []string {
	t.Helper()
	file := writeFile(t, text)
	s, err := Load(Input{Path: file, Env: env})
	if err == nil {
		var service *engine.Service
		s.Engine.Logger = slog.New(slog.DiscardHandler) // otherwise the log of many starts hides a failure
		if service, err = engine.New(s.Engine); err == nil {
			service.Close(t.Context())
			return nil
		}
		err = s.Explain(err)
	}
	return strings.Split(strings.ReplaceAll(err.Error(), file, "F"), "\n")
}

// TestKeyCommands runs the commands of docs/configuration.md that make a key.
func TestKeyCommands(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"openssl", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	page, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```sh\nopenssl genpkey")
	commands, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the page has no such commands")
	}
	dir := t.TempDir()
	sh := exec.CommandContext(t.Context(), "sh", "-eu", "-c", "openssl genpkey"+commands)
	sh.Dir = dir
	printed, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "client-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oidc.ParseClientKey(string(key), "2026-1"); err != nil {
		t.Error(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(printed, &set); err != nil || len(set.Keys) != 1 || !set.Keys[0].IsPublic() || set.Keys[0].KeyID != "2026-1" {
		t.Fatalf("%v: %s", err, printed)
	}
	public, err := exec.CommandContext(t.Context(), "openssl", "pkey", "-in", filepath.Join(dir, "client-key.pem"), "-pubout").Output()
	if err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(filepath.Join(dir, "client-key.pub")); err != nil || string(written) != string(public) {
		t.Errorf("client-key.pub: %v", err)
	}
	mustBePublicHalf(t, set.Keys[0], key)
}

// mustBePublicHalf checks that a JWK is the public half of a PEM key.
func mustBePublicHalf(t *testing.T, public jose.JSONWebKey, text []byte) {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !key.(*ecdsa.PrivateKey).PublicKey.Equal(public.Key) {
		t.Error("the JWK is of another key")
	}
}
