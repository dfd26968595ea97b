package verify

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc/internal/test/browser"
)

// A brokenGate is a configuration mistake and its outcome for a person. Pairs hold a
// documented text and its replacement.
type brokenGate struct {
	proxies map[string][]string
	yaml    []string
	nobody  bool   // the person does not sign in first
	login   string // where the person signs in first; site if empty
	status  int
	says    string // text of the page
	logs    string
	tune    func(b *browser.Browser, s *gatedSite)

	presses    bool        // the person presses the button on the sign-in page
	behind     bool        // the service's clock is an hour behind the person's
	byHTTP     bool        // the person arrives by http
	inChromium *brokenGate // the outcome in Chromium, if it differs
}

const (
	nginxAsked   = "proxy_set_header X-Forwarded-Uri $request_uri;"
	nginxRoutes  = "location ^~ /api/auth/ {"
	loginSite    = "https://login.example.com"
	caddyAsked   = "uri /api/auth/gate/forward-auth"
	haproxyAsks  = "http-request lua.authsvc 127.0.0.1:3000 /api/auth unless { path_beg /api/auth/ }"
	haproxyOurs  = "use_backend authsvc if { path_beg /api/auth/ }"
	haproxyNames = "http-request set-header Host app.example.com"
	traefikAsks  = "address: http://127.0.0.1:3000/api/auth/gate/forward-auth\n"
	traefikOurs  = "PathPrefix(`/api/auth/`)\", service: authsvc,"
	cachesAll    = "proxy_cache all; proxy_cache_key $uri$request_uri; proxy_cache_valid any 1h; proxy_ignore_headers Cache-Control Expires Set-Cookie Vary;"
)

// nginxLast ends the documented file.
const nginxLast = "proxy_set_header X-Auth-Groups  $gate_groups;\n    }\n}\n"

// nginxToLogin leads a location to authsvc.
func nginxToLogin(host, more string) string {
	return "{ proxy_pass http://authsvc; proxy_set_header Host " + host + "; proxy_set_header Connection \"\"; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_buffer_size 8k; " + more + " }\n    "
}

// everywhere returns a mistake in authsvc.yaml.
func everywhere() map[string][]string {
	return map[string][]string{"nginx": nil, "haproxy": nil, "caddy": nil, "traefik": nil}
}

// brokenGates returns mistakes that cause redirect loops at gates.
func brokenGates() map[string]brokenGate {
	noCookies := map[string][]string{
		"nginx": {nginxAsked, nginxAsked + ` proxy_set_header Cookie "";`}, "caddy": {caddyAsked, caddyAsked + "\nheader_up -Cookie"},
		"haproxy": {haproxyAsks, "http-request del-header Cookie unless { path_beg /api/auth/ }\n    " + haproxyAsks},
		"traefik": {traefikAsks, traefikAsks + "        authRequestHeaders: [Accept, Sec-Fetch-Mode, Sec-Fetch-Dest]\n"}}
	dropped := map[string][]string{"nginx": {nginxRoutes, "location = /api/auth/gate/enter " + nginxToLogin("app.example.com", "proxy_hide_header Set-Cookie;") + nginxRoutes,
		nginxLast, nginxLast + "server {\n    listen 443 ssl;\n    server_name login.example.com;\n    " + nginxTLS + "\n    location / " + nginxToLogin("login.example.com", "") + "}\n"}}
	oneName := map[string][]string{"nginx": nil, "haproxy": {"    http-request deny unless app\n", "", haproxyNames + " if app", haproxyNames}}
	return map[string]brokenGate{
		"the check gets no Cookie": {proxies: noCookies, status: 502, says: "must pass the Cookie header on", logs: "pass the Cookie header on to it"},
		"a header is missing": {proxies: map[string][]string{"nginx": {nginxAsked, ""}, "caddy": {caddyAsked, caddyAsked + "\nheader_up -X-Forwarded-Uri"}},
			status: 400, says: "must let the proxy set X-Forwarded-Method", logs: "it must set them"},
		"a header is doubled": {proxies: map[string][]string{"traefik": {traefikAsks, traefikAsks + "        trustForwardHeader: true\n", "middlewares: [authsvc]", "middlewares: [twice, authsvc]", "  middlewares:\n", "  middlewares:\n    twice: {headers: {customRequestHeaders: {X-Forwarded-Host: \"app.example.com, app.example.com\"}}}\n"}, "nginx": {"X-Forwarded-Host app.example.com;", `X-Forwarded-Host "app.example.com, app.example.com";`}, "caddy": {caddyAsked, caddyAsked + "\nheader_up X-Forwarded-Uri \"/dash, /dash\""}},
			status: 400, says: "or names two", logs: "it must set them"},
		"the name of an inner hop": {proxies: map[string][]string{"traefik": {traefikAsks, traefikAsks + "        trustForwardHeader: true\n", "middlewares: [authsvc]", "middlewares: [inner, authsvc]", "  middlewares:\n", "  middlewares:\n    inner: {headers: {customRequestHeaders: {X-Forwarded-Host: inner.test:8080}}}\n"}, "nginx": {"X-Forwarded-Host app.example.com;", "X-Forwarded-Host inner.test:8080;"}, "caddy": {caddyAsked, caddyAsked + "\nheader_up X-Forwarded-Host inner.test:8080"}},
			status: 403, says: "inner.test:8080", logs: "host=inner.test:8080"},
		"the proxy is not trusted": {proxies: everywhere(), yaml: []string{"[127.0.0.1/32]", "[192.0.2.0/24]"}, status: 403, says: "must add the proxy’s address", logs: "the client is not in gate.proxies"},
		"the host is not configured": {proxies: everywhere(), yaml: []string{"- origin: " + site, "- origin: https://other.example.com", "gate:", "cookies: {domain: example.com}\ngate:"},
			status: 403, says: "app.example.com", logs: "host=app.example.com"},
		"url of another host": {proxies: oneName, nobody: true, status: 403, says: "under the name of another host", logs: "url=" + loginSite + " host=" + site,
			yaml: []string{"url: " + site, "url: " + loginSite}},
		"url of another host, with its cookies": {proxies: oneName, nobody: true, status: 403, says: "under the name of another host", logs: "url=" + loginSite + " host=" + site,
			yaml: []string{"url: " + site, "url: " + loginSite, "gate:", "cookies: {domain: example.com}\ngate:"}},
		"the host by http": {proxies: everywhere(), byHTTP: true, status: 200, says: `"Target":"/dash"`, tune: func(b *browser.Browser, s *gatedSite) { b.Base = strings.Replace(site, "https", "http", 1) }},
		"our routes do not lead to us": {proxies: map[string][]string{"nginx": {nginxRoutes, "location ^~ /nowhere/ {"}, "caddy": {"handle /api/auth/*", "handle /nowhere/*"},
			"traefik": {traefikOurs, strings.Replace(traefikOurs, "/api/auth/", "/nowhere/", 1)},
			"haproxy": {haproxyAsks, strings.Replace(haproxyAsks, "{ path_beg /api/auth/", "{ path_beg /nowhere/", 1), haproxyOurs, "use_backend authsvc if { path_beg /nowhere/ }"}},
			nobody: true, status: 403, says: "pass these addresses on to us without a sign-in check", logs: "a proxy asks about authsvc's own routes"},
		"our routes are behind the gate": {proxies: map[string][]string{"nginx": {nginxRoutes, nginxRoutes + " auth_request /_gate; error_page 401 403 500 = @denied;"},
			"traefik": {traefikOurs, traefikOurs + " middlewares: [authsvc],"},
			"caddy":   {"handle /api/auth/* {", "handle /api/auth/* {\nforward_auth 127.0.0.1:3000 {\nuri /api/auth/gate/forward-auth\n}"}, "haproxy": {haproxyAsks, strings.SplitN(haproxyAsks, " unless", 2)[0]}},
			nobody: true, status: 403, says: "pass these addresses on to us without a sign-in check", logs: "a proxy asks about authsvc's own routes"},
		"nginx without error_page": {proxies: map[string][]string{"nginx": {"error_page 401 403 500 = @denied;", ""}}, nobody: true, status: 401, says: "401"},
		"the check is cached": {proxies: map[string][]string{"nginx": {"upstream authsvc {", "proxy_cache_path {cache} keys_zone=all:1m;\nupstream authsvc {", "internal;", "internal; " + cachesAll, "location @denied {", "location @denied { " + cachesAll}},
			status: 502, says: "must not cache its answers", logs: "or its answers are cached"},
		"Set-Cookie is dropped": {proxies: map[string][]string{"nginx": {nginxRoutes, nginxRoutes + " proxy_hide_header Set-Cookie;"}, "traefik": {traefikOurs, traefikOurs + " middlewares: [dropped],", "  middlewares:\n", "  middlewares:\n    dropped: {headers: {customResponseHeaders: {Set-Cookie: \"\"}}}\n"}, "caddy": {"handle /api/auth/* {\n\t\treverse_proxy 127.0.0.1:3000", "handle /api/auth/* {\n\t\treverse_proxy 127.0.0.1:3000 {\nheader_down -Set-Cookie\n}"}},
			nobody: true, status: 200, says: "cookies are blocked by the browser or a proxy", presses: true, tune: pressesOn},
		"Set-Cookie of gate/enter is dropped": {proxies: dropped, login: loginSite, status: 400, says: "a proxy may remove the Set-Cookie header", logs: "a proxy drops Set-Cookie of gate/enter", yaml: []string{"url: " + site, "url: " + loginSite}},
		"clocks an hour apart":                {proxies: everywhere(), nobody: true, status: 200, says: "cookies are blocked by the browser or a proxy", behind: true, presses: true, inChromium: &brokenGate{status: 200, says: `"Target":"/dash"`}, tune: func(b *browser.Browser, s *gatedSite) { b.Client.Jar = ahead{b.Client.Jar}; pressesOn(b, s) }},
		"the same, without Cookie": {proxies: noCookies, behind: true, status: 502, says: "must pass the Cookie header on", logs: "pass the Cookie header on to it",
			tune: func(b *browser.Browser, _ *gatedSite) { b.Client.Jar = ahead{b.Client.Jar} }},
	}
}

// ahead keeps cookies with a clock that is an hour ahead.
type ahead struct{ http.CookieJar }

func (j ahead) SetCookies(u *url.URL, list []*http.Cookie) {
	var kept []*http.Cookie
	for _, c := range list {
		if c.MaxAge > 0 || c.Expires.IsZero() || c.Expires.After(time.Now().Add(time.Hour)) {
			kept = append(kept, c)
		}
	}
	j.CookieJar.SetCookies(u, kept)
}

// pressesOn makes a person press the button of a sign-in page whose cookies do not
// come back. The provider is unreachable.
func pressesOn(b *browser.Browser, s *gatedSite) {
	inner := b.Client.Transport
	b.Client.Transport = pressing{inner, s.origin}
}

// pressing answers the sign-in page, when it is opened from the gate, with the target
// of its form.
type pressing struct {
	http.RoundTripper
	origin string
}

func (p pressing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/api/auth/signin" && r.URL.Query().Get("callbackUrl") != "" && r.URL.Query().Get("csrf") == "" {
		form := strings.NewReader(url.Values{"csrfToken": {"without a cookie"}, "callbackUrl": {r.URL.Query().Get("callbackUrl")}}.Encode())
		post, err := http.NewRequestWithContext(r.Context(), "POST", p.origin+"/api/auth/signin/op", form)
		if err != nil {
			return nil, err
		}
		post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		post.Header.Set("Origin", p.origin)
		return p.RoundTripper.RoundTrip(post)
	}
	return p.RoundTripper.RoundTrip(r)
}

// gate13 checks that no mistake causes a redirect loop.
func gate13(t *T) {
	most := 0
	for name, broken := range brokenGates() {
		t.Run(name, func(t *T) {
			eachGateProxy(t, func(t *T, program string) {
				pairs, there := broken.proxies[program]
				if !there {
					return
				}
				dir := t.TempDir()
				tune := gateTune{yaml: broken.yaml}
				for _, text := range pairs {
					tune.proxy = append(tune.proxy, strings.Replace(text, "{cache}", dir, 1))
				}
				s := startGated(t, program, tune)
				most = max(most, endsWell(t, s, &broken))
			})
		})
	}
	t.Figure("%d redirects at most", most)
}

// endsWell follows redirects as browsers do and returns their number.
func endsWell(t *T, s *gatedSite, broken *brokenGate) (redirects int) {
	b := s.person()
	b.Client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.proxy.Dial(ctx, "127.0.0.1") }
	if !broken.nobody {
		s.visit(t, b, "/dash") // what a cache keeps
		if a := s.visit(t, b, "/api/auth/gate/start?to=%2Fdash"); a.StatusCode == http.StatusFound {
			s.visit(t, b, strings.TrimPrefix(a.Location(), s.origin))
		}
		b.Base = cmp.Or(broken.login, site)
		if err := b.SignIn(s.OP, "ada"); err != nil && (broken.status == 502 || broken.login != "") {
			t.Fatal(err)
		}
		b.Base = site
	}
	if broken.tune != nil {
		broken.tune(b, s)
	}
	for at := b.Base + "/dash"; ; redirects++ {
		r, err := http.NewRequestWithContext(t.Context(), "GET", at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Accept": {"text/html"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
		a, err := b.Do(r)
		if err != nil {
			t.Fatalf("%s after %d redirects: %v", at, redirects, err)
		}
		if a.StatusCode == http.StatusFound && redirects < 20 {
			at = a.Location()
			continue
		}
		for deadline := time.Now().Add(patience); !strings.Contains(s.Logs.String(), broken.logs) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		}
		if a.StatusCode != broken.status || redirects > 6 || !strings.Contains(a.Text, broken.says) || !strings.Contains(s.Logs.String(), broken.logs) {
			t.Errorf("%s after %d redirects: %d\n%.1500s", at, redirects, a.StatusCode, a.Text)
		}
		if broken.status == http.StatusUnauthorized && a.Header.Get("WWW-Authenticate") != `Cookie realm="authsvc"` {
			t.Errorf("WWW-Authenticate %q", a.Header.Get("WWW-Authenticate"))
		}
		return redirects
	}
}
