package engine_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// Keys of two front ends.
const (
	proxyKey = "k3Yof-the-front-end/9sWq+Zx71LmRb=="
	olderKey = "an-older-key-of-it-Tg5Vb2Nm8Qw0PzLx"
)

// forwarding returns a service whose proxies may name its host. Programs reach it at an
// internal name, and another host is behind its gate.
func forwarding(t *testing.T, tune func(*authsvc.Config)) (*engine.Service, *arena.LogBuffer) {
	t.Helper()
	logs := &arena.LogBuffer{}
	c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Logger: slog.New(slog.NewTextHandler(logs, nil)),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, ProxyKeys: []string{proxyKey, olderKey}, ForwardedHost: true,
		InternalHosts: []string{"auth.internal"}, Gate: authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://wiki.app.test"}}},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}}
	if tune != nil {
		tune(&c)
	}
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s, logs
}

// TestForwardedHost: the X-Forwarded-Host of a trusted proxy stands for Host if it is
// the only one and names the host of the URL.
func TestForwardedHost(t *testing.T) {
	t.Parallel()
	const proxy, client = "10.0.0.9:1234", "203.0.113.7:1234"
	off := func(c *authsvc.Config) { c.ForwardedHost = false }
	for name, c := range map[string]struct {
		peer, host, path string
		forwarded, keys  []string
		tune             func(*authsvc.Config)
		want             string
	}{
		"a trusted proxy":           {peer: proxy, forwarded: []string{"app.test"}, want: "app.test"},
		"upper case":                {peer: proxy, forwarded: []string{"APP.Test"}, want: "app.test"},
		"the default port":          {peer: proxy, forwarded: []string{"app.test:443"}, want: "app.test"},
		"an internal host":          {peer: proxy, host: "auth.internal", forwarded: []string{"app.test"}, want: "app.test"},
		"a proxy in IPv6 form":      {peer: "[::ffff:10.0.0.9]:1", forwarded: []string{"app.test"}, want: "app.test"},
		"a key":                     {peer: client, forwarded: []string{"app.test"}, keys: []string{proxyKey}, want: "app.test"},
		"the older key":             {peer: client, forwarded: []string{"app.test"}, keys: []string{olderKey}, want: "app.test"},
		"a key alone":               {peer: client, forwarded: []string{"app.test"}, keys: []string{proxyKey}, want: "app.test", tune: func(c *authsvc.Config) { c.TrustedProxies = nil }},
		"our host is kept":          {peer: client, host: "app.test", forwarded: []string{"evil.test"}, want: "app.test"},
		"off":                       {peer: proxy, forwarded: []string{"app.test"}, tune: off, want: "other.test"},
		"off, with a key":           {peer: client, forwarded: []string{"app.test"}, keys: []string{proxyKey}, tune: off, want: "other.test"},
		"a client":                  {peer: client, forwarded: []string{"app.test"}, want: "other.test"},
		"a client at internal host": {peer: client, host: "auth.internal", forwarded: []string{"app.test"}, want: "auth.internal"},
		"no address":                {peer: "@", forwarded: []string{"app.test"}, want: "other.test"},
		"none":                      {peer: proxy, want: "other.test"},
		"empty":                     {peer: proxy, forwarded: []string{""}, want: "other.test"},
		"another host":              {peer: proxy, forwarded: []string{"evil.test"}, want: "other.test"},
		"a longer name":             {peer: proxy, forwarded: []string{"app.test.evil.test"}, want: "other.test"},
		"another port":              {peer: proxy, forwarded: []string{"app.test:8443"}, want: "other.test"},
		"the port of http":          {peer: proxy, forwarded: []string{"app.test:80"}, want: "other.test"},
		"two headers":               {peer: proxy, forwarded: []string{"app.test", "app.test"}, want: "other.test"},
		"a list":                    {peer: proxy, forwarded: []string{"app.test, app.test"}, want: "other.test"},
		"a list without space":      {peer: proxy, forwarded: []string{"app.test,evil.test"}, want: "other.test"},
		"a path":                    {peer: proxy, forwarded: []string{"app.test/"}, want: "other.test"},
		"a query":                   {peer: proxy, forwarded: []string{"app.test?"}, want: "other.test"},
		"a user":                    {peer: proxy, forwarded: []string{"a@app.test"}, want: "other.test"},
		"a space":                   {peer: proxy, forwarded: []string{" app.test"}, want: "other.test"},
		"an origin":                 {peer: proxy, forwarded: []string{"https://app.test"}, want: "other.test"},
		"a wrong key":               {peer: client, forwarded: []string{"app.test"}, keys: []string{proxyKey + "x"}, want: "other.test"},
		"a part of a key":           {peer: client, forwarded: []string{"app.test"}, keys: []string{proxyKey[:34]}, want: "other.test"},
		"an empty key":              {peer: client, forwarded: []string{"app.test"}, keys: []string{""}, want: "other.test"},
		"two keys":                  {peer: client, forwarded: []string{"app.test"}, keys: []string{proxyKey, olderKey}, want: "other.test"},
		"a host of the gate":        {peer: proxy, host: "wiki.app.test", forwarded: []string{"app.test"}, want: "wiki.app.test"},
		"a gate check":              {peer: proxy, path: "/api/auth/gate/forward-auth", forwarded: []string{"app.test"}, want: "other.test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := forwarding(t, c.tune)
			r := httptest.NewRequest("GET", "https://other.test/api/auth/signin", nil)
			if c.path != "" {
				r.URL.Path, r.RequestURI = c.path, c.path
			}
			if r.RemoteAddr = c.peer; c.host != "" {
				r.Host = c.host
			}
			came := r.Host
			r.Header = http.Header{"X-Forwarded-Host": c.forwarded, "Authsvc-Proxy-Key": c.keys}
			if got := s.Forwarded(r).Host; got != c.want {
				t.Errorf("Host is %s, want %s", got, c.want)
			}
			if r.Host != came {
				t.Errorf("the caller's request changed to %s", r.Host)
			}
		})
	}
}

// TestForwardedHostServes: ServeHTTP and Guard read X-Forwarded-Host as Forwarded does,
// and links keep the URL.
func TestForwardedHostServes(t *testing.T) {
	t.Parallel()
	s, _ := forwarding(t, func(c *authsvc.Config) { c.Gate.Hosts[0] = authsvc.GateHost{Origin: arena.Origin} })
	guard := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, c := range []struct {
		handler      http.Handler
		method, path string
		forwarded    string
		status       int
	}{
		{s, "GET", "/api/auth/signin", "app.test", 200}, {s, "GET", "/api/auth/signin", "evil.test", 421},
		{s, "GET", "/api/auth/providers", "app.test", 200}, {s, "GET", "/api/auth/providers", "", 421},
		{s, "GET", "/api/auth/session", "app.test", 200}, {s, "GET", "/api/auth/session", "evil.test", 200},
		{guard, "GET", "/page", "app.test", 401}, {guard, "GET", "/page", "evil.test", 421},
	} {
		r := httptest.NewRequest(c.method, "http://auth.internal"+c.path, nil)
		r.RemoteAddr = "10.0.0.1:1"
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-Host", c.forwarded)
		}
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		if w.Code != c.status || strings.Contains(w.Body.String(), "auth.internal") || strings.Contains(w.Body.String(), "evil") {
			t.Errorf("%s %s forwarded for %q: %d, want %d\n%.300s", c.method, c.path, c.forwarded, w.Code, c.status, w.Body)
		}
	}
}

// TestProxyKeyAddress: a proxy with a key names its client as a trusted proxy does. A
// wrong key is logged once, without its value.
func TestProxyKeyAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, forwarded, want string
		warned               bool
	}{
		"a key":                  {proxyKey, "1.2.3.4, 198.51.100.4", "198.51.100.4", false},
		"a trusted hop":          {proxyKey, "198.51.100.4, 10.0.0.2", "198.51.100.4", false},
		"no further hop":         {proxyKey, "198.51.100.4, 203.0.113.7", "203.0.113.7", false},
		"a key, nonsense":        {proxyKey, "what", "203.0.113.7", false},
		"a wrong key":            {"wrong-" + proxyKey, "198.51.100.4", "203.0.113.7", true},
		"no key":                 {"", "198.51.100.4", "203.0.113.7", false},
		"a key, no client named": {proxyKey, "", "203.0.113.7", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(cfg *authsvc.Config) {
				cfg.TrustedProxies, cfg.ProxyKeys = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, []string{proxyKey}
			})
			b := w.Browser()
			b.IP, b.Header = "203.0.113.7:1", http.Header{}
			for header, v := range map[string]string{"X-Forwarded-For": c.forwarded, "Authsvc-Proxy-Key": c.key} {
				if v != "" {
					b.Header.Set(header, v)
				}
			}
			for range 2 {
				b.Post("/api/auth/signout", "csrfToken", "wrong") // audited with the address
			}
			logs := w.Logs.String()
			if !strings.Contains(logs, "client="+c.want+" ") || strings.Contains(logs, proxyKey) {
				t.Errorf("want %s, and no key, in\n%s", c.want, logs)
			}
			if got := strings.Count(logs, "not in proxy_keys"); got != map[bool]int{true: 1}[c.warned] {
				t.Errorf("%d warnings, want one: %t", got, c.warned)
			}
		})
	}
}

// TestProxyKeyConditions: a proxy's own address never meets a condition on networks.
func TestProxyKeyConditions(t *testing.T) {
	t.Parallel()
	home := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	for name, c := range map[string]struct {
		header http.Header
		in     bool
	}{
		"a client there":          {http.Header{}, true},
		"a client behind a proxy": {http.Header{"Authsvc-Proxy-Key": {proxyKey}, "X-Forwarded-For": {"203.0.113.9"}}, true},
		"a client elsewhere":      {http.Header{"Authsvc-Proxy-Key": {proxyKey}, "X-Forwarded-For": {"198.51.100.4"}}, false},
		"a client not named":      {http.Header{"Authsvc-Proxy-Key": {proxyKey}}, false},
		"an empty name":           {http.Header{"Authsvc-Proxy-Key": {proxyKey}, "X-Forwarded-For": {""}}, false},
		"no address as a name":    {http.Header{"Authsvc-Proxy-Key": {proxyKey}, "X-Forwarded-For": {"203.0.113.9, unknown"}}, false},
		"a trusted proxy's":       {http.Header{"Authsvc-Proxy-Key": {proxyKey}, "X-Forwarded-For": {"unknown, 203.0.113.200"}}, false},
		"no key, an empty name":   {http.Header{"X-Forwarded-For": {""}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(cfg *authsvc.Config) {
				cfg.ProxyKeys, cfg.SignIn.Allow = []string{proxyKey}, []authsvc.Condition{{Networks: home}}
				cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("203.0.113.200/32")}
			})
			b := w.Browser()
			b.IP, b.Header = "203.0.113.7:1", c.header
			b.SignIn(w.OP, "ada")
			if got := b.Email() != ""; got != c.in {
				t.Errorf("signed in: %t, want %t", got, c.in)
			}
		})
	}
}

// TestProxyKeyStaysHere: a program behind the gate never receives a proxy's key, not
// even if its host passes that header on.
func TestProxyKeyStaysHere(t *testing.T) {
	t.Parallel()
	var got http.Header
	s, _ := forwarding(t, func(c *authsvc.Config) {
		c.Gate.Hosts = []authsvc.GateHost{{Origin: "https://wiki.app.test", Default: authsvc.Allow{Anyone: true}, PassHeaders: []string{"Authsvc-Proxy-Key"}}}
	})
	guard := s.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	r := httptest.NewRequest("GET", "https://wiki.app.test/", nil)
	r.Header = http.Header{"Authsvc-Proxy-Key": {proxyKey}, "X-Other": {"1"}}
	guard.ServeHTTP(httptest.NewRecorder(), r)
	if len(got["Authsvc-Proxy-Key"]) != 0 || got.Get("X-Other") != "1" {
		t.Errorf("the program received %v", got)
	}
}

// TestForwardedOptions: a key must be strong and different from the service's secrets,
// and a forwarded host needs a proxy.
func TestForwardedOptions(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	for name, c := range map[string]struct {
		config authsvc.Config
		want   []string
	}{
		"a proxy":             {authsvc.Config{ForwardedHost: true, TrustedProxies: proxies}, nil},
		"a key":               {authsvc.Config{ForwardedHost: true, ProxyKeys: []string{proxyKey}}, nil},
		"keys":                {authsvc.Config{ProxyKeys: []string{proxyKey, olderKey}}, nil},
		"nobody":              {authsvc.Config{ForwardedHost: true}, []string{"ForwardedHost is set, but no proxy is trusted"}},
		"short":               {authsvc.Config{ProxyKeys: []string{proxyKey, proxyKey[:31]}}, []string{"ProxyKeys[1] has fewer than 32 bytes"}},
		"empty, and repeated": {authsvc.Config{ProxyKeys: []string{"", strings.Repeat("ab", 20)}}, []string{"ProxyKeys[0] has fewer than 32 bytes", "ProxyKeys[1] repeats few characters"}},
		"no header value":     {authsvc.Config{ProxyKeys: []string{proxyKey + "\n", "ä" + proxyKey, " " + proxyKey}}, []string{"ProxyKeys[0] has characters", "ProxyKeys[1] has characters", "ProxyKeys[2] has characters"}},
		"our secret":          {authsvc.Config{ProxyKeys: []string{arena.Secret}}, []string{"ProxyKeys[0] is also a secret of the service"}},
	} {
		c.config.URL, c.config.Secrets = arena.Origin, []string{arena.Secret}
		c.config.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}
		var got []string
		for _, e := range authsvc.ConfigErrors(engine.Check(c.config)) {
			got = append(got, e.Field+" "+e.Problem)
			if e.Fix == "" || strings.Contains(e.Error(), arena.Secret) || strings.Contains(e.Error(), proxyKey) {
				t.Errorf("%s: %v", name, e)
			}
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
