package advisories

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/quiet"
)

var redirectAdvisories = []advisory{
	{"CVE-2022-24858", "look-alike origins as callbackUrl", leads(
		"https://app.test.evil.test", "https://app.test@evil.test", "https://app.testevil.test", "https://evil.test/https://app.test",
		"http://app.test/", "https://app.test:8443/", "https://evil.test?https://app.test", "https://evil.test#app.test")},
	{"CVE-2022-29214", "a separate code path bypasses the redirect function", everyWay},
	{"CVE-2022-31093", "a malformed callbackUrl hangs the route", malformedURL},
	{"CVE-2025-27143", "URLs without a scheme", leads(
		"//evil.test", "///evil.test", `/\evil.test`, `\/evil.test`, `\\evil.test`, "/\t/evil.test", "/\r/evil.test", "/%2f%2fevil.test/..;//evil.test", "https:evil.test", "https:/evil.test")},
	{"CVE-2020-4037 CVE-2020-11053", "blanks and control characters before the host", leads(
		" https://evil.test", "\x00//evil.test", "/\n/evil.test", "https://app.test\n.evil.test", "\u2028//evil.test", "https://app.test%0d%0a.evil.test", "java\tscript:alert(1)")},
	{"CVE-2021-21291 CVE-2025-71403", "a trusted host matches as a suffix", suffix},
	{"CVE-2024-52289", "the dots of an allowed URL match anything", dots},
	{"CVE-2024-56734", "the URL in a mailed link is not checked at GET", mailedLink},
	{"CVE-2023-6927 CVE-2024-8883 CVE-2018-14658", "wildcards, double encoding and dot segments", leads(
		"https://app.test/%2e%2e//evil.test@x", "https://app.test%252eevil.test", "https://*.app.test", "https://app.test%2f@evil.test", "https://app.test;.evil.test", "https://app.test\\@evil.test")},
	{"GHSA-vrw8-fxc6-2r93 CVE-2026-53523", "the Host header determines URLs", hostHeader},
	{"GHSA-3529-5m8x-rpv3 GHSA-93m4-mfpg-c3xf CVE-2025-64101", "forwarded headers determine the links in mails", forwardedLink},
}

// leads checks that no value leads to another site, and that a path works.
func leads(values ...string) func(*testing.T, *arena.World) {
	return func(t *testing.T, w *arena.World) {
		client := clients(w)
		for _, v := range values {
			b := client()
			to := b.Post("/api/auth/signout", "callbackUrl", v).Location()
			if u, err := url.Parse(to); to != "" && (err != nil || u.Scheme+"://"+u.Host != arena.Origin || u.User != nil) {
				t.Errorf("%q leads to %q", v, to)
			}
		}
		if to := client().Post("/api/auth/signout", "callbackUrl", "/in?a=b").Location(); to != arena.Origin+"/in?a=b" {
			t.Errorf("twin: %q", to)
		}
	}
}

// everyWay runs every kind of sign-in and sign-out.
func everyWay(t *testing.T, _ *arena.World) {
	w := arena.Start(t, func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		c.Providers = append(c.Providers, &authsvc.OAuth1{ID: "old", Name: "Old", Client: op.Client,
			RequestTokenURL: op.Issuer + "/oauth1/initiate", AuthorizationURL: op.Issuer + "/oauth1/authorize",
			AccessTokenURL: op.Issuer + "/oauth1/token", UserInfoURL: op.Issuer + "/oauth1/user", Fields: authsvc.Fields{ID: "token.user_id"}})
	})
	if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada"}, nil); err != nil {
		t.Fatal(err)
	}
	client := clients(w)
	mail := 0
	for name, way := range map[string]func(callback string) string{
		"OpenID":      func(v string) string { return client().SignIn(w.OP, "ada", "callbackUrl", v).Location() },
		"credentials": func(v string) string { return client().Login("ada", "callbackUrl", v).Location() },
		"sign-out":    func(v string) string { return client().Post("/api/auth/signout", "callbackUrl", v).Location() },
		"OAuth 1": func(v string) string {
			b := client()
			return b.Get(b.Approve(w.OP, b.Begin("old", "callbackUrl", v), "grace")).Location()
		},
		"mail": func(v string) string {
			b := client()
			mail++
			b.Post("/api/auth/signin/email", "email", strings.Repeat("m", mail)+"@app.test", "callbackUrl", v)
			return b.Get(arena.Link(t, w.Mail.Next(t))).Location()
		},
	} {
		for _, v := range []string{"https://evil.test/", "//evil.test", "https://app.test.evil.test"} {
			if to := way(v); to != arena.Origin {
				t.Errorf("%s: %q leads to %q", name, v, to)
			}
		}
		if to := way("/in"); to != arena.Origin+"/in" {
			t.Errorf("%s: twin: %q", name, to)
		}
	}
}

func malformedURL(t *testing.T, w *arena.World) {
	client := clients(w)
	for _, v := range []string{"%zz", "http://[", "http://[::1", "\x00", "\xff\xfe", "https://app.test:port", strings.Repeat("a", 60_000), "%"} {
		begun := time.Now()
		for _, path := range []string{"/api/auth/signin?callbackUrl=", "/api/auth/error?callbackUrl=", "/api/auth/signout?callbackUrl="} {
			if a := client().Get(path + url.QueryEscape(v)); a.StatusCode >= 500 {
				t.Errorf("%s%.20q: %d", path, v, a.StatusCode)
			}
		}
		if took := time.Since(begun); took > quiet.Limit(5*time.Second) {
			t.Errorf("%.20q took %v", v, took)
		}
	}
	if a := client().Get("/api/auth/signin?callbackUrl=/in"); a.StatusCode != 200 {
		t.Errorf("twin: %d", a.StatusCode)
	}
}

func suffix(t *testing.T, _ *arena.World) {
	w := arena.Start(t, func(c *authsvc.Config) { c.AllowedRedirects = []string{"https://partner.app.test"} })
	for v, want := range map[string]string{
		"https://evilpartner.app.test/":      arena.Origin,
		"https://partner.app.test.evil.test": arena.Origin,
		"https://x.partner.app.test/":        arena.Origin,
		"https://partner.app.test/in":        "https://partner.app.test/in",
	} {
		if to := clients(w)().Post("/api/auth/signout", "callbackUrl", v).Location(); to != want {
			t.Errorf("%s leads to %q, want %q", v, to, want)
		}
	}
}

func dots(t *testing.T, _ *arena.World) {
	w := arena.Start(t, func(c *authsvc.Config) { c.AllowedRedirects = []string{"https://my.partner.test"} })
	for v, want := range map[string]string{
		"https://myxpartner.test/":  arena.Origin,
		"https://my.partnerxtest/":  arena.Origin,
		"https://my.partner.test/a": "https://my.partner.test/a",
	} {
		if to := clients(w)().Post("/api/auth/signout", "callbackUrl", v).Location(); to != want {
			t.Errorf("%s leads to %q, want %q", v, to, want)
		}
	}
}

func mailedLink(t *testing.T, w *arena.World) {
	for v, want := range map[string]string{"https://evil.test/": arena.Origin, "/in": arena.Origin + "/in"} {
		b := clients(w)()
		b.Post("/api/auth/signin/email", "email", "ada@app.test")
		u := arena.MustURL(t, arena.Link(t, w.Mail.Next(t)))
		q := u.Query()
		q.Set("callbackUrl", v)
		u.RawQuery = q.Encode()
		if to := b.Get(u.String()).Location(); to != want {
			t.Errorf("%s leads to %q", v, to)
		}
	}
}

var poison = map[string]string{
	"X-Forwarded-Host": "evil.test", "X-Forwarded-Proto": "http", "X-Forwarded-Server": "evil.test", "X-Forwarded-Port": "8443",
	"X-Forwarded-Prefix": "/evil", "Forwarded": "host=evil.test;proto=http", "X-Original-Host": "evil.test", "X-Host": "evil.test",
	"X-Original-URL": "/evil", "X-Rewrite-URL": "/evil", "X-Forwarded-Uri": "/evil", "X_Forwarded_Host": "evil.test",
}

func hostHeader(t *testing.T, w *arena.World) {
	b := clients(w)()
	r := newRequest("GET", "https://evil.test/api/auth/providers")
	if a := b.Do(r); strings.Contains(a.Text+a.Location(), "evil.test") {
		t.Errorf("another host: %d %s", a.StatusCode, a.Text)
	}
	for name, v := range poison {
		b.Header.Set(name, v)
	}
	if a := b.Get("/api/auth/providers"); !strings.Contains(a.Text, arena.Origin+"/api/auth/callback/op") || strings.Contains(a.Text, "evil") {
		t.Errorf("providers: %s", a.Text)
	}
	if to := b.Begin("op"); arena.MustURL(t, to).Query().Get("redirect_uri") != arena.Origin+"/api/auth/callback/op" {
		t.Errorf("redirect_uri in %s", to)
	}
}

func forwardedLink(t *testing.T, w *arena.World) {
	b := clients(w)()
	for name, v := range poison {
		b.Header.Set(name, v)
	}
	if a := b.Post("/api/auth/signin/email", "email", "ada@app.test"); !strings.HasPrefix(a.Location(), arena.Origin+"/") {
		t.Errorf("leads to %s", a.Location())
	}
	m := w.Mail.Next(t)
	if l := arena.Link(t, m); !strings.HasPrefix(l, arena.Origin+"/api/auth/callback/email?") || strings.Contains(m.Text+m.HTML, "evil") {
		t.Errorf("the mail says %s", l)
	}
}
