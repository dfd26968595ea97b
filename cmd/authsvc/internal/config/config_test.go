package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"authsvc"
)

const testSecret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"

// writeFile writes a configuration into a new directory.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "authsvc.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// loadFull loads the file that has every key.
func loadFull(t *testing.T) *Settings {
	t.Helper()
	s, err := Load(Input{Path: "testdata/full.yaml", Env: map[string]string{"AUTHSVC_TEST_SECRET": testSecret}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFull: every value is loaded, except the values of providers.
func TestFull(t *testing.T) {
	t.Parallel()
	s := loadFull(t)
	c := s.Engine
	got := map[string]any{
		"secrets":     c.Secrets,
		"proxies":     c.TrustedProxies,
		"proxy keys":  c.ProxyKeys,
		"forwarded":   c.ForwardedHost,
		"session":     c.Session,
		"stale":       c.StaleRevocations,
		"tokens":      c.ProviderTokens,
		"storage":     s.Storage,
		"cookies":     c.Cookies,
		"limits":      c.RateLimit,
		"account":     c.Account,
		"notices":     c.Notices,
		"theme":       c.Theme,
		"pages":       c.Pages,
		"log":         s.Log,
		"admin":       s.Admin,
		"stop":        s.StopDelay,
		"networks":    c.Outbound.AllowNetworks,
		"proxy":       append([]string{c.Outbound.Proxy}, c.Outbound.NoProxy...),
		"audit":       c.Audit,
		"internal":    c.InternalHosts,
		"mail":        s.MailTemplates,
		"gate":        c.Gate,
		"jwts":        c.Tokens,
		"personal":    c.PersonalTokens,
		"allow":       c.SignIn.Allow,
		"sign-up":     c.SignUp,
		"rules":       []string{s.Rules.SignIn.Text, s.Rules.Claims.Text, s.Rules.Redirect.Text, s.Rules.When[0].Key + " " + s.Rules.When[0].Text, s.Rules.When[1].Key + " " + s.Rules.When[1].Text},
		"hooks":       s.Hooks,
		"credentials": s.Credentials,
	}
	never := func(context.Context, authsvc.AccessRequest) (bool, error) { return false, nil }
	want := map[string]any{
		"mail": "/etc/authsvc/mail", "internal": []string{"auth.internal:3000"},
		"allow": []authsvc.Condition{
			{Domains: []string{"example.com", ".example.org"}, Providers: []string{"acme", "email"}, Groups: []string{"staff"}, Claims: map[string][]string{"department": {"ops", "sre"}}, Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
			{Emails: []string{"ada@partner.example"}, Users: []string{"1"}},
		},
		"sign-up":    authsvc.SignUpRules{Policy: "open", Domains: []string{"example.com", ".example.org"}},
		"secrets":    []string{testSecret, "an-older-secret-5xT0pQ2rWm8yKfJd1LzNcB7"},
		"proxy keys": []string{"a-front-ends-key-w8Qm2ZrT6yLcXb4nHs0", "its-older-key-Jd1LzNcB7vRk5GpWt3Fx9Ea"}, "forwarded": true,
		"proxies": []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")},
		"session": authsvc.SessionOptions{Strategy: "database", MaxAge: 720 * time.Hour, UpdateAge: -1, AbsoluteMaxAge: 2160 * time.Hour,
			Claims: map[string]string{"groups": "groups", "department": "org.dept", "custom:plan": "plan"},
			Expose: map[string]string{"user_id": "id", "verified": "email_verified", "groups": "claims.groups", "role": "User.role"}},
		"stale": authsvc.StaleRevocations("accept"), "tokens": authsvc.ProviderTokens("drop"),
		"storage": Storage{URL: "sqlite:authsvc.db", Sessions: "redis://127.0.0.1:6379/1", Prefix: "acme", Naming: Naming{Preset: "snake", Tables: map[string]string{"User": "people"},
			Columns: map[string]string{"User.image": "avatar"}, UserColumns: []string{"role", "team_id"}}},
		"cookies": authsvc.CookieOptions{Domain: "example.com", Prefix: "shop", Session: "__Secure-s", CSRF: "__Host-c", CallbackURL: "__Secure-b"},
		"limits": authsvc.RateLimit{SignIn: authsvc.Rate{N: 30, Per: time.Minute}, EmailPerAddress: authsvc.Rate{N: 5, Per: time.Hour},
			EmailTotal: authsvc.Rate{N: 1000, Per: time.Hour}, CredentialsPerAccount: authsvc.Rate{N: 10, Per: time.Second},
			Token: authsvc.Rate{N: 10, Per: time.Minute}, NoticesPerUser: authsvc.Rate{N: 10, Per: 24 * time.Hour}, PersonalToken: authsvc.Rate{N: 15, Per: time.Minute}},
		"account":  authsvc.AccountOptions{Disabled: true, Fresh: 5 * time.Minute, Delete: true, DeleteGrace: -1, ChangeEmail: new(false)},
		"notices":  authsvc.NoticeOptions{Disabled: true, IgnoreNewBrowsers: true},
		"personal": authsvc.PersonalTokenOptions{Enabled: true, MaxAge: 720 * time.Hour},
		"jwts": authsvc.TokenOptions{Rotate: 720 * time.Hour, Audiences: []authsvc.Audience{{ID: "https://api.example.com", Alg: "EdDSA", Typ: "at+jwt",
			TTL: 10 * time.Minute, Claims: []string{"name", "email", "picture"}}, {ID: "reports", When: never, Allow: []authsvc.Condition{
			{Emails: []string{"ada@partner.example"}, Domains: []string{"example.com"}, Users: []string{"1"}, Providers: []string{"acme"}, Groups: []string{"ops"}, Claims: map[string][]string{"department": {"ops"}}, Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}}}},
		"rules": []string{"user.email_verified", `{"tier": "basic"}`, `to.host == "www.example.org"`, `tokens.audiences[1].when now - session.auth_time < duration("1h")`, `gate.hosts[0].rules[3].allow[2].when request.method == "GET"`},
		"hooks": []Hook{{On: "sign_in", URL: "https://app.example.com/hooks", Secrets: []string{"whsec_aG9vay1zZWNyZXQtaG9vay1zZWNyZXQtMQ==", "whsec_aG9vay1zZWNyZXQtaG9vay1zZWNyZXQtMg=="}, Timeout: 3 * time.Second}},
		"credentials": []Credentials{{Key: "providers[5]", Hook: Hook{URL: "https://app.example.com/members", Secrets: []string{"whsec_bWVtYmVycy1zZWNyZXQtbWVtYmVycy1zZWNyZXQ="}, Timeout: time.Second},
			Provider: &authsvc.Credentials{ID: "members", Name: "Members", ForgotURL: "/forgot", Fields: []authsvc.Field{
				{Name: "member", Label: "Number", Type: "number", Placeholder: "4711", Autocomplete: "username"}, {Name: "pin", Label: "PIN", Type: "password"}}}}},
		"gate": authsvc.Gate{Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Headers: authsvc.GateHeaders{UserID: []string{"Remote-User"}, Email: []string{"X-Auth-Email", "Remote-Email"}, Name: []string{}, Groups: []string{"X-Auth-Groups"}, Assertion: []string{"X-Auth-Assertion"}},
			Recheck: time.Minute, UpstreamTimeout: 30 * time.Second, Hosts: []authsvc.GateHost{{Origin: "https://*.apps.example.com", Upstream: "unix:/run/app.sock",
				Default: authsvc.Allow{Anyone: true}, WebSocketOrigins: []string{"https://www.example.com"}, PassHeaders: []string{"X_Api_Key"}, Upgrades: []string{"custom/1"}, Rules: []authsvc.GateRule{
					{Match: "/closed/", Allow: authsvc.Allow{Nobody: true}}, {Match: "/in/"},
					{Match: "GET /admin/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Emails: []string{"ada@partner.example"}, Domains: []string{"example.com"}, Users: []string{"1"}, Providers: []string{"acme"},
						Groups: []string{"ops"}, Claims: map[string][]string{"department": {"ops"}}, Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, MaxAge: time.Hour}}}},
					{Match: "/api/{name}", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Groups: []string{"ops"}}, {MaxAge: 5 * time.Minute}, {Users: []string{"1"}, Tokens: true, When: never}}}}}},
				{Origin: "https://app.example.com", Default: authsvc.Allow{AnyOf: []authsvc.Condition{{Groups: []string{"ops"}}}}}}},
		"theme": authsvc.Theme{ColorScheme: "dark", BrandColor: "#004080", ButtonText: "#ffffff",
			Logo: "https://app.example.com/logo.svg", SiteName: "Acme"},
		"pages":    authsvc.Pages{SignIn: "/in", SignOut: "/out", Error: "/error", VerifyRequest: "/sent", NewUser: "/welcome", Account: "/me", Confirm: "/sure"},
		"stop":     20 * time.Second,
		"admin":    Admin{"unix:/run/authsvc/admin.sock", true},
		"log":      Log{Format: "json", Level: "debug"},
		"audit":    authsvc.AuditOptions{Store: true, Keep: 9600 * time.Hour},
		"networks": []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
		"proxy":    []string{"http://authsvc:" + testSecret + "@proxy.example.com:3128", "keycloak.internal", "*.corp.example.com"},
	}
	sameWhen := cmp.Comparer(func(a, b func(context.Context, authsvc.AccessRequest) (bool, error)) bool {
		return (a == nil) == (b == nil)
	})
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), sameWhen); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestFullIsFull: the file has every key of the table.
func TestFullIsFull(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		written[prefix] = true
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				walk(strings.TrimPrefix(prefix+"."+k, "."), inner)
			}
		case []any:
			for _, inner := range v {
				walk(prefix+"[]", inner)
			}
		}
	}
	walk("", doc)
	for _, k := range Keys() {
		if !written[k.Name] {
			t.Errorf("testdata/full.yaml lacks %s", k.Name)
		}
	}
}

// TestPrecedence: flags override the environment, and the environment overrides the
// file. The test also covers the kinds of values of each.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secretFile := filepath.Join(dir, "secret")
	if err := os.WriteFile(secretFile, []byte("first\nsecond\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	openFile := filepath.Join(dir, "open")
	if err := os.WriteFile(openFile, []byte("client secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const file = "url: https://file.example\nlisten: file:1\nsecret: ${UNSET}\nallow_insecure_url: false\n" +
		"allowed_redirects: [https://file.example]\nproviders: [{id: github, client_id: file, client_secret: \"$${x}\", name: $5}]\n"
	path := writeFile(t, file)
	s, err := Load(Input{Path: path, Flags: map[string]string{"listen": "flag:3"}, Env: map[string]string{
		"AUTHSVC_URL": "https://env.example", "AUTHSVC_LISTEN": "env:2", "AUTHSVC_SECRET_FILE": secretFile,
		"AUTHSVC_ALLOW_INSECURE_URL": "true", "AUTHSVC_ALLOWED_REDIRECTS": "https://a.example, https://b.example",
		"AUTHSVC_GITHUB_ID": "env", "AUTHSVC_GOOGLE_ID": "g", "AUTHSVC_GOOGLE_SECRET_FILE": openFile,
		"AUTHSVC_EMAIL_SERVER": "smtp://localhost", "AUTHSVC_EMAIL_FROM": "a@b.example", "AUTHSVC_GITHUB_LINK_VERIFIED_EMAIL": "true",
		"AUTHSVC_STORAGE_URL": "", "AUTHSVC_PORT": "tcp://10.0.0.1:80", "AUTHSVC_COMPATT": "none",
	}})
	if err != nil {
		t.Fatal(err)
	}
	github := s.Engine.Providers[0].(*authsvc.OAuth)
	google := s.Engine.Providers[1].(*authsvc.OAuth)
	got := []any{s.Engine.URL, s.Listen, s.Engine.Secrets, s.Engine.DangerousInsecureURL, s.Engine.AllowedRedirects, s.Storage.URL,
		github.Client, github.LinkVerifiedEmail, github.Name, google.Client, google.Issuer, len(s.Mail)}
	want := []any{"https://env.example", "flag:3", []string{"first", "second"}, true, []string{"https://a.example", "https://b.example"}, "sqlite:authsvc.db",
		authsvc.Client{ID: "env", Secret: "${x}"}, true, "$5", authsvc.Client{ID: "g", Secret: "client secret"}, "https://accounts.google.com", 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	wantWarnings := []string{
		"AUTHSVC_URL replaces url in " + path + ":1",
		"AUTHSVC_SECRET_FILE replaces secret in " + path + ":3, so a new secret there has no effect",
		fmt.Sprintf("AUTHSVC_GOOGLE_SECRET_FILE: %q can be read by group or others; run chmod 600 on it", openFile),
		`"AUTHSVC_COMPATT" is not read; did you mean AUTHSVC_COMPAT?`,
	}
	if diff := cmp.Diff(wantWarnings, s.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestVariableInItsValue: a variable that the value of its key names is part of the
// value; any other variable replaces it. The list comes from the guide for moving.
func TestVariableInItsValue(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../../docs/moving-from-nextauth.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(guide), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	const older = "the secret of the NextAuth application 7c1"
	env := map[string]string{"AUTHSVC_SECRET": testSecret, "NEXTAUTH_SECRET": older, "AUTHSVC_GITHUB_ID": "of the environment"}
	for name, tt := range map[string]struct {
		file string
		want []string
	}{
		"the guide":             {strings.ReplaceAll(block, "…", "x"), []string{testSecret, older}},
		"named alone":           {"secret: ${AUTHSVC_SECRET}\nproviders: [{id: github}]", []string{testSecret}},
		"named in a text":       {"secret: \"x-${AUTHSVC_SECRET}\"\nproviders: [{id: github}]", []string{"x-" + testSecret}},
		"another variable":      {"secret: [\"${NEXTAUTH_SECRET}\"]\nproviders: [{id: github}]", []string{testSecret}},
		"a similar name":        {"secret: [\"$${AUTHSVC_SECRETS}\"]\nproviders: [{id: github}]", []string{testSecret}},
		"a value in the file":   {"secret: of-the-file\nproviders: [{id: github}]", []string{testSecret}},
		"nothing said":          {"providers: [{id: github}]", []string{testSecret}},
		"a provider's variable": {"providers: [{id: github, client_id: \"of the file\"}]", []string{testSecret}},
	} {
		s, err := Load(Input{Path: writeFile(t, tt.file+"\nurl: https://app.example.com\n"), Env: env})
		if name == "the guide" {
			s, err = Load(Input{Path: writeFile(t, tt.file), Env: env})
		}
		if s == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, s.Engine.Secrets); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
		replaced := name == "another variable" || name == "a similar name" || name == "a value in the file"
		if got := strings.Contains(strings.Join(s.Warnings, "\n"), "AUTHSVC_SECRET replaces secret in "); got != replaced {
			t.Errorf("%s: warnings %q, want one: %t", name, s.Warnings, replaced)
		}
	}
}

// TestReplacedURL: a variable that replaces an https url of the file by another one causes
// a warning. Flags, equal values and addresses of this machine do not.
func TestReplacedURL(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url, env, flag string
		want           bool
	}{
		"another":         {"https://app.example.com", "http://localhost:3000", "", true},
		"the same":        {"https://app.example.com", "https://app.example.com", "", false},
		"a slash":         {"https://app.example.com/", "https://app.example.com", "", false},
		"of this machine": {"http://localhost:3000", "https://app.example.com", "", false},
		"of the variable": {"${AUTHSVC_URL}", "https://app.example.com", "", false},
		"a flag":          {"https://app.example.com", "https://www.example.com", "http://localhost:3000", false},
		"none":            {"https://app.example.com", "", "", false},
	} {
		in := Input{Path: writeFile(t, "secret: "+testSecret+"\nurl: "+tt.url+"\nproviders: [{id: github, client_id: a, client_secret: b}]\n"), Env: map[string]string{"AUTHSVC_URL": tt.env}}
		if tt.flag != "" {
			in.Flags = map[string]string{"url": tt.flag}
		}
		s, err := Load(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := []string{"AUTHSVC_URL replaces url in " + in.Path + ":2"}
		if got := s.Replaced; tt.want != slices.Equal(got, want) || !tt.want && got != nil || !slices.Equal(got, s.Warnings) {
			t.Errorf("%s: %q, all %q", name, got, s.Warnings)
		}
	}
}

// TestSettingsPrintNoSecret: no way to print the settings shows a secret.
func TestSettingsPrintNoSecret(t *testing.T) {
	t.Parallel()
	s := loadFull(t)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "settings", s, "value", *s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "settings", s, "value", *s)
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", s, s, s, s, s, s), fmt.Sprintf("%v %+v %#v %s", *s, *s, *s, *s), log.String(), string(encoded)} {
		for _, secret := range []string{testSecret, "gh-secret", "an-older-secret", "a-front-ends-key", "its-older-key", "user:pass", "ac-secret", "pl-secret", "ol-secret", "whsec_"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q is in %q", secret, out)
			}
		}
	}
}

// TestDocumentation: docs/configuration.md has the keys of the table, with type and
// variable, in any order.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []Key
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if cells[3] == "" || cells[5] == "" {
			t.Errorf("%s lacks a default or a meaning", cells[1])
		}
		documented = append(documented, Key{Name: cells[1], Kind: cells[2], Variable: cells[4]})
	}
	byName := func(a, b Key) int { return strings.Compare(a.Name, b.Name) }
	keys := Keys()
	slices.SortFunc(keys, byName)
	slices.SortFunc(documented, byName)
	if diff := cmp.Diff(keys, documented); diff != "" {
		t.Errorf("keys (-table +docs/configuration.md):\n%s", diff)
	}
}

// FuzzLoad: no input makes the loader panic. Each refusal has a place on one line, and
// no message shows values of the environment.
func FuzzLoad(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(full), "", "a: &x [*x]", "url: [", "secret: ${S}", "secret: *${S}", "---\n---\n", "providers: [{id: github}]",
		"url: !!binary aGk=", "? [a]: b", "listen: $${", "<<: {a: b}", "session: {max_age: ${S}}", "providers: [{id: x, type: oidc, checks: {a: b}}]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const inEnvironment = "7b1e-in-the-environment"
		s, err := compile(Input{Env: map[string]string{"S": inEnvironment, "AUTHSVC_TEST_SECRET": inEnvironment}}, "authsvc.yaml", []byte(text))
		if err == nil {
			if strings.Contains(fmt.Sprintf("%+v", s), inEnvironment) {
				t.Error("settings print a secret")
			}
			return
		}
		var mistakes Mistakes
		if !errors.As(err, &mistakes) || len(mistakes) == 0 {
			t.Fatalf("no mistakes but %v", err)
		}
		for _, m := range mistakes {
			if m.Place == "" || m.Problem == "" || m.Fix == "" || strings.ContainsAny(m.String(), "\n\r") {
				t.Errorf("mistake %q", m.String())
			}
			if strings.Contains(m.String(), inEnvironment) {
				t.Errorf("mistake shows the environment: %q", m.String())
			}
		}
	})
}

// TestProviderTokens: the values of storage.provider_tokens.
func TestProviderTokens(t *testing.T) {
	t.Parallel()
	for storage, want := range map[string]string{
		"{}":                        "",
		"{provider_tokens: keep}":   "",
		"{provider_tokens: sealed}": "sealed",
		"{provider_tokens: plain}":  "plain",
		"{provider_tokens: drop}":   "drop",
	} {
		s, err := Load(Input{Path: writeFile(t, "url: http://localhost:3000\nsecret: "+testSecret+"\nstorage: "+storage+"\n")})
		if err != nil || string(s.Engine.ProviderTokens) != want {
			t.Errorf("%s: got %v, %v", storage, s, err)
		}
	}
}

// TestDebugWarning: log.level debug causes a warning only at a public address.
func TestDebugWarning(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{"https://app.example.com": true, "http://localhost:3000": false} {
		s, err := Load(Input{Path: writeFile(t, "url: "+url+"\nsecret: "+testSecret+"\nlog: {level: debug}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(strings.Join(s.Warnings, "\n"), "log.level is debug"); warned != want {
			t.Errorf("%s: %q", url, s.Warnings)
		}
	}
}
