package engine_test

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestConfigErrorOrder: equal configurations report their mistakes in the same order.
func TestConfigErrorOrder(t *testing.T) {
	t.Parallel()
	var first string
	for range 30 {
		_, err := engine.New(authsvc.Config{
			URL: "ftp://x", Cookies: authsvc.CookieOptions{Session: "a b", CSRF: "c d", CallbackURL: "e f"},
			Pages: authsvc.Pages{SignIn: "x", SignOut: "x", Error: "x", VerifyRequest: "x", NewUser: "x"},
			Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op",
				AuthorizationParams: map[string]string{"state": "x", "nonce": "x", "scope": "x", "client_id": "x"},
				TokenParams:         map[string]string{"code": "x", "grant_type": "x", "client_id": "x"}}},
		})
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first {
			t.Fatalf("first\n%s\nthen\n%s", first, err)
		}
	}
}

// TestConfigErrorFields: a mistake in a list names the field of Config and the element.
func TestConfigErrorFields(t *testing.T) {
	t.Parallel()
	_, err := engine.New(authsvc.Config{
		URL:              "https://app.test",
		Secrets:          []string{strings.Repeat("0123456789abcdef", 2)},
		Providers:        []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}},
		AllowedRedirects: []string{"https://a.test", "b.test"},
		TrustedOrigins:   []string{"c.test", "https://other.example"},
	})
	var fields []string
	for _, e := range authsvc.ConfigErrors(err) {
		fields = append(fields, e.Field)
	}
	if want := []string{"AllowedRedirects[1]", "TrustedOrigins[0]", "TrustedOrigins[1]"}; !slices.Equal(fields, want) {
		t.Errorf("%q, want %q: %v", fields, want, err)
	}
}

// TestConfigURLWithEscapes: a path that would be served in another form than it is
// printed is refused.
func TestConfigURLWithEscapes(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{"https://h.test/my%20auth": false, "https://h.test/my auth": false, "https://h.test/m%C3%BC": false, "https://h.test/mü": false, "https://h.test/my-auth/v1": true} {
		config := arena.EnterOffline(t, nil).Config
		config.URL = url
		s, err := engine.New(config)
		if err == nil {
			s.Close(t.Context())
		}
		if list := authsvc.ConfigErrors(err); ok != (err == nil) || !ok && (len(list) != 1 || list[0].Field != "URL") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestLoopbackHosts: a host of this machine may use http, both in the service's own
// address and in its providers'.
func TestLoopbackHosts(t *testing.T) {
	t.Parallel()
	for host, ok := range map[string]bool{"localhost": true, "app.localhost": true, "127.0.0.2": true, "[::1]": true, "localhost.test": false, "app.test": false} {
		own, provider := arena.EnterOffline(t, nil).Config, arena.EnterOffline(t, nil).Config
		own.URL = "http://" + host + ":3000"
		provider.Providers = []authsvc.Provider{&authsvc.OAuth{ID: "op", OpenID: true, Issuer: "http://" + host + ":4000", Client: authsvc.Client{ID: "app", Secret: "s"}}}
		for what, config := range map[string]authsvc.Config{"URL": own, "issuer": provider} {
			s, err := engine.New(config)
			if err == nil {
				s.Close(t.Context())
			}
			if (err == nil) != ok {
				t.Errorf("%s at %s: %v", what, host, err)
			}
		}
	}
}

// withJWT sets a callback that strategy database never calls.
func withJWT(strategy authsvc.Strategy) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy = memory.New(), strategy
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) { return p.Claims, nil }
	}
}

// TestStartWarnings: the log warns of options that switch a protection off or have no
// effect.
func TestStartWarnings(t *testing.T) {
	t.Parallel()
	proxies := func(list ...string) func(*authsvc.Config) {
		return func(c *authsvc.Config) {
			for _, p := range list {
				c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(p))
			}
		}
	}
	for name, c := range map[string]struct {
		tune func(*authsvc.Config)
		want string // "": no warning
	}{
		"JWT, no token":         {withJWT(authsvc.StrategyDatabase), "field=Callbacks.JWT"},
		"JWT, a token":          {withJWT(authsvc.StrategyJWT), ""},
		"everyone":              {proxies("0.0.0.0/0"), "trusts everyone or nearly everyone"},
		"everyone, v6":          {proxies("::/0"), "trusts everyone or nearly everyone"},
		"half of all addresses": {proxies("128.0.0.0/1"), "trusts everyone or nearly everyone"},
		"mapped":                {proxies("::ffff:10.0.0.0/104"), "write=10.0.0.0/8"},
		"repeating secret": {func(c *authsvc.Config) {
			c.Compat, c.Secrets, c.DangerousShortSecret = authsvc.NextAuthV4, []string{strings.Repeat("ab", 20)}, true
		}, "a secret repeats few characters; put a new one in front of it"},
		"limits off": {func(c *authsvc.Config) { c.RateLimit.Disabled = true }, "rate limits are off"},
		"usual":      {proxies("127.0.0.1/32", "10.0.0.0/8", "172.16.0.0/12", "fc00::/7", "::1/128"), ""},
		"no warning": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := &arena.LogBuffer{}
			guests(t, func(g *authsvc.Config) {
				g.Logger = slog.New(slog.NewTextHandler(logs, nil))
				if c.tune != nil {
					c.tune(g)
				}
			})
			if said := strings.Contains(logs.String(), "level=WARN"); said != (c.want != "") || !strings.Contains(logs.String(), c.want) {
				t.Errorf("want %q, got %s", c.want, logs.String())
			}
		})
	}
}

// TestConfigHostsInASCII: a refused name that is not in ASCII comes with the form to
// write, and that form is accepted.
func TestConfigHostsInASCII(t *testing.T) {
	t.Parallel()
	config := func(host string) authsvc.Config {
		return authsvc.Config{
			URL: "https://" + host, Secrets: []string{strings.Repeat("0123456789abcdef", 2)}, Cookies: authsvc.CookieOptions{Domain: strings.TrimPrefix(host, "auth.")},
			Providers:        []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}},
			AllowedRedirects: []string{"https://" + host + ":8443"}, TrustedOrigins: []string{"https://www." + host}, InternalHosts: []string{"in." + host + ":3000"},
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
			Gate: authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://*.apps." + host, Upstream: "http://127.0.0.1:1", Default: authsvc.Allow{Anyone: true},
				WebSocketOrigins: []string{"https://ws." + host}}}},
		}
	}
	fixes := map[string]string{}
	_, err := engine.New(config("auth.b\u00fccher.example"))
	for _, e := range authsvc.ConfigErrors(err) {
		fixes[e.Field] = e.Fix
	}
	for field, want := range map[string]string{
		"URL":                 "https://auth.xn--bcher-kva.example",
		"AllowedRedirects[0]": "https://auth.xn--bcher-kva.example:8443", "TrustedOrigins[0]": "https://www.auth.xn--bcher-kva.example",
		"InternalHosts[0]": "in.auth.xn--bcher-kva.example:3000", "Gate.Hosts[0].Origin": "https://*.apps.auth.xn--bcher-kva.example",
		"Gate.Hosts[0].WebSocketOrigins[0]": "https://ws.auth.xn--bcher-kva.example",
	} {
		if want = "write the name as browsers send it: " + want; fixes[field] != want {
			t.Errorf("%s: %q, want %q", field, fixes[field], want)
		}
	}
	_, err = engine.New(config("auth.b\u00fc_cher.example"))
	if e := authsvc.ConfigErrors(err); len(e) == 0 || e[0].Field != "URL" || strings.Contains(e[0].Fix, "browsers send") {
		t.Errorf("a name without an ASCII form: %v", err)
	}
	s, err := engine.New(config("auth.xn--bcher-kva.example"))
	if err != nil {
		t.Fatal(err)
	}
	s.Close(t.Context())
}
