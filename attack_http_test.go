package authsvc_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/idp"
)

var allPaths = []string{"", "/signin", "/signin/op", "/signin/email", "/callback/op", "/callback/email", "/callback/credentials", "/signout", "/session", "/csrf", "/providers", "/error", "/verify-request", "/_log", "/client.js"}

func TestAttackHeaders(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	b := w.browser()
	for _, signedIn := range []bool{false, true} {
		if signedIn {
			b.signIn(w.op, "ada")
		}
		for _, path := range append(allPaths, "/nope", "/callback/op?state=x", "/error?error=AccessDenied") {
			t.Run(fmt.Sprintf("headers-02 headers-03 %s signed in %v", path, signedIn), func(t *testing.T) {
				a := b.clone().get("/api/auth" + path)
				if a.Header.Get("X-Content-Type-Options") != "nosniff" {
					t.Error("no nosniff")
				}
				if a.body != "" && !strings.Contains(a.Header.Get("Content-Type"), "charset=utf-8") {
					t.Errorf("Content-Type %q", a.Header.Get("Content-Type"))
				}
				if cc := a.Header.Get("Cache-Control"); path != "/client.js" && cc != "private, no-cache, no-store" {
					t.Errorf("Cache-Control %q", cc)
				}
				if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
					if a.Header.Get("X-Frame-Options") != "DENY" || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
						t.Error("headers-01 csrf-20 a page may be framed")
					}
				}
				if r := a.Header.Get("Referrer-Policy"); r != "no-referrer" && r != "strict-origin" {
					t.Errorf("redirect-09 Referrer-Policy %q", r)
				}
			})
		}
	}
	t.Run("headers-06 providers leak", func(t *testing.T) {
		if body := b.get("/api/auth/providers").body; strings.Contains(body, clientSecret) || strings.Contains(body, w.op.Issuer()) {
			t.Error(body)
		}
	})
	t.Run("headers-09 page variables set by query", func(t *testing.T) {
		a := w.browser().get("/api/auth/signin?csrfToken=EVIL-TOKEN&callbackUrl=https://evil.test&theme=EVIL-THEME&providers=EVIL-P&CSRFToken=EVIL-TOKEN")
		if strings.Contains(a.body, "EVIL") || strings.Contains(a.body, "evil.test") {
			t.Error(a.body)
		}
	})
}

// TestAttackSecretsInTheLog runs every flow, good and bad, and looks for what
// may never be in a log, a page or a URL that lasts.
func TestAttackSecretsInTheLog(t *testing.T) {
	t.Parallel()
	for _, strategy := range both {
		t.Run("session-19 oauth2-09 "+strategy, func(t *testing.T) {
			t.Parallel()
			w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			canaries := map[string]string{"client secret": clientSecret, "secret": testSecret, "password": "right-canary-9"}
			w.op.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) {
				canaries["access token"], canaries["id token"] = a["access_token"].(string), a["id_token"].(string)
			}})
			b := w.browser()
			var pages strings.Builder
			see := func(a *answer) *answer { pages.WriteString(a.body); return a }
			start := see(b.post("/api/auth/signin/op"))
			canaries["state"] = mustURL(t, start.location()).Query().Get("state")
			back := b.approve(w.op, start.location(), "ada")
			canaries["code"] = mustURL(t, back).Query().Get("code")
			see(b.get(back))
			see(b.get(back))
			canaries["session"] = b.cookies[sessionName]
			canaries["csrf"] = b.csrf()
			see(b.get("/api/auth/session"))
			see(b.post("/api/auth/signin/op", "csrfToken", "wrong"))
			see(b.post("/api/auth/callback/credentials", "username", "ada", "password", "right-canary-9"))
			l := w.ask(t, b, "mail@app.test")
			canaries["link token"] = mustURL(t, l).Query().Get("token")
			see(b.post("/api/auth/callback/email", "token", canaries["link token"], "email", "other@app.test"))
			see(b.get(l))
			see(b.post("/api/auth/callback/email", formOf(t, l)...))
			w.op.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}})
			see(b.get(b.approve(w.op, b.begin("op"), "ada")))
			w.led.breakAt(func(int, string) failure { return failBefore })
			see(b.get("/api/auth/session"))
			w.led.breakAt(nil)
			see(b.post("/api/auth/signout"))
			for name, v := range canaries {
				if v == "" {
					t.Errorf("no %s", name)
					continue
				}
				if strings.Contains(w.logs.String(), v) || strings.Contains(w.logs.String(), url.QueryEscape(v)) {
					t.Errorf("the log holds the %s", name)
				}
				if name != "csrf" && name != "link token" && strings.Contains(pages.String(), v) {
					t.Errorf("a page holds the %s", name)
				}
			}
			if w.logs.String() == "" {
				t.Error("twin: nothing is logged")
			}
		})
	}
}
