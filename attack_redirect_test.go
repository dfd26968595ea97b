package authsvc_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"authsvc"
)

const partner = "https://partner.test:8444"

// vectors reads testdata/redirects.txt.
func vectors(t *testing.T) (refuse, allow []string) {
	t.Helper()
	f, err := os.Open("testdata/redirects.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		word, literal, _ := strings.Cut(lines.Text(), " ")
		if word == "#" {
			continue
		}
		v, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if word == "allow" {
			allow = append(allow, v)
		} else {
			refuse = append(refuse, v)
		}
	}
	if len(refuse)+len(allow) < 400 {
		t.Fatalf("only %d vectors", len(refuse)+len(allow))
	}
	return refuse, allow
}

// harmless reports whether a browser that is sent to the address lands on an
// allowed origin: it is absolute, begins with the origin in canonical spelling,
// and holds nothing that parsers read differently.
func harmless(to string) bool {
	for _, o := range []string{origin, partner} {
		if rest, ok := strings.CutPrefix(to, o); ok {
			return (rest == "" || strings.IndexByte("/?#", rest[0]) >= 0) &&
				!strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\"<>'`, r) })
		}
	}
	return false
}

// ways are the places where a callbackUrl comes in, each with where it shows.
var ways = map[string]func(b *browser, v string) string{
	"signOut form": func(b *browser, v string) string {
		return b.post("/api/auth/signout", "callbackUrl", v).location()
	},
	"signOut JSON": func(b *browser, v string) string {
		a := b.post("/api/auth/signout", "callbackUrl", v, "json", "true")
		if a.StatusCode == http.StatusBadRequest {
			return ""
		}
		return a.url(b.t)
	},
	"sign-in page query": func(b *browser, v string) string {
		b.get("/api/auth/signin?callbackUrl=" + url.QueryEscape(v))
		return b.keptCallback()
	},
	"cookie": func(b *browser, v string) string {
		b.cookies[callbackName] = url.QueryEscape(v)
		return b.post("/api/auth/signout").location()
	},
	"credentials": func(b *browser, v string) string { return b.login("ada", "callbackUrl", v).location() },
	"link request": func(b *browser, v string) string {
		b.post("/api/auth/signin/email", "email", "x@app.test", "callbackUrl", v)
		return b.keptCallback()
	},
}

const callbackName = "__Host-authsvc.callback-url"

func (b *browser) keptCallback() string {
	b.t.Helper()
	to, err := url.QueryUnescape(b.cookies[callbackName])
	if err != nil {
		b.t.Fatal(err)
	}
	return to
}

func TestAttackOpenRedirect(t *testing.T) {
	t.Parallel()
	refuse, allow := vectors(t)
	for name, way := range ways {
		w := enterOffline(t, func(c *authsvc.Config) {
			c.AllowedRedirects = []string{partner}
			if name == "credentials" {
				c.Session.Strategy = "jwt"
			}
		})
		t.Run("redirect-01 "+name, func(t *testing.T) {
			t.Parallel()
			for _, v := range refuse {
				if to := way(w.browser(), v); to != origin && (to != "" || utf8.ValidString(v)) {
					t.Errorf("%q leads to %q", v, to)
				}
			}
			for _, v := range allow {
				to := way(w.browser(), v)
				if !harmless(to) {
					t.Errorf("%q leads to %q", v, to)
				}
				if to == origin && !strings.HasPrefix(strings.ToLower(v), origin) {
					t.Errorf("twin: %q is refused", v)
				}
			}
		})
	}
}

func TestAttackRedirects(t *testing.T) {
	t.Parallel()
	w := enter(t, func(c *authsvc.Config) { c.AllowedRedirects = []string{"https://a.test"} })
	t.Run("redirect-16 loose list", func(t *testing.T) {
		b := w.browser()
		for _, v := range []string{"http://a.test", "https://a.test:8443", "https://xa.test", "https://a.test.evil", "https://a.testx", "https://b.a.test"} {
			if to := b.post("/api/auth/signout", "callbackUrl", v).location(); to != origin {
				t.Errorf("%s leads to %s", v, to)
			}
		}
		for _, v := range []string{"https://a.test/x", "https://A.test:443/x"} {
			if to := b.post("/api/auth/signout", "callbackUrl", v).location(); to != "https://a.test/x" {
				t.Errorf("twin %s leads to %s", v, to)
			}
		}
	})
	t.Run("redirect-03 response splitting", func(t *testing.T) {
		for _, v := range []string{"/%0d%0aSet-Cookie:x=y", "/\r\nSet-Cookie: x=y", "/嘊嘍Set-Cookie:x=y", "/\nX: y", "/x; Domain=evil.test", "/a,b\"c", "/é"} {
			b := w.browser()
			for _, a := range []*answer{
				b.post("/api/auth/signout", "callbackUrl", v),
				b.get("/api/auth/signin?callbackUrl=" + url.QueryEscape(v) + "&error=" + url.QueryEscape(v)),
				b.get("/api/auth/error?error=" + url.QueryEscape(v)),
			} {
				for name, lines := range a.Header {
					for _, line := range lines {
						if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
							t.Errorf("%q: header %s: %q", v, name, line)
						}
					}
				}
				for _, line := range a.Header["Set-Cookie"] {
					if _, attributes, _ := strings.Cut(line, ";"); strings.Contains(attributes, "Domain") || strings.HasPrefix(line, "x=") {
						t.Errorf("cookies-16 %q: Set-Cookie %q", v, line)
					}
				}
			}
		}
	})
	t.Run("redirect-04 malformed", func(t *testing.T) {
		for _, v := range []string{"%zz", "http://[", strings.Repeat("a", 1<<14), "\x00", "\xed\xa0\x80", strings.Repeat("%", 2000), "https://" + strings.Repeat("[", 1000)} {
			r := httptest.NewRequest("GET", origin+"/api/auth/signin", nil)
			r.URL.RawQuery = "callbackUrl=" + v
			if a := w.browser().do(r); a.StatusCode != 200 {
				t.Errorf("%.40q: %d", v, a.StatusCode)
			}
		}
	})
	t.Run("redirect-11 body re-post", func(t *testing.T) {
		b := w.browser()
		for _, path := range []string{"/signin/op", "/signin/email", "/signout", "/callback/credentials", "/callback/email"} {
			if a := b.post("/api/auth"+path, "email", "a@b.test"); a.StatusCode != 302 {
				t.Errorf("%s: %d", path, a.StatusCode)
			}
		}
	})
}

func TestAttackHostPoisoning(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	poison := func(r int) (host string, header map[string]string) {
		return []string{"evil.test", "app.test", "app.test", "app.test:444", "app.test@evil.test"}[r],
			[]map[string]string{{}, {"X-Forwarded-Host": "evil.test", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "81"},
				{"Forwarded": "host=evil.test;proto=http", "X-Original-Url": "/evil", "X-Rewrite-Url": "/evil", "X-Host": "evil.test"}, {}, {}}[r]
	}
	for i := range 5 {
		t.Run(fmt.Sprintf("redirect-06 host poisoning %d", i), func(t *testing.T) {
			host, header := poison(i)
			b := w.browser()
			token := b.csrf()
			send := func(path string, fields url.Values) *answer {
				r := httptest.NewRequest("POST", origin+path, strings.NewReader(with(fields, "csrfToken", token).Encode()))
				r.Host = host
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				for k, v := range header {
					r.Header.Set(k, v)
				}
				return b.do(r)
			}
			a := send("/api/auth/signin/op", nil)
			if got := mustURL(t, a.location()).Query().Get("redirect_uri"); got != origin+"/api/auth/callback/op" {
				t.Errorf("redirect_uri %s", got)
			}
			for _, c := range a.Cookies() {
				if !c.Secure || !strings.HasPrefix(c.Name, "__Host-") {
					t.Errorf("redirect-07 cookie %s, secure %v", c.Name, c.Secure)
				}
			}
			to := fmt.Sprintf("p%d@app.test", i)
			if a := send("/api/auth/signin/email", url.Values{"email": {to}}); !strings.HasPrefix(a.location(), origin+"/api/auth/verify-request") {
				t.Errorf("Location %s", a.location())
			}
			for {
				m := w.mail.next(t)
				if m.To != to {
					continue
				}
				if strings.Contains(m.Text+m.HTML+m.Subject, "evil") || !strings.HasPrefix(link(t, m), origin+"/api/auth/callback/email?") {
					t.Errorf("mail %+v", m)
				}
				return
			}
		})
	}
}

func TestAttackCovertRedirect(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	params := []string{"callbackUrl", "redirect", "redirectTo", "url", "returnTo", "redirect_uri", "error", "error_uri", "code", "state", "iss", "provider", "email", "token", "post_logout_redirect_uri", "request", "csrf"}
	paths := []string{"", "/signin", "/signin/op", "/signin/email", "/callback/op", "/callback/email", "/callback/credentials", "/signout", "/session", "/csrf", "/providers", "/error", "/error/AccessDenied", "/verify-request", "/_log", "/client.js"}
	for _, path := range paths {
		t.Run("redirect-10 covert redirect "+path, func(t *testing.T) {
			t.Parallel()
			b := w.browser()
			for _, p := range params {
				for _, v := range []string{"https://evil.test/x", "//evil.test"} {
					q := url.Values{p: {v}, "error_description": {"<script>"}}
					check := func(a *answer) {
						to := a.location()
						if to == "" || strings.HasPrefix(to, origin) || strings.HasPrefix(to, w.op.Issuer()+"/authorize?") {
							return
						}
						t.Errorf("%s=%s leads to %s", p, v, to)
					}
					check(b.get("/api/auth" + path + "?" + q.Encode()))
					check(b.form("/api/auth"+path+"?"+q.Encode(), with(q, "csrfToken", b.csrf())))
				}
			}
		})
	}
	t.Run("redirect-12 hostile error", func(t *testing.T) {
		b := w.browser()
		state := mustURL(t, b.begin("op")).Query().Get("state")
		q := url.Values{"state": {state}, "error": {"x\"><script>alert(1)</script>"}, "error_description": {"<script>alert(2)</script>"}, "error_uri": {"javascript:alert(3)"}}
		a := w.mustRefuse(t, func() *answer { return b.get("/api/auth/callback/op?" + q.Encode()) })
		if !strings.HasPrefix(a.location(), origin+"/api/auth/error?error=OAuthCallback&request=") {
			t.Errorf("%s", a.location())
		}
		if page := b.get(a.location()); strings.Contains(page.body+page.location(), "alert") {
			t.Errorf("reflected: %s", page.body)
		}
	})
	t.Run("redirect-15 error page abuse", func(t *testing.T) {
		for _, word := range []string{strings.Repeat("Lies ", 2000), "<script>alert(1)</script>", "Dial%20us", "__proto__"} {
			for _, page := range []string{"error", "signin"} {
				a := w.browser().get("/api/auth/" + page + "?error=" + url.QueryEscape(word))
				if strings.Contains(a.body, "Lies Lies") || strings.Contains(a.body, "alert(1)") || strings.Contains(a.body, "Dial") {
					t.Errorf("%s shows %.100s: %.300s", page, word, a.body)
				}
			}
		}
	})
}

func TestAttackRouting(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	b := w.browser()
	b.signIn(w.op, "ada")
	token := b.csrf()
	for _, path := range []string{"/api/auth/../auth/signout", "/api/auth//signout", "//api/auth/signout", "/api/auth/signout/", "/api/auth/signout;x",
		"/API/AUTH/signout", "/api/auth/%73ignout", "/api/auth/%2e%2e/auth/signout", "/api/auth/signout%00", "/api/auth/signout%2f", "/api/auth/./signout",
		"/api/auth/signout%20", "/api/auth", "/api/auth/", "/api/authsignout", "/signout"} {
		t.Run("redirect-17 router confusion "+path, func(t *testing.T) {
			w.mustRefuse(t, func() *answer { return b.rawPath("POST", path, token) })
			if w.person(t, b) == "" {
				t.Error("signed out")
			}
		})
	}
	for _, id := range []string{"..%2fcsrf", "OP", "op%00", "__proto__", "constructor", strings.Repeat("x", 4<<10), "nope", "op/x", "op%2f", "%6fp", "", ":provider"} {
		for _, route := range []string{"signin", "callback"} {
			t.Run("oauth2-28 provider id "+route+"/"+id[:min(len(id), 20)], func(t *testing.T) {
				a := w.mustRefuse(t, func() *answer { return b.rawPath("POST", "/api/auth/"+route+"/"+id, token) })
				if a.StatusCode != 404 || len(id) > 3 && strings.Contains(a.body, id) {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
			})
		}
	}
	t.Run("redirect-17 twin", func(t *testing.T) {
		if a := b.rawPath("POST", "/api/auth/signout", token); a.location() != origin || w.person(t, b) != "" {
			t.Errorf("%d %s", a.StatusCode, a.location())
		}
	})
}

// rawPath sends a path that URL parsers would clean or refuse.
func (b *browser) rawPath(method, path, token string) *answer {
	b.t.Helper()
	r := httptest.NewRequest(method, origin+"/", strings.NewReader("csrfToken="+token))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	u, err := url.ParseRequestURI(path)
	if err != nil {
		b.t.Fatal(err)
	}
	r.URL.Path, r.URL.RawPath = u.Path, u.RawPath
	return b.clone().do(r)
}
