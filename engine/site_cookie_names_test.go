package engine_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestCookieNames: names accepted at the start work for every POST, including chunks.
// Other names are refused at the start.
func TestCookieNames(t *testing.T) {
	t.Parallel()
	const http, https = "http://localhost:3000", "https://app.example.com"
	for name, c := range map[string]struct {
		url     string
		compat  authsvc.Compat
		cookies authsvc.CookieOptions
		key     string // of the mistake
		problem string
	}{
		"begins like csrf":              {url: https, cookies: authsvc.CookieOptions{Session: "__Host-auth"}},
		"csrf begins with it":           {url: https, cookies: authsvc.CookieOptions{Session: "__Host-sid", CSRF: "__Host-sid_csrf"}},
		"all begin with it":             {url: https, cookies: authsvc.CookieOptions{Session: "__Host-s", CSRF: "__Host-s-csrf", CallbackURL: "__Host-s0"}},
		"over http":                     {url: http, cookies: authsvc.CookieOptions{Session: "auth"}},
		"compat":                        {url: https, compat: authsvc.NextAuthV4, cookies: authsvc.CookieOptions{Session: "__Host-next-auth.c"}},
		"session begins with csrf":      {url: https, cookies: authsvc.CookieOptions{Session: "__Host-authsvc.csrf.session"}},
		"defaults":                      {url: https},
		"prefix of one's own":           {url: https, cookies: authsvc.CookieOptions{Prefix: "My_app-2"}},
		"prefix over http":              {url: http, cookies: authsvc.CookieOptions{Prefix: "blog"}},
		"prefix, domain":                {url: https, cookies: authsvc.CookieOptions{Prefix: "blog", Domain: "example.com"}},
		"prefix, compat":                {url: https, compat: authsvc.AuthJSV5, cookies: authsvc.CookieOptions{Prefix: "blog"}},
		"prefix of 32":                  {url: https, cookies: authsvc.CookieOptions{Prefix: strings.Repeat("x", 32)}},
		"prefix of 33":                  {https, "", authsvc.CookieOptions{Prefix: strings.Repeat("x", 33)}, "Cookies.Prefix", "cannot begin cookie names"},
		"prefix with a dot":             {https, "", authsvc.CookieOptions{Prefix: "a.b"}, "Cookies.Prefix", `"a.b" cannot begin cookie names`},
		"prefix of browsers":            {https, "", authsvc.CookieOptions{Prefix: "__Host-a"}, "Cookies.Prefix", "cannot begin cookie names"},
		"prefix with a space":           {https, "", authsvc.CookieOptions{Prefix: "a b"}, "Cookies.Prefix", "cannot begin cookie names"},
		"prefix, a name of it":          {https, "", authsvc.CookieOptions{Prefix: "blog", Session: "__Host-blog"}, "Cookies", "__Host-blog and __Host-blog.csrf"},
		"prefix, the usual name":        {url: https, cookies: authsvc.CookieOptions{Prefix: "blog", Session: "__Host-authsvc"}},
		"with a dot":                    {https, "", authsvc.CookieOptions{Session: "__Host-authsvc"}, "Cookies", "__Host-authsvc and __Host-authsvc.csrf"},
		"a chunk's name":                {https, "", authsvc.CookieOptions{Session: "__Host-a", CSRF: "__Host-a.0"}, "Cookies", "__Host-a and __Host-a.0"},
		"one for two":                   {https, "", authsvc.CookieOptions{CSRF: "__Host-a", CallbackURL: "__Host-a"}, "Cookies", "__Host-a and __Host-a"},
		"session for csrf":              {https, "", authsvc.CookieOptions{CSRF: "__Host-authsvc.session"}, "Cookies", "__Host-authsvc.session and __Host-authsvc.session"},
		"an attempt's, csrf":            {https, "", authsvc.CookieOptions{CSRF: "__Host-authsvc.tx.csrf"}, "Cookies", "__Host-authsvc.tx. and __Host-authsvc.tx.csrf"},
		"an attempt's, session":         {https, "", authsvc.CookieOptions{Session: "__Host-authsvc.tx.s"}, "Cookies", "__Host-authsvc.tx. and"},
		"before the attempts'":          {https, "", authsvc.CookieOptions{Session: "__Host-authsvc.tx"}, "Cookies", "__Host-authsvc.tx and __Host-authsvc.tx."},
		"no name":                       {https, "", authsvc.CookieOptions{CSRF: "a b"}, "Cookies.CSRF", "is not a cookie name"},
		"browsers' prefix over http":    {http, "", authsvc.CookieOptions{CSRF: "__Host-a"}, "Cookies.CSRF", "over https only"},
		"prefix in lower case":          {http, "", authsvc.CookieOptions{CSRF: "__host-a"}, "Cookies.CSRF", "over https only"},
		"prefix and domain":             {https, "", authsvc.CookieOptions{Session: "__HOST-a", Domain: "example.com"}, "Cookies.Session", "excludes a domain"},
		"domain":                        {url: https, cookies: authsvc.CookieOptions{Domain: "example.com"}},
		"domain with a dot":             {url: https, cookies: authsvc.CookieOptions{Domain: ".example.com"}},
		"domain, public suffix":         {"https://app.co.uk", "", authsvc.CookieOptions{Domain: "co.uk"}, "Cookies.Domain", "public suffix"},
		"domain, private public suffix": {"https://me.github.io", "", authsvc.CookieOptions{Domain: "github.io"}, "Cookies.Domain", "public suffix"},
		"domain, public suffix, a dot":  {"https://me.github.io", "", authsvc.CookieOptions{Domain: ".github.io"}, "Cookies.Domain", "public suffix"},
		"domain, below a public suffix": {url: "https://auth.app.co.uk", cookies: authsvc.CookieOptions{Domain: "app.co.uk"}},
		"domain of another site":        {https, "", authsvc.CookieOptions{Domain: "example.org"}, "Cookies.Domain", "does not cover"},
		"domain, top level":             {https, "", authsvc.CookieOptions{Domain: "com"}, "Cookies.Domain", "does not cover"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tune := func(config *authsvc.Config) { config.URL, config.Compat, config.Cookies = c.url, c.compat, c.cookies }
			if c.key != "" {
				config := arena.EnterOffline(t, nil).Config
				tune(&config)
				_, err := engine.New(config)
				if list := authsvc.ConfigErrors(err); len(list) != 1 || list[0].Field != c.key || !strings.Contains(list[0].Problem, c.problem) {
					t.Errorf("mistakes: %v", err)
				}
				return
			}
			plain := strings.NewReplacer("__Host-", "", "__Secure-", "")
			ours := []string{cmp.Or(c.cookies.Prefix, "authsvc") + "."}
			if c.compat != authsvc.CompatNone {
				ours = append(ours, "next-auth.", "authjs.")
			}
			for _, given := range []string{c.cookies.Session, c.cookies.CSRF, c.cookies.CallbackURL} {
				if given != "" {
					ours = append(ours, plain.Replace(given))
				}
			}
			for name := range namesServe(t, tune) {
				if !slices.ContainsFunc(ours, func(own string) bool { return strings.HasPrefix(plain.Replace(name), own) }) {
					t.Errorf("cookie %s, want names that begin with %q", name, ours)
				}
			}
		})
	}
}

// namesServe goes through the POSTs with small and large sessions. It returns the names
// of all cookies.
func namesServe(t *testing.T, tune func(*authsvc.Config)) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, user := range []string{"ada", strings.Repeat("x", 1500)} {
		w := arena.EnterOffline(t, func(config *authsvc.Config) { config.Session.Strategy = "jwt"; tune(config) })
		b := w.Browser()
		if a := b.Login(user, "callbackUrl", "/in"); a.StatusCode != http.StatusFound || a.Location() != b.Origin+"/in" {
			t.Fatalf("sign-in: %d %s\n%s", a.StatusCode, a.Location(), w.Logs)
		}
		for name := range b.Cookies {
			names[name] = true
		}
		if b.Email() != user+"@app.test" {
			t.Fatalf("signed in as %q", b.Email())
		}
		if a := b.Post("/api/auth/session", "data", "x"); a.StatusCode != http.StatusOK {
			t.Errorf("POST session: %d", a.StatusCode)
		}
		a := b.Post("/api/auth/signout", "callbackUrl", "/")
		if a.Location() != b.Origin+"/" || b.Email() != "" {
			t.Errorf("sign-out: %d %s, still %q", a.StatusCode, a.Location(), b.Email())
		}
		gone := slices.DeleteFunc(a.Header["Set-Cookie"], func(l string) bool { return !strings.Contains(l, "Max-Age=0") })
		if want := 1 + len(user)/1000; len(gone) != want { // its chunks, and no cookies whose names only begin alike
			t.Errorf("sign-out expires %q", gone)
		}
	}
	return names
}
