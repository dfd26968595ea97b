package authsvc_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
)

func TestAttackCSRFWalls(t *testing.T) {
	t.Parallel()
	w := enter(t, func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://www.app.test"} })
	b := w.browser()
	b.signIn(w.op, "ada")
	token := b.csrf()
	post := func(header ...string) func() *answer {
		return func() *answer {
			return b.clone().form("/api/auth/signin/op", url.Values{"csrfToken": {token}}, header...)
		}
	}
	refused := map[string][]string{
		"csrf-12 cross-site":                       {"Sec-Fetch-Site", "cross-site"},
		"csrf-12 same-site":                        {"Sec-Fetch-Site", "same-site"},
		"csrf-12 cross-site with our Origin":       {"Sec-Fetch-Site", "cross-site", "Origin", origin},
		"csrf-12 unknown word":                     {"Sec-Fetch-Site", "sideways"},
		"csrf-12 empty word":                       {"Sec-Fetch-Site", ""},
		"csrf-12 two lines":                        {"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Site", "cross-site"},
		"csrf-12 same-site, trusted look-alike":    {"Sec-Fetch-Site", "same-site", "Origin", "https://www.app.test.evil.test"},
		"csrf-12 foreign Origin":                   {"Origin", "https://evil.test"},
		"csrf-13 null":                             {"Origin", "null"},
		"csrf-13 other port":                       {"Origin", origin + ":8443"},
		"csrf-13 http":                             {"Origin", "http://app.test"},
		"csrf-13 trailing dot":                     {"Origin", origin + "."},
		"csrf-13 two Origin lines":                 {"Origin", origin, "Origin", "https://evil.test"},
		"csrf-13 two Origins in a line":            {"Origin", origin + " https://evil.test"},
		"csrf-13 with a path":                      {"Origin", origin + "/x"},
		"csrf-13 credentials":                      {"Origin", "https://app.test@evil.test"},
		"csrf-13 empty":                            {"Origin", ""},
		"csrf-13 sibling that is not trusted":      {"Origin", "https://sub.app.test"},
		"csrf-13 prefix of a trusted origin":       {"Origin", "https://www.app.tes"},
		"csrf-13 trusted origin with another port": {"Origin", "https://www.app.test:444"},
	}
	for name, header := range refused {
		t.Run(name, func(t *testing.T) {
			if a := w.mustRefuse(t, post(header...)); a.StatusCode != http.StatusForbidden {
				t.Errorf("status %d", a.StatusCode)
			}
		})
	}
	passes := map[string][]string{
		"csrf-12 twin same-origin":          {"Sec-Fetch-Site", "same-origin"},
		"csrf-12 twin none":                 {"Sec-Fetch-Site", "none"},
		"csrf-12 twin both absent":          {},
		"csrf-12 twin trusted same-site":    {"Sec-Fetch-Site", "same-site", "Origin", "https://www.app.test"},
		"csrf-13 twin our Origin":           {"Origin", origin},
		"csrf-13 twin default port":         {"Origin", origin + ":443"},
		"csrf-13 twin upper case":           {"Origin", "HTTPS://APP.TEST"},
		"csrf-13 twin trusted origin alone": {"Origin", "https://www.app.test"},
	}
	for name, header := range passes {
		t.Run(name, func(t *testing.T) {
			if a := post(header...)(); !strings.HasPrefix(a.location(), w.op.Issuer()) {
				t.Errorf("%d %s", a.StatusCode, a.location())
			}
		})
	}
}

func TestAttackSessionSwapping(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	attacker := w.browser()
	theirs := attacker.approve(w.op, attacker.begin("op"), "grace")
	t.Run("csrf-16 session swapping", func(t *testing.T) {
		victim := w.browser()
		victim.signIn(w.op, "ada")
		me := w.person(t, victim)
		for _, dest := range []string{"document", "image", "iframe", "empty"} {
			w.mustRefuse(t, func() *answer {
				r := httptest.NewRequest("GET", theirs, nil)
				r.Header.Set("Sec-Fetch-Dest", dest)
				return victim.do(r)
			})
		}
		if w.person(t, victim) != me {
			t.Error("the session changed")
		}
	})
	t.Run("csrf-17 forced account linking", func(t *testing.T) {
		victim := w.browser()
		victim.signIn(w.op, "ada")
		w.mustRefuse(t, func() *answer { return victim.get(theirs) })
		if _, err := w.store.GetUserByAccount(t.Context(), "op", "grace"); err == nil {
			t.Error("the attacker's identity is linked")
		}
	})
	t.Run("oauth2-27 authorization URL of another browser", func(t *testing.T) {
		start := w.browser().begin("op")
		victim := w.browser()
		victim.begin("op")
		w.mustRefuse(t, func() *answer { return victim.get(victim.approve(w.op, start, "ada")) })
	})
	t.Run("csrf-16 twin: in the attacker's own browser", func(t *testing.T) {
		if a := attacker.get(theirs); a.location() != origin || attacker.email() != "grace@example.com" {
			t.Errorf("%s\n%s", a.location(), w.logs)
		}
	})
	t.Run("csrf-21 CORS leak", func(t *testing.T) {
		for _, path := range []string{"/csrf", "/session", "/providers", "/signin"} {
			for _, method := range []string{"GET", "OPTIONS"} {
				r := httptest.NewRequest(method, origin+"/api/auth"+path, nil)
				r.Header.Set("Origin", "https://evil.test")
				r.Header.Set("Access-Control-Request-Method", "POST")
				for name := range attacker.clone().do(r).Header {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("%s %s answers %s", method, path, name)
					}
				}
			}
		}
	})
	t.Run("csrf-04 guessable token", func(t *testing.T) {
		seen := map[string]bool{}
		for range 1000 {
			token := w.browser().csrf()
			if raw, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(raw) < 16 || seen[token] {
				t.Fatalf("token %q", token)
			}
			seen[token] = true
		}
	})
}
