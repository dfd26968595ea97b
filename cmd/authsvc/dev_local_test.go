package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// TestDevOfReadme: dev runs the configuration that the README shows, unchanged.
func TestDevOfReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	yaml := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(readme)
	if yaml == nil || !strings.Contains(string(yaml[1]), "…") || !strings.Contains(string(yaml[1]), "${AUTHSVC_SECRET}") {
		t.Fatalf("the README shows %s", yaml)
	}
	s, c := localised(t, string(yaml[1]), &devCommand{})
	for _, p := range s.Engine.Providers {
		if o, ok := p.(*authsvc.OAuth); ok && o.Issuer != nothing {
			t.Errorf("%s asks %s", o.ID, o.Issuer)
		}
	}
	want := []replacement{
		{"url", "http://localhost:3000, not https://app.example.com"},
		{"storage.url", "sqlite:" + filepath.Join(c.Dir, "configured.db")},
		{"github", "Dev ID in its place: client_id is a placeholder"},
		{"acme", "Dev ID in its place: client_id is a placeholder"},
		{"secret", "one of its own, in " + c.Dir},
	}
	if diff := cmp.Diff(want, c.replaced, cmp.AllowUnexported(replacement{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// localised loads a configuration as dev does, without its identity provider.
func localised(t *testing.T, yaml string, c *devCommand) (*config.Settings, *devCommand) {
	t.Helper()
	s, err := loadLocalised(t, yaml, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func loadLocalised(t *testing.T, yaml string, c *devCommand, environ ...string) (*config.Settings, error) {
	t.Helper()
	c.Dir = filepath.Join(t.TempDir(), "dev")
	file := filepath.Join(t.TempDir(), "authsvc.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{ctx: t.Context(), env: parseEnviron(environ), configPath: file, stderr: t.Output(), development: true}
	p.adapt = append(p.adapt, func(s *config.Settings) error {
		if err := c.localise(s); err != nil {
			return err
		}
		if problem := c.addUpstream(s); problem != "" {
			t.Error(problem)
		}
		ofDev(s, nothing, false)
		return nil
	})
	return p.load(nil)
}

// TestDevLocalises: settings that belong to the deployment are replaced, so that dev
// reaches neither its store nor its programs and applications, and its secret seals
// nothing here. Settings of this machine stay.
func TestDevLocalises(t *testing.T) {
	t.Parallel()
	const providers = "\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
	for name, test := range map[string]struct {
		yaml string
		c    devCommand
		got  func(*config.Settings) any
		want any
	}{
		"url":                {"url: https://app.example.com/my/auth\nlisten: 127.0.0.1:4000", devCommand{}, func(s *config.Settings) any { return s.Engine.URL }, "http://localhost:4000/my/auth"},
		"no url":             {"listen: 127.0.0.1:4000", devCommand{}, func(s *config.Settings) any { return s.Engine.URL }, "http://localhost:4000"},
		"url of a variable":  {"url: ${APP_URL}", devCommand{}, func(s *config.Settings) any { return s.Engine.URL }, "http://localhost:3000"},
		"url here":           {"url: http://127.0.0.1:8080/a", devCommand{}, func(s *config.Settings) any { return s.Engine.URL }, "http://127.0.0.1:8080/a"},
		"listen at url":      {"url: http://localhost:3620", devCommand{}, listenAndFront, "localhost:3620"},
		"listen at a name":   {"url: http://app.localhost:3620/auth", devCommand{}, listenAndFront, "127.0.0.1:3620"},
		"listen at IPv6":     {"url: http://[::1]:3620", devCommand{}, listenAndFront, "[::1]:3620"},
		"a front end":        {"url: http://localhost:3620\ntrusted_proxies: [127.0.0.1]", devCommand{}, listenAndFront, "127.0.0.1:3000 (yours; it passes /api/auth on)\n  authsvc      http://127.0.0.1:3000"},
		"url of a flag":      {"url: http://localhost:3620", devCommand{URL: "http://localhost:3620"}, listenAndFront, "127.0.0.1:3000 (yours; it passes /api/auth on)\n  authsvc      http://127.0.0.1:3000"},
		"url and listen":     {"url: http://localhost:3620/auth\nlisten: localhost:4000", devCommand{}, listenAndFront, "localhost:4000 (yours; it passes /auth on)\n  authsvc      http://localhost:4000"},
		"url without a port": {"url: http://localhost", devCommand{}, listenAndFront, "127.0.0.1:3000 (yours; it passes /api/auth on)\n  authsvc      http://127.0.0.1:3000"},
		"listen":             {"listen: 0.0.0.0:4000", devCommand{}, func(s *config.Settings) any { return s.Listen }, "127.0.0.1:4000"},
		"listen here":        {"listen: localhost:4000", devCommand{}, func(s *config.Settings) any { return s.Listen }, "localhost:4000"},
		"secret":             {"secret: " + testSecret, devCommand{}, func(s *config.Settings) any { return len(s.Engine.Secrets) == 1 && s.Engine.Secrets[0] != testSecret }, true},
		"secret, real":       {"url: http://localhost\nsecret: " + testSecret, devCommand{RealStorage: true}, func(s *config.Settings) any { return s.Engine.Secrets }, []string{testSecret}},
		"cookies":            {"cookies: {domain: example.com, session: __Secure-a, csrf: b}", devCommand{}, func(s *config.Settings) any { return s.Engine.Cookies }, authsvc.CookieOptions{Session: "a", CSRF: "b"}},
		"origins":            {"trusted_origins: [https://www.example.com, http://localhost:5173]", devCommand{}, func(s *config.Settings) any { return s.Engine.TrustedOrigins }, []string{"http://localhost:5173"}},
		"key of a front end": {"proxy_keys: ${KEY}\nforwarded_host: true", devCommand{}, func(s *config.Settings) any { return s.Engine.ForwardedHost }, false},
		"proxies":            {"trusted_proxies: [10.0.0.0/8]\nproxy_keys: ${KEY}\nforwarded_host: true", devCommand{}, func(s *config.Settings) any { return s.Engine.ForwardedHost }, true},
		"metrics":            {"admin: {listen: \"unix:/run/authsvc/admin.sock\"}", devCommand{}, func(s *config.Settings) any { return s.Admin }, config.Admin{}},
		"metrics here":       {"admin: {listen: 127.0.0.1:9090}", devCommand{}, func(s *config.Settings) any { return s.Admin }, config.Admin{Listen: "127.0.0.1:9090"}},
		"hooks": {"hooks: [{on: sign_in, url: https://app.example.com/, secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3}, {on: claims, url: http://localhost:8080/, secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3}, {on: claims, url: http://localhost:8080/, secret: \"${HOOK}\"}]",
			devCommand{}, func(s *config.Settings) any { return len(s.Hooks) == 1 && s.Hooks[0].URL == "http://localhost:8080/" }, true},
		"gate": {"url: https://app.example.com\ngate: {hosts: [{origin: https://app.example.com, upstream: http://127.0.0.1:8080}, {origin: \"https://*.example.com\", upstream: http://10.0.0.5}, {origin: http://wiki.localhost:3000, upstream: http://10.0.0.5}]}",
			devCommand{}, gateOf, []string{"http://localhost:3000 http://127.0.0.1:8080", "http://*.example.com.localhost:3000 " + nothing, "http://wiki.localhost:3000 http://10.0.0.5"}},
		"gate, with proxies that ask": {"url: https://app.example.com\ntrusted_proxies: [127.0.0.1]\ngate: {hosts: [{origin: https://wiki.example.com}]}",
			devCommand{}, gateOf, []string{"http://wiki.example.com.localhost:3000 "}},
		"sessions beside memory": {"storage: {url: \"memory:\"}\nsession: {store: \"redis://10.0.0.5\"}", devCommand{}, func(s *config.Settings) any { return s.Storage.URL + s.Storage.Sessions }, "memory:"},
		"gate, with a program": {"url: https://app.example.com\ngate: {hosts: [{origin: https://app.example.com, upstream: http://10.0.0.5}]}",
			devCommand{Upstream: "http://localhost:5173"}, gateOf, []string{"http://localhost:3000 http://localhost:5173"}},
		"a program": {"", devCommand{Upstream: "http://localhost:5173"}, gateOf, []string{"http://localhost:3000 http://localhost:5173"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := localised(t, test.yaml+providers, &test.c)
			if diff := cmp.Diff(test.want, test.got(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func listenAndFront(s *config.Settings) any { return s.Listen + frontOf(s) }

func gateOf(s *config.Settings) any {
	var hosts []string
	for _, h := range s.Engine.Gate.Hosts {
		hosts = append(hosts, h.Origin+" "+h.Upstream)
	}
	return hosts
}

// TestDevRefuses: dev reports values that it must not replace, because without them the
// configuration would mean something else.
func TestDevRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		yaml string
		c    devCommand
		want string
	}{
		"conditions":         {"sign_in: {allow: [{domains: [\"${DOMAIN}\"]}]}", devCommand{}, "sign_in.allow[0].domains[0] needs the environment variable DOMAIN, which is not set"},
		"the store":          {"url: http://localhost\nsecret: " + testSecret + "\nstorage: {url: \"${DATABASE_URL}\"}", devCommand{RealStorage: true}, "storage.url is DATABASE_URL, which is not set; set it, or leave out --real-storage"},
		"the store's secret": {"url: http://localhost\nsecret: ${SECRET}", devCommand{RealStorage: true}, "secret is SECRET, which is not set; set it, or leave out --real-storage"},
		"a wrong provider":   {"providers: [{id: githb, client_id: \"${X}\"}]", devCommand{}, `"githb" is not a provider of this version`},
		"a wrong key":        {"providers: [{id: github, colour: red}]", devCommand{}, `key "providers[0].colour" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := loadLocalised(t, test.yaml, &test.c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// TestDevFolder: the folder of dev, which has the inbox, is kept out of repositories,
// also if the store is elsewhere.
func TestDevFolder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*devCommand{"own storage": {}, "real storage": {RealStorage: true}} {
		_, c := localised(t, "url: http://localhost\nsecret: "+testSecret, c)
		if ignored, err := os.ReadFile(filepath.Join(c.Dir, ".gitignore")); string(ignored) != "*\n" || err != nil {
			t.Errorf("%s: .gitignore has %q, %v", name, ignored, err)
		}
	}
}

// TestDevCredentials: what people type in dev reaches no application on another machine.
// Dev ID takes the place of a provider that would send it there, whether the file or a
// variable names the address.
func TestDevCredentials(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook, variable string
		stays          bool
	}{
		"elsewhere":              {hook: "https://app.example.com/credentials"},
		"elsewhere, by address":  {hook: "https://10.0.0.5/credentials"},
		"elsewhere, of variable": {hook: "http://localhost:8080/credentials", variable: "https://app.example.com/credentials"},
		"here":                   {hook: "http://localhost:8080/credentials", stays: true},
		"here, of variable":      {hook: "https://app.example.com/credentials", variable: "http://127.0.0.1:8080/credentials", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &devCommand{}
			s, err := loadLocalised(t, "providers: [{id: staff, type: credentials, name: Staff, hook: {url: \""+test.hook+"\", secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3}}]", c, "AUTHSVC_STAFF_HOOK_URL="+test.variable)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(s.Engine.Providers, func(p authsvc.Provider) bool { return config.ProviderID(p) == "staff" })
			if _, stays := s.Engine.Providers[i].(*authsvc.Credentials); stays != test.stays {
				t.Errorf("the provider is %T", s.Engine.Providers[i])
			}
			if said := slices.Contains(c.replaced, replacement{"staff", "Dev ID in its place: hook.url is not on this machine"}); said == test.stays {
				t.Errorf("dev says %v", c.replaced)
			}
		})
	}
}
