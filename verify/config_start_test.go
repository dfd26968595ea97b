package verify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/process"
)

// configSecret is in the refused files and must be in no message.
const configSecret = "canary-4b7e1d90a2c6f853-client-secret"

// configGood is a valid configuration file.
const configGood = `url: http://localhost:3000
secret: ` + arena.Secret + `
providers:
  - {id: github, client_id: a, client_secret: ` + configSecret + `}
`

// configBad returns invalid files, each with the key that the message must name.
func configBad() map[string][2]string {
	with := func(old, with, key string) [2]string {
		return [2]string{strings.Replace(configGood, old, with, 1), key}
	}
	more := func(line, key string) [2]string { return [2]string{configGood + line + "\n", key} }
	return map[string][2]string{
		"unknown key": more("secrte: x", "secrte"), "unknown key below": more("session: {max_agee: 1h}", "max_agee"), "unknown key of a provider": with("client_id: a", "client_id: a, client_sercet: x", "client_sercet"),
		"list for text": more("compat: [none]", "compat"), "text for a list": more("trusted_proxies: nonsense", "trusted_proxies"), "mapping for text": with("url: http://localhost:3000", "url: {a: b}", "url"),
		"text for a boolean": more("allow_insecure_url: perhaps", "allow_insecure_url"), "no duration": more("session: {max_age: soon}", "session.max_age"), "negative": more("session: {max_age: -1h}", "session.max_age"), "no rate": more("rate_limit: {sign_in: many}", "rate_limit.sign_in"),
		"network with host bits or none": more("trusted_proxies: [10.0.0.0/99]", "trusted_proxies"), "a name in trusted_proxies": more("trusted_proxies: [proxy.internal]", "trusted_proxies"),
		"no client secret": with(", client_secret: "+configSecret, "", "client_secret"), "same provider twice": with("  - {id: github", "  - {id: github, client_id: b, client_secret: c}\n  - {id: github", "providers"),
		"unknown provider": with("id: github", "id: githup", "githup"), "provider without id": with("id: github, ", "", "providers"), "issuer without https": more("  - {id: op, type: oidc, issuer: 'http://id.example', client_id: a, client_secret: b}", "issuer"),
		"no url": with("url: http://localhost:3000", "", "url"), "no address": with("http://localhost:3000", "localhost", "url"), "another scheme": with("http://localhost:3000", "ftp://localhost", "url"), "password in url": with("http://localhost:3000", "https://u:p@app.test", "url"),
		"url with a query": with("http://localhost:3000", "https://app.test/?a", "url"), "no secret": with("secret: "+arena.Secret, "", "secret"), "short secret": with(arena.Secret, "hunter2", "secret"), "one letter": with(arena.Secret, strings.Repeat("s", 64), "secret"),
		"unset variable": with(arena.Secret, "${NOT_SET}", "NOT_SET"), "open variable": with(arena.Secret, "${NOT", "secret"), "empty": {"", "empty"}, "comment only": {"# nothing\n", "empty"}, "a list": {"- a\n- b\n", "is a list, not keys with values"}, "text": {"hello\n", "authsvc.yaml"},
		"broken YAML": {configGood + "a: [\n", "authsvc.yaml"}, "tab": {"url:\n\t- a\n", "authsvc.yaml"}, "two documents": {configGood + "---\n" + configGood, "second document"}, "same key twice": {configGood + "url: https://b.test\n", "url"}, "binary": {"\x00\x01\x02\xff", "authsvc.yaml"},
		"10 MB": {configGood + "# " + strings.Repeat("x", 10<<20) + "\n", "larger"}, "alias bomb": {aliasBomb(), "authsvc.yaml"}, "deep": {"a: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n", "authsvc.yaml"},
		"merge key": {"x: &x {url: 'http://localhost'}\n<<: *x\n", "authsvc.yaml"}, "tag": with("http://localhost:3000", "!!binary aGk=", "has a tag"), "cookie of another domain": more("cookies: {domain: test}", "cookies.domain"),
		"other site trusted": more("trusted_origins: ['https://evil.test']", "trusted_origins"), "checks dropped": more("  - {id: op, type: oauth2, authorization_url: 'https://id.example/a', token_url: 'https://id.example/t', userinfo_url: 'https://id.example/u', client_id: a, client_secret: b, checks: [nonce]}", "checks"),
	}
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for c := 'b'; c <= 'i'; c++ {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 8) + "*" + string(c-1) + "]\n")
	}
	return b.String()
}

func config01(t *T) {
	for name, c := range configBad() {
		t.Run(name, func(t *T) {
			t.Parallel()
			p := configFile(t, c[0])
			began := time.Now()
			p.Start()
			code := p.Wait(patience)
			said := p.Logs.String()
			if code != 2 || !strings.Contains(said, c[1]) {
				t.Errorf("exit code %d, %q is not in %.600s", code, c[1], said)
			}
			if strings.Contains(said, configSecret) || strings.Contains(said, arena.Secret) || strings.Contains(said, "hunter2") || strings.Contains(said, "goroutine") || len(said) > 20_000 {
				t.Errorf("said %.2000s", said)
			}
			if d := time.Since(began); d > within(10*time.Second) {
				t.Errorf("the refusal took %v", d)
			}
			if out, code := p.Command("check", "--offline"); code == 0 || strings.Contains(out, configSecret) {
				t.Errorf("check: %d %.600s", code, out)
			}
		})
	}
	t.Run("twin", func(t *T) {
		if out, code := configFile(t, configGood).Command("check", "--offline"); code != 0 {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("embedded", configEmbedded)
}

// configFile prepares a process whose configuration file is exactly text.
func configFile(t *T, text string) *process.Process {
	t.Helper()
	p := process.Prepare(t, "", "AUTHSVC_STORAGE_URL=memory:")
	if err := os.WriteFile(filepath.Join(p.Dir, "authsvc.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// configEmbedded makes the configuration of an embedded engine invalid.
func configEmbedded(t *T) {
	good := func() authsvc.Config {
		return authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}}
	}
	oauth := func() *authsvc.OAuth {
		return &authsvc.OAuth{ID: "op", Name: "Example", Endpoints: authsvc.Endpoints{
			Authorization: "https://id.test/a",
			Token:         "https://id.test/t",
			UserInfo:      "https://id.test/u",
		},
			Client: authsvc.Client{ID: "app", Secret: configSecret}}
	}
	for name, spoil := range map[string]func(*authsvc.Config){
		"http":         func(c *authsvc.Config) { c.URL = "http://app.test" },
		"no secret":    func(c *authsvc.Config) { c.Secrets = nil },
		"same id":      func(c *authsvc.Config) { c.Providers = append(c.Providers, c.Providers[0]) },
		"no providers": func(c *authsvc.Config) { c.Providers = nil },
		"reserved parameter": func(c *authsvc.Config) {
			o := oauth()
			o.AuthorizationParams = map[string]string{"state": "x"}
			c.Providers = append(c.Providers, o)
		},
		"all checks dropped": func(c *authsvc.Config) {
			o := oauth()
			o.Checks = []string{"nonce"}
			c.Providers = append(c.Providers, o)
		},
		"http issuer": func(c *authsvc.Config) {
			o := oauth()
			o.OpenID, o.Issuer = true, "http://id.test"
			c.Providers = append(c.Providers, o)
		},
		"cookie names clash":   func(c *authsvc.Config) { c.Cookies.CSRF = arena.SessionName + ".csrf" },
		"other site trusted":   func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://evil.test"} },
		"http sibling trusted": func(c *authsvc.Config) { c.TrustedOrigins = []string{"http://www.app.test"} },
		"cookie domain":        func(c *authsvc.Config) { c.Cookies.Domain = "test" },
	} {
		t.Run(name, func(t *T) {
			c := good()
			spoil(&c)
			s, err := engine.New(c)
			if err == nil {
				s.Close(context.Background())
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "canary") || len(authsvc.ConfigErrors(err)) == 0 {
				t.Errorf("%v", err)
			}
		})
	}
	c := good()
	c.Providers = append(c.Providers, oauth())
	s, err := engine.New(c)
	if err != nil {
		t.Fatalf("twin: %v", err)
	}
	s.Close(context.Background())
}

func config06(t *T) {
	for _, url := range []string{"http://app.example.com", "http://10.0.0.1", "http://[2001:db8::1]", "http://0.0.0.0", "http://localhost.evil.test", "http://127.0.0.1.nip.test", "HTTP://app.example.com", "http://app.localdomain"} {
		t.Run(url, func(t *T) {
			t.Parallel()
			p := configFile(t, strings.Replace(configGood, "http://localhost:3000", url, 1))
			p.Start()
			if code := p.Wait(patience); code != 2 || !strings.Contains(p.Logs.String(), "url") {
				t.Errorf("%d %s", code, p.Logs)
			}
		})
	}
	for name, text := range map[string]string{
		"https": strings.Replace(configGood, "http://localhost:3000", "https://app.example.com", 1), "loopback": strings.Replace(configGood, "localhost", "127.0.0.1", 1), "IPv6 loopback": strings.Replace(configGood, "localhost", "[::1]", 1),
		"allowed": strings.Replace(configGood, "http://localhost:3000", "http://app.example.com", 1) + "allow_insecure_url: true\n",
	} {
		if out, code := configFile(t, text).Command("check", "--offline"); code != 0 {
			t.Errorf("twin %s: %d %s", name, code, out)
		}
	}
	p := configFile(t, strings.Replace(configGood, "http://localhost:3000", "http://app.example.com", 1))
	p.Start()
	if code := p.Wait(patience); code == 0 {
		t.Error("it starts without the setting")
	}
}
