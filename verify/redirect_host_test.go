package verify

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// redirectSpoofed returns headers that name another host or protocol.
func redirectSpoofed() map[string]string {
	return map[string]string{
		"X-Forwarded-Host":  "X-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Port: 81\r\n",
		"Forwarded":         "Forwarded: host=evil.test;proto=http\r\n",
		"others":            "X-Original-Url: /evil\r\nX-Rewrite-Url: /evil\r\nX-Host: evil.test\r\nX-Forwarded-Server: evil.test\r\nX-Original-Host: evil.test\r\nX-Forwarded-Prefix: /evil\r\n",
		"X-Forwarded-Proto": "X-Forwarded-Proto: http\r\nX-Forwarded-Ssl: off\r\nFront-End-Https: off\r\n",
	}
}

func redirect06(t *T) {
	w := t.Enter(nil)
	wire := redirectWire(t, w)
	type cell struct{ target, host, more string } // target precedes the path
	cells := map[string]cell{
		"Host evil.test":          {host: "evil.test"},
		"Host with a port":        {host: "app.test:444"},
		"Host with credentials":   {host: "app.test@evil.test"},
		"Host look-alike":         {host: "app.test.evil.test"},
		"absolute form":           {target: "http://evil.test", host: "app.test"},
		"absolute form, our host": {target: "http://app.test", host: "evil.test"},
		"two Hosts":               {host: "app.test", more: "Host: evil.test\r\n"},
		"no Host":                 {},
	}
	for name, more := range redirectSpoofed() {
		cells[name] = cell{host: "app.test", more: more}
	}
	i := 0
	for name, c := range cells {
		i++
		b := w.Browser()
		token := b.CSRF()
		post := func(path string, fields url.Values) *browser.Answer {
			return wire(redirectPost(b, c.target+path, c.host, c.more, with(fields, "csrfToken", token)))
		}
		a := post("/api/auth/signin/op", nil)
		if a.StatusCode == http.StatusBadRequest && slices.Contains([]string{"two Hosts", "no Host", "Host with credentials"}, name) {
			continue // net/http refuses it
		}
		if got := arena.MustURL(t, a.Location()).Query().Get("redirect_uri"); got != arena.Origin+"/api/auth/callback/op" {
			t.Errorf("%s: redirect_uri %q, status %d", name, got, a.StatusCode)
		}
		to := fmt.Sprintf("p%d@app.test", i)
		if a := post("/api/auth/signin/email", url.Values{"email": {to}}); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/verify-request") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
		}
		m := w.Mail.Next(t)
		if m.To != to || strings.Contains(m.Text+m.HTML+m.Subject, "evil") || !strings.HasPrefix(arena.Link(t, m), arena.Origin+"/api/auth/callback/email?") {
			t.Errorf("%s: mail %+v", name, m)
		}
		for _, path := range []string{"/api/auth/signin", "/api/auth/providers"} {
			if page := wire(redirectHead("GET", b, c.target+path, c.host, c.more)); page.StatusCode != 200 || strings.Contains(page.Text+page.Location(), "evil") {
				t.Errorf("%s: %s: %d %s", name, path, page.StatusCode, page.Text)
			}
		}
	}
	if t.Mode == modeNone {
		redirectMisdirected(t)
	}
}

// redirectMisdirected checks that the binary serves no host except its own origin's.
func redirectMisdirected(t *T) {
	const inner = "auth.internal:3000"
	p := process.Serve(t, process.NewNeighbours(t).YAML("internal_hosts: ["+inner+"]"), "AUTHSVC_STORAGE_URL=memory:")
	b := &arena.Browser{}
	for _, line := range []string{"GET /", "GET /favicon.ico", "GET /api/auth/signin", "GET /api/auth/csrf", "POST /api/auth/session", "GET /api/auth/session/"} {
		method, path, _ := strings.Cut(line, " ")
		if a := redirectDial(t, p.Addr, redirectHead(method, b, path, inner, "")); a.StatusCode != http.StatusMisdirectedRequest || len(a.Cookies()) != 0 {
			t.Errorf("%s at the internal host: %d", line, a.StatusCode)
		}
	}
	for _, path := range []string{"/api/auth/session", "/healthz", "/readyz"} {
		if a := redirectDial(t, p.Addr, redirectHead("GET", b, path, inner, "")); a.StatusCode != http.StatusOK || strings.Contains(a.Text, inner) {
			t.Errorf("twin: %s at the internal host: %d %s", path, a.StatusCode, a.Text)
		}
	}
	for name, host := range map[string]string{"evil": "evil.test", "suffix": p.Addr + ".evil.test", "port": "127.0.0.1:1", "name": "localhost"} {
		for _, path := range []string{"/", "/api/auth/signin", "/api/auth/csrf"} {
			if a := redirectDial(t, p.Addr, redirectHead("GET", b, path, host, "")); a.StatusCode != http.StatusMisdirectedRequest || len(a.Cookies()) != 0 {
				t.Errorf("Host %s at %s: %d", name, path, a.StatusCode)
			}
		}
	}
	if a := redirectDial(t, p.Addr, redirectHead("GET", b, "/api/auth/signin", p.Addr, "Host: evil.test\r\n")); a.StatusCode != http.StatusBadRequest {
		t.Errorf("two Hosts: %d", a.StatusCode)
	}
	if a := redirectDial(t, p.Addr, redirectHead("GET", b, "/api/auth/signin", p.Addr, "X-Forwarded-Host: evil.test\r\n")); a.StatusCode != 200 || strings.Contains(a.Text, "evil") {
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
}

// redirect07 sends each spoof from a stranger and from a trusted proxy.
func redirect07(t *T) {
	w := t.Enter(func(c *authsvc.Config) { c.TrustedProxies = redirectProxies() })
	for name, more := range redirectSpoofed() {
		for _, peer := range []string{"203.0.113.7:1", "10.0.0.1:1"} {
			b := w.Browser()
			b.IP = peer
			for line := range strings.SplitSeq(strings.TrimSpace(more), "\r\n") {
				header, v, _ := strings.Cut(line, ": ")
				b.Header.Set(header, v)
			}
			var all []*http.Cookie
			for _, path := range []string{"/signin", "/csrf", "/signout"} {
				all = append(all, b.Get("/api/auth"+path).Cookies()...)
			}
			start := b.Post("/api/auth/signin/op")
			all = append(all, start.Cookies()...)
			all = append(all, b.Get(b.Approve(w.OP, start.Location(), "ada")).Cookies()...)
			if b.Email() == "" {
				t.Errorf("twin: %s: no sign-in", name)
			}
			for _, c := range append(all, b.Post("/api/auth/signout").Cookies()...) {
				if !c.Secure || !strings.HasPrefix(c.Name, "__Host-") && (t.Mode == modeNone || !strings.HasPrefix(c.Name, "__Secure-")) {
					t.Errorf("%s from %s: cookie %s, secure %v", name, peer, c.Name, c.Secure)
				}
			}
		}
	}
}

// redirect17 checks that a path matches exactly or not at all.
func redirect17(t *T) {
	w := t.Enter(nil)
	wire := redirectWire(t, w)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	form := url.Values{"csrfToken": {b.CSRF()}}
	paths := []string{"/api/auth/../auth/signout", "/api/auth//signout", "//api/auth/signout", "/api//auth/signout", "/api/auth/signout/", "/api/auth/signout;x", "/api/auth;x/signout", "/API/AUTH/signout", "/api/auth/SIGNOUT",
		"/api/auth/%73ignout", "/api/auth/%2e%2e/auth/signout", "/api/auth/%2E/signout", "/api/auth/signout%00", "/api/auth/signout%2f", "/api/auth%2fsignout", "/api/auth/./signout", "/api/auth/signout/.", "/api/auth/signin/../signout",
		"/api/auth/signout%20", "/api/auth/signout%0a", "/api/auth/signout%09", "/api/auth/signout.", "/api/auth/signout%3f", "/api/auth/signout%23", "/api/auth\\signout", "/api/auth/signout%5c", "/api/auth", "/api/auth/", "/api/authsignout", "/signout",
		"/api/auth/signout/op", "/api/auth/callback/op/../../signout", "/api/auth/callback/apple%2f..%2f..%2fsignout", "/api/auth/signin/%6fp", "/api/auth/signin/op%2f", "/api/auth/signin/op/", "/api/auth/signin/..%2fsignout", "/api/auth/signin/OP", "/api/auth/callback/%63redentials"}
	for _, path := range append(paths, redirectPaths(t.Scale("random paths", 200, 1500, 200_000))...) {
		w.NoEffect(t, b, func() *browser.Answer { return wire(redirectPost(b, path, "app.test", "", form)) })
		foreign := redirectPost(b, path, "app.test", "Sec-Fetch-Site: cross-site\r\nOrigin: https://evil.test\r\n", form)
		w.NoEffect(t, b, func() *browser.Answer { return wire(foreign) })
	}
	if a := wire(redirectPost(b, "/api/auth/signout", "app.test", "", form)); a.Location() != arena.Origin || w.Person(t, b) != "" {
		t.Errorf("twin: %d %s", a.StatusCode, a.Location())
	}
}
