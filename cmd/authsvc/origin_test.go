package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
)

// A pingStore counts pings, and fails on demand.
type pingStore struct {
	*memory.Store
	pings int
	err   error
}

func (p *pingStore) Ping(context.Context) error {
	p.pings++
	return p.err
}

func newTestHandler(url string, store *pingStore) *originHandler {
	log := slog.New(slog.DiscardHandler)
	service, err := engine.New(authsvc.Config{URL: url, Secrets: []string{testSecret}, InternalHosts: []string{"auth.internal:3000"},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}})
	if err != nil {
		panic(err)
	}
	h := newOriginHandler(service, log)
	h.service = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h.ready.setPing(func(context.Context) error { return nil })
	if store != nil {
		h.ready.setPing(store.Ping)
	}
	return h
}

func serveRequest(f *originHandler, method, host, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// TestOriginHandlerInDev: in dev, a path outside the routes says where to sign in; 418 is
// the engine.
func TestOriginHandlerInDev(t *testing.T) {
	t.Parallel()
	const base = "http://localhost:8080/auth"
	h := newTestHandler(base, nil)
	for _, inDev := range []bool{true, false} {
		h.advises = inDev
		for target, outside := range map[string]bool{"/nope": true, "/authentic": true, "//": true, "/auth": false, "/auth/nope": false} {
			want := http.StatusTeapot
			if inDev && outside {
				want = http.StatusNotFound
			}
			w := serveRequest(h, "GET", "localhost:8080", target)
			if told := strings.Contains(w.Body.String(), "sign in at "+base+"/signin?callbackUrl="); w.Code != want || told != (want == http.StatusNotFound) {
				t.Errorf("dev %t, %s: %d %s", inDev, target, w.Code, w.Body)
			}
		}
		if w := serveRequest(h, "GET", "evil.example", "/nope"); w.Code != http.StatusMisdirectedRequest {
			t.Errorf("dev %t, another host: %d", inDev, w.Code)
		}
	}
}

// TestOriginHandler: which handler gets which request. 418 is the engine.
func TestOriginHandler(t *testing.T) {
	t.Parallel()
	const https, http8080 = "https://App.example.com/auth", "http://localhost:8080"
	for _, c := range []struct {
		url, method, host, target string
		status                    int
		location                  string
	}{
		{https, "GET", "app.example.com", "/auth/session", 418, ""},
		{https, "GET", "app.example.com:443", "/auth/session", 418, ""},
		{https, "GET", "APP.EXAMPLE.COM", "/auth/session", 418, ""},
		{https, "GET", "app.example.com:80", "/auth/session", 421, ""},
		{https, "GET", "app.example.com:8443", "/auth/session", 421, ""},
		{https, "POST", "evil.example", "/auth/signin/email", 421, ""},
		{https, "GET", "app.example.com.evil.example", "/", 421, ""},
		{https, "GET", "", "/auth/session", 421, ""},
		{https, "GET", "app.example.com", "/", 302, "https://app.example.com/auth/signin?callbackUrl=https%3A%2F%2Fapp.example.com%2Fauth%2Fsignin"},
		{https, "HEAD", "app.example.com", "/", 302, "https://app.example.com/auth/signin?callbackUrl=https%3A%2F%2Fapp.example.com%2Fauth%2Fsignin"},
		{https, "POST", "app.example.com", "/", 418, ""},
		{https, "GET", "app.example.com", "//", 418, ""},
		{https, "GET", "app.example.com", "/healthz/", 418, ""},
		{https, "GET", "app.example.com", "/favicon.ico", 204, ""},
		{https, "HEAD", "app.example.com", "/favicon.ico", 204, ""},
		{https, "POST", "app.example.com", "/favicon.ico", 418, ""},
		{https, "GET", "evil.example", "/favicon.ico", 421, ""},
		{https, "GET", "auth.internal:3000", "/", 418, ""},
		{https, "GET", "auth.internal:3000", "/favicon.ico", 418, ""},
		{https, "GET", "auth.internal:3000", "/auth/session", 418, ""},
		{https, "GET", "auth.internal", "/auth/session", 421, ""},
		{https, "GET", "auth.internal:3000.evil.example", "/auth/session", 421, ""},
		{https, "GET", "auth.internal:3000", "/healthz", 200, ""},
		{https, "GET", "auth.internal:3000", "/readyz", 200, ""},
		{https, "GET", "10.0.0.1:3000", "/healthz", 200, ""},
		{https, "HEAD", "10.0.0.1:3000", "/healthz", 200, ""},
		{https, "POST", "app.example.com", "/healthz", 405, ""},
		{https, "GET", "10.0.0.1:3000", "/readyz", 200, ""},
		{http8080, "GET", "localhost:8080", "/", 302, "http://localhost:8080/api/auth/signin?callbackUrl=http%3A%2F%2Flocalhost%3A8080%2Fapi%2Fauth%2Fsignin"},
		{http8080, "GET", "localhost", "/", 421, ""},
		{"http://localhost", "GET", "localhost:80", "/api/auth", 418, ""},
	} {
		w := serveRequest(newTestHandler(c.url, nil), c.method, c.host, c.target)
		if w.Code != c.status || w.Header().Get("Location") != c.location {
			t.Errorf("%s %s with Host %q: %d %s, want %d %s", c.method, c.target, c.host, w.Code, w.Header().Get("Location"), c.status, c.location)
		}
	}
}

// TestLogOfRefusedHosts: a scanner that names other hosts does not hide the line about
// people who open another port. Each line is written once.
func TestLogOfRefusedHosts(t *testing.T) {
	t.Parallel()
	h := newTestHandler("https://app.example.com", nil)
	var log bytes.Buffer
	h.log = slog.New(slog.NewTextHandler(&log, nil))
	for _, host := range []string{"192.0.2.1", "app.example.com:3500", "evil.example", "APP.example.com:80"} {
		serveRequest(h, "GET", host, "/")
	}
	for _, line := range []string{"for another host", "for another port"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%d lines %s:\n%s", n, line, &log)
		}
	}
}

// TestOtherNameOfThisMachine: a browser on this machine that uses another name of it gets
// a page with the address, whose style loads. No other client does, and nothing of the
// request is in the answer.
func TestOtherNameOfThisMachine(t *testing.T) {
	t.Parallel()
	const local, html = "127.0.0.1:5555", "text/html,application/xhtml+xml"
	for name, c := range map[string]struct {
		url, peer, host, method, accept string
		header                          string // one more header line
		page                            bool
	}{
		"browser":                  {host: "127.0.0.1:3500", page: true},
		"browser, IPv6":            {host: "[::1]:3500", peer: "[::1]:5555", page: true},
		"browser, mapped":          {host: "127.0.0.1:3500", peer: "[::ffff:127.0.0.1]:5555", page: true},
		"another port":             {host: "localhost:4000", page: true},
		"below localhost":          {host: "app.localhost:3500", page: true},
		"public address":           {url: "https://app.example.com", host: "localhost:3500", page: true},
		"its own host, by http":    {url: "https://app.example.com", host: "app.example.com:3500", peer: "192.0.2.7:5555", page: true},
		"the same, in capitals":    {url: "https://app.example.com", host: "APP.example.com:80", peer: "192.0.2.7:5555", page: true},
		"the same, by a proxy":     {url: "https://app.example.com", host: "app.example.com:3500", peer: "192.0.2.7:5555", header: "X-Forwarded-For: 192.0.2.8"},
		"the same, no https":       {url: "http://app.localhost:3500", host: "app.localhost:4000", peer: "192.0.2.7:5555"},
		"the same, a script":       {url: "https://app.example.com", host: "app.example.com:3500", peer: "192.0.2.7:5555", accept: "*/*"},
		"script":                   {host: "127.0.0.1:3500", accept: "*/*"},
		"fetch of a page":          {host: "127.0.0.1:3500", header: "Sec-Fetch-Mode: cors"},
		"frame":                    {host: "127.0.0.1:3500", header: "Sec-Fetch-Dest: iframe"},
		"post":                     {host: "127.0.0.1:3500", method: "POST"},
		"another machine":          {host: "127.0.0.1:3500", peer: "192.0.2.7:5555"},
		"another machine's name":   {host: "evil.example:3500"},
		"name like localhost":      {host: "localhost.evil.example:3500"},
		"name that begins with ip": {host: "127.0.0.1.evil.example:3500"},
		"no host":                  {host: ""},
		"markup":                   {host: "\"><script>alert(1)</script>"},
		"proxy":                    {host: "127.0.0.1:3500", header: "X-Forwarded-For: 192.0.2.7"},
		"proxy, Forwarded":         {host: "127.0.0.1:3500", header: "Forwarded: for=192.0.2.7"},
		"proxy, Via":               {host: "127.0.0.1:3500", header: "Via: 1.1 proxy"},
		"proxy, X-Forwarded-Host":  {host: "127.0.0.1:3500", header: "X-Forwarded-Host: evil.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := cmp.Or(c.url, "http://localhost:3500")
			h := newTestHandler(url, nil)
			ask := func(method, target, accept string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(method, target, nil)
				r.Host, r.RemoteAddr = c.host, cmp.Or(c.peer, local)
				r.Header.Set("Accept", accept)
				if name, value, ok := strings.Cut(c.header, ": "); ok {
					r.Header.Set(name, value)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w
			}
			w := ask(cmp.Or(c.method, "GET"), "/secret-path?callbackUrl=https://evil.example", cmp.Or(c.accept, html))
			body := w.Body.String()
			if w.Code != http.StatusMisdirectedRequest || !strings.Contains(w.Header().Get("Cache-Control"), "no-store") || w.Header().Get("Location") != "" || w.Header()["Set-Cookie"] != nil {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			for _, part := range []string{"secret-path", "evil.example", "alert(1)", "127.0.0.1:3500", "localhost:4000"} {
				if strings.Contains(body, part) {
					t.Errorf("the answer has %s of the request: %s", part, body)
				}
			}
			if !c.page {
				if got := w.Header().Get("Content-Type"); body != "this host is not served here" || got != "text/plain; charset=utf-8" {
					t.Errorf("%s %s", got, body)
				}
				return
			}
			for _, want := range []string{"This is served at " + url, `href="` + url + `"`} {
				if !strings.Contains(body, want) {
					t.Errorf("the page lacks %s: %s", want, body)
				}
			}
			style := regexp.MustCompile(`href="(/[^"]+\.css)"`).FindStringSubmatch(body)
			if style == nil {
				t.Fatalf("the page has no style: %s", body)
			}
			if w := ask("GET", style[1], "text/css"); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
				t.Errorf("the style: %d %v", w.Code, w.Header())
			}
		})
	}
}

// TestOriginHandlerForwarded: the X-Forwarded-Host of a trusted proxy stands for Host, also
// for the paths that the engine does not answer.
func TestOriginHandlerForwarded(t *testing.T) {
	t.Parallel()
	const proxy, client = "10.0.0.9:1", "203.0.113.7:1"
	for _, c := range []struct {
		peer, host, forwarded, target string
		forwards                      bool
		status                        int
	}{
		{proxy, "authsvc:3000", "app.example.com", "/api/auth/signin", true, 200}, {proxy, "authsvc:3000", "app.example.com", "/api/auth/signin", false, 421},
		{proxy, "authsvc:3000", "app.example.com", "/", true, 302}, {proxy, "authsvc:3000", "app.example.com", "/favicon.ico", true, 204},
		{proxy, "authsvc:3000", "app.example.com:8443", "/api/auth/signin", true, 421}, {proxy, "authsvc:3000", "evil.example", "/", true, 421},
		{client, "authsvc:3000", "app.example.com", "/api/auth/signin", true, 421}, {client, "app.example.com", "evil.example", "/api/auth/signin", true, 200},
		{proxy, "auth.internal", "app.example.com", "/api/auth/signin", true, 200}, {proxy, "auth.internal", "", "/api/auth/signin", true, 421},
		{proxy, "wiki.example.com", "app.example.com", "/", true, 401}, {proxy, "wiki.example.com", "app.example.com", "/api/auth/error", true, 421},
	} {
		service, err := engine.New(authsvc.Config{URL: "https://app.example.com", Secrets: []string{testSecret}, Logger: slog.New(slog.DiscardHandler),
			InternalHosts: []string{"auth.internal"}, ForwardedHost: c.forwards, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			Gate:      authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://wiki.example.com", Upstream: "http://127.0.0.1:9"}}},
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { service.Close(context.Background()) })
		r := httptest.NewRequest("GET", "http://"+c.host+c.target, nil)
		if r.RemoteAddr = c.peer; c.forwarded != "" {
			r.Header.Set("X-Forwarded-Host", c.forwarded)
		}
		w := httptest.NewRecorder()
		newOriginHandler(service, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if w.Code == http.StatusMisdirectedRequest && !strings.Contains(w.Header().Get("Cache-Control"), "no-store") {
			t.Errorf("%+v: a cache may keep the refusal for requests with another header: %v", c, w.Header())
		}
	}
}

// TestReadiness: readiness follows the store, which is asked at most once a second, and
// ends when the service is to stop. Liveness depends on nothing.
func TestReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &pingStore{Store: memory.New()}
		f := newTestHandler("https://app.example.com", store)
		expect := func(what string, ready, asked int) {
			t.Helper()
			if got := serveRequest(f, "GET", "x", "/readyz").Code; got != ready || store.pings != asked {
				t.Errorf("%s: %d after %d pings, want %d after %d", what, got, store.pings, ready, asked)
			}
			if got := serveRequest(f, "GET", "x", "/healthz").Code; got != 200 {
				t.Errorf("%s: not alive, %d", what, got)
			}
		}
		expect("first", 200, 1)
		store.err = errors.New("down")
		expect("remembered", 200, 1)
		time.Sleep(pingInterval)
		expect("down", 503, 2)
		store.err = nil
		expect("remembered", 503, 2)
		time.Sleep(pingInterval)
		expect("up", 200, 3)
		f.setUnready()
		expect("stopping", 503, 3)
	})
}

// TestRejectHostLogsOnce: a refused host is logged once, shortened, without its path.
func TestRejectHostLogsOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	f := newTestHandler("https://app.example.com", nil)
	f.log = slog.New(slog.NewTextHandler(&log, nil))
	for range 3 {
		serveRequest(f, "GET", strings.Repeat("a", 5000), "/auth/callback/x?code=private")
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || len(got) > 600 || strings.Contains(got, "private") {
		t.Errorf("log is %q", got)
	}
}

// TestIssuerMetadata: the metadata is at the path of RFC 8414 and below the base.
func TestIssuerMetadata(t *testing.T) {
	t.Parallel()
	for path, base := range map[string]string{"": "/api/auth", "/my/auth": "/my/auth"} {
		service, err := engine.New(authsvc.Config{URL: "https://app.example.com" + path, Secrets: []string{testSecret}, Logger: slog.New(slog.DiscardHandler),
			Tokens:    authsvc.TokenOptions{Audiences: []authsvc.Audience{{ID: "api"}}},
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}})
		if err != nil {
			t.Fatal(err)
		}
		h := newOriginHandler(service, slog.New(slog.DiscardHandler))
		below := serveRequest(h, "GET", "app.example.com", base+"/.well-known/openid-configuration")
		before := serveRequest(h, "GET", "app.example.com", "/.well-known/oauth-authorization-server"+base)
		if below.Code != 200 || below.Body.String() != before.Body.String() || !strings.Contains(below.Body.String(), `"issuer":"https://app.example.com`+base+`"`) {
			t.Errorf("%d %s\n%d %s", below.Code, below.Body, before.Code, before.Body)
		}
		for target, status := range map[string]int{"/.well-known/oauth-authorization-server": 404, "/.well-known/oauth-authorization-server" + base + "/": 404, "/.well-known/openid-configuration": 404} {
			if w := serveRequest(h, "GET", "app.example.com", target); w.Code != status {
				t.Errorf("%s: %d", target, w.Code)
			}
		}
		if w := serveRequest(h, "POST", "app.example.com", "/.well-known/oauth-authorization-server"+base); w.Code != 405 {
			t.Errorf("POST: %d", w.Code)
		}
		service.Close(t.Context())
	}
}
