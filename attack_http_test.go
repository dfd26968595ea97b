package authsvc_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/idp"
	"authsvc/internal/seal"
)

var allPaths = []string{"", "/signin", "/signin/op", "/signin/email", "/callback/op", "/callback/email", "/callback/credentials", "/signout", "/session", "/csrf", "/providers", "/error", "/verify-request", "/_log", "/client.js"}

func TestAttackMethods(t *testing.T) {
	t.Parallel()
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		w := enter(t, func(c *authsvc.Config) { c.Compat = mode })
		b := w.browser()
		b.signIn(w.op, "ada")
		for _, method := range []string{"TRACE", "CONNECT", "PUT", "DELETE", "PATCH", "FOO", "OPTIONS", "HEAD", "get", "F\"<script>"} {
			t.Run("httpwire-12 "+string(mode)+" "+method, func(t *testing.T) {
				t.Parallel()
				for _, path := range allPaths {
					before := w.led.lasting()
					r := httptest.NewRequest("GET", origin+"/api/auth"+path, strings.NewReader("canary"))
					r.Method = method
					a := b.clone().do(r)
					if want := map[bool]int{true: 405, false: 400}[mode == authsvc.CompatNone]; a.StatusCode != want {
						t.Errorf("%s: %d", path, a.StatusCode)
					}
					if mode == authsvc.CompatNone && a.Header.Get("Allow") == "" {
						t.Errorf("%s: no Allow", path)
					}
					if strings.Contains(a.body, "canary") || strings.Contains(a.body, "<script>") || w.led.lasting() != before {
						t.Errorf("%s: %s", path, a.body)
					}
				}
			})
		}
	}
}

func TestAttackBodies(t *testing.T) {
	t.Parallel()
	w := enterOffline(t, nil)
	b := w.browser()
	b.login("ada")
	token := b.csrf()
	jsonToken := `{"csrfToken":"` + token + `"`
	posts := []string{"/signin/email", "/signout", "/session", "/callback/credentials", "/callback/email", "/_log"}
	for name, v := range map[string]struct {
		contentType, body string
		want              int
	}{
		"httpwire-09 form over 64 KiB":   {"application/x-www-form-urlencoded", "csrfToken=" + token + "&x=" + strings.Repeat("x", 64<<10), 413},
		"httpwire-09 JSON over 64 KiB":   {"application/json", jsonToken + `,"x":"` + strings.Repeat("x", 64<<10) + `"}`, 413},
		"httpwire-10 many fields":        {"application/x-www-form-urlencoded", "csrfToken=" + token + strings.Repeat("&a", 30_000), 400},
		"httpwire-10 deep JSON":          {"application/json", jsonToken + `,"x":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "}", 400},
		"httpwire-10 huge number":        {"application/json", jsonToken + `,"x":1e` + strings.Repeat("9", 60_000) + "}", 400},
		"httpwire-10 duplicate keys":     {"application/json", jsonToken + `,"a":1,"a":2}`, 400},
		"httpwire-10 trailing data":      {"application/json", jsonToken + `}{}`, 400},
		"httpwire-10 BOM":                {"application/json", "\ufeff" + jsonToken + "}", 400},
		"httpwire-10 bad UTF-8":          {"application/json", jsonToken + ",\"x\":\"\xff\"}", 400},
		"httpwire-10 bad UTF-8 form":     {"application/x-www-form-urlencoded", "csrfToken=" + token + "&x=%ff", 400},
		"httpwire-10 list":               {"application/json", "[" + jsonToken + "}]", 400},
		"httpwire-10 string":             {"application/json", `"csrfToken"`, 400},
		"httpwire-10 not closed":         {"application/json", jsonToken, 400},
		"httpwire-10 token is no string": {"application/json", `{"csrfToken":["` + token + `"]}`, 0},
		"httpwire-10 other case":         {"application/json", `{"CSRFTOKEN":"` + token + `"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range posts {
				if path == "/_log" && v.want == 0 {
					continue
				}
				for _, known := range []bool{true, false} {
					began := time.Now()
					a := w.mustRefuse(t, func() *answer {
						r := httptest.NewRequest("POST", origin+"/api/auth"+path, strings.NewReader(v.body))
						if !known {
							r.ContentLength = -1
						}
						r.Header.Set("Content-Type", v.contentType)
						return b.clone().do(r)
					})
					if v.want != 0 && a.StatusCode != v.want {
						t.Errorf("%s: %d", path, a.StatusCode)
					}
					if d := time.Since(began); d > 500*time.Millisecond {
						t.Errorf("%s took %v", path, d)
					}
				}
			}
		})
	}
	t.Run("httpwire-09 reading stops", func(t *testing.T) {
		r := httptest.NewRequest("POST", origin+"/api/auth/signout", nil)
		endless := &endless{}
		r.Body, r.ContentLength = io.NopCloser(endless), -1
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if a := b.clone().do(r); a.StatusCode != 413 || endless.n > 1<<20 {
			t.Errorf("%d after %d bytes", a.StatusCode, endless.n)
		}
	})
	t.Run("httpwire-11 compressed request", func(t *testing.T) {
		for _, encoding := range []string{"gzip", "identity", "deflate", ""} {
			a := b.clone().form("/api/auth/signout", url.Values{"csrfToken": {token}}, "Content-Encoding", encoding)
			if a.StatusCode != 415 {
				t.Errorf("%q: %d", encoding, a.StatusCode)
			}
		}
	})
	t.Run("httpwire-16 long URL", func(t *testing.T) {
		for _, target := range []string{"/" + strings.Repeat("x", 64<<10), "/signin?" + strings.Repeat("x", 64<<10), "/signin?" + strings.Repeat("a=&", 100_000), "/callback/credentials?" + strings.Repeat("callbackUrl=/&", 1000)} {
			if a := b.clone().get("/api/auth" + target); a.StatusCode >= 500 {
				t.Errorf("%.20s: %d", target, a.StatusCode)
			}
		}
	})
	t.Run("httpwire-09 twin", func(t *testing.T) {
		if a := b.clone().form("/api/auth/signin/email", url.Values{"csrfToken": {token}, "email": {"a@b.test"}, "x": {strings.Repeat("x", 63<<10)}}); !strings.Contains(a.location(), "verify-request") {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	})
}

type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) { e.n += len(p); clear(p); return len(p), nil }

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

func TestAttackSealedTokens(t *testing.T) {
	t.Parallel()
	w := enterOffline(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Providers = append(c.Providers, offlineProvider())
	})
	b := w.browser()
	b.begin("plain")
	b.post("/api/auth/signin/email", "email", "x@app.test")
	b.login("ada")
	token := b.cookies[sessionName]
	t.Run("jwe-01 purpose confusion", func(t *testing.T) {
		for name, v := range b.cookies {
			if a := rawSession(w, sessionName+"="+v); a.body != "{}" && name != sessionName {
				t.Errorf("%s is a session", name)
			}
			if strings.Contains(name, ".tx.") {
				c := b.clone()
				c.cookies[name] = token
				if a := c.get("/api/auth/callback/plain?error=access_denied&state=x"); !strings.Contains(a.location(), "OAuthCallback") {
					t.Errorf("%s", a.location())
				}
			}
		}
	})
	parts := strings.Split(token, ".")
	header := func(s string) string {
		return strings.Join(append([]string{base64.RawURLEncoding.EncodeToString([]byte(s))}, parts[1:]...), ".")
	}
	for name, v := range map[string]string{
		"jwe-02 none": header(`{"alg":"none"}`), "jwe-02 RSA1_5": header(`{"alg":"RSA1_5","enc":"A256GCM"}`), "jwe-02 A256KW": header(`{"alg":"A256KW","enc":"A256GCM"}`),
		"jwe-02 A128GCM": header(`{"alg":"dir","enc":"A128GCM"}`), "jwe-02 ECDH-ES": header(`{"alg":"ECDH-ES","enc":"A256GCM"}`),
		"jwe-06 PBES2":  header(`{"alg":"PBES2-HS512+A256KW","enc":"A256GCM","p2c":2147483647,"p2s":"AAAA"}`),
		"jwe-05 zip":    header(`{"alg":"dir","enc":"A256GCM","zip":"DEF"}`),
		"jwe-08 jku":    header(`{"alg":"dir","enc":"A256GCM","jku":"https://evil.test"}`),
		"jwe-08 crit":   header(`{"alg":"dir","enc":"A256GCM","crit":["x"]}`),
		"jwe-12 kid":    header(`{"alg":"dir","enc":"A256GCM","kid":"../../etc/passwd"}`),
		"jwe-03 JWS":    base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"ada-id","exp":9999999999}`)) + ".",
		"jwe-07 dots":   strings.Repeat(".", 4000),
		"jwe-19 padded": token + "=",
		"jwe-19 blank":  token[:10] + " " + token[10:],
	} {
		t.Run(name, func(t *testing.T) {
			if a := rawSession(w, sessionName+"="+v); a.body != "{}" {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
		})
	}
	t.Run("jwe-04 tamper", func(t *testing.T) {
		for i := range len(token) {
			c := byte('A')
			if token[i] == c {
				c = 'B'
			}
			if a := rawSession(w, sessionName+"="+token[:i]+string(c)+token[i+1:]); a.body != "{}" {
				t.Fatalf("byte %d changed: %s", i, a.body)
			}
		}
	})
	now := time.Now().Unix()
	for name, claims := range map[string]string{
		"jwe-09 past": `"sub":"ada-id","exp":1`, "jwe-09 missing": `"sub":"ada-id","x":1`, "jwe-09 string": fmt.Sprintf(`"sub":"ada-id","exp":"%d"`, now+100), "jwe-09 1e400": `"sub":"ada-id","exp":1e400`, "jwe-09 negative": `"sub":"ada-id","exp":-1`,
		"jwe-09 huge": `"sub":"ada-id","exp":1e300`, "jwe-09 nbf": fmt.Sprintf(`"sub":"ada-id","exp":%d,"nbf":%d`, now+1000, now+500),
		"jwe-16 sub number": fmt.Sprintf(`"exp":%d,"sub":7`, now+100), "jwe-16 sub list": fmt.Sprintf(`"exp":%d,"sub":["a"]`, now+100), "jwe-16 sub null": fmt.Sprintf(`"exp":%d,"sub":null`, now+100),
		"jwe-16 sub empty": fmt.Sprintf(`"exp":%d,"sub":""`, now+100), "jwe-16 depth": fmt.Sprintf(`"exp":%d,"x":%s1%s`, now+100, strings.Repeat("[", 2000), strings.Repeat("]", 2001)),
	} {
		t.Run(name, func(t *testing.T) {
			if a := rawSession(w, sessionName+"="+sealSession(t, `{"iat":`+fmt.Sprint(now)+`,`+claims+`}`)); a.body != "{}" {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
		})
	}
	t.Run("jwe-09 twin", func(t *testing.T) {
		good := sealSession(t, fmt.Sprintf(`{"sub":"ada-id","email":"ada@app.test","iat":%d,"exp":%d}`, now, now+100))
		if a := rawSession(w, sessionName+"="+good); !strings.Contains(a.body, "ada@app.test") {
			t.Errorf("%s", a.body)
		}
	})
	t.Run("jwe-20 readable", func(t *testing.T) {
		raw, err := base64.RawURLEncoding.DecodeString(parts[0])
		if err != nil || bytes.Contains(raw, []byte("ada")) {
			t.Errorf("%s", raw)
		}
	})
	t.Run("jwe-10 cross-deployment reuse", func(t *testing.T) {
		for _, tune := range []func(*authsvc.Config){
			func(c *authsvc.Config) { c.URL = "https://staging.app.test" },
			func(c *authsvc.Config) { c.Cookies.Session = "__Host-other" },
		} {
			other := enterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = "jwt"; tune(c) })
			for _, name := range []string{sessionName, "__Host-other"} {
				if a := rawSession(other, name+"="+token); a.body != "{}" {
					t.Errorf("%s", a.body)
				}
			}
		}
	})
	t.Run("jwe-11 csrf-24 rotation", func(t *testing.T) {
		const next = "nX2mQ7rT5uV8wB1zC3dF6gH9jK4lM0pS-rotated-now"
		rotated := enterOffline(t, func(c *authsvc.Config) { c.Session.Strategy, c.Secrets = "jwt", []string{next, testSecret} })
		moved := b.clone()
		moved.h = rotated
		if moved.email() != "ada@app.test" || moved.cookies[sessionName] == token {
			t.Errorf("%q, re-sealed %v", moved.email(), moved.cookies[sessionName] != token)
		}
		if a := moved.post("/api/auth/signin/email", "email", "y@app.test"); !strings.Contains(a.location(), "verify-request") {
			t.Errorf("%s", a.location())
		}
		gone := enterOffline(t, func(c *authsvc.Config) { c.Session.Strategy, c.Secrets = "jwt", []string{next} })
		if a := rawSession(gone, sessionName+"="+token); a.body != "{}" {
			t.Errorf("the old secret is gone: %s", a.body)
		}
		if a := rawSession(gone, sessionName+"="+moved.cookies[sessionName]); !strings.Contains(a.body, "ada@app.test") {
			t.Errorf("the re-sealed token: %s", a.body)
		}
	})
}

func sealSession(t *testing.T, claims string) string {
	t.Helper()
	ring, err := seal.NewRing(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	token, err := ring.Sealer("session " + origin + " " + sessionName).Seal([]byte(claims))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestAttackConfiguration(t *testing.T) {
	t.Parallel()
	good := func() authsvc.Config {
		return authsvc.Config{URL: origin, Secrets: []string{testSecret}, Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorize}}}
	}
	for name, spoil := range map[string]func(*authsvc.Config){
		"jwe-14 no secret":      func(c *authsvc.Config) { c.Secrets = nil },
		"jwe-14 empty":          func(c *authsvc.Config) { c.Secrets = []string{""} },
		"jwe-14 newline":        func(c *authsvc.Config) { c.Secrets = []string{strings.Repeat("\n", 40)} },
		"jwe-14 short":          func(c *authsvc.Config) { c.Secrets = []string{"s3cret-canary-short"} },
		"jwe-14 one character":  func(c *authsvc.Config) { c.Secrets = []string{strings.Repeat("s", 64)} },
		"jwe-14 second is weak": func(c *authsvc.Config) { c.Secrets = append(c.Secrets, "secret") },
		"config-06 http":        func(c *authsvc.Config) { c.URL = "http://app.test" },
		"outbound-06 issuer": func(c *authsvc.Config) {
			o := offlineProvider()
			o.OpenID, o.Issuer = true, "http://id.test"
			c.Providers = append(c.Providers, o)
		},
		"config-01 same id twice": func(c *authsvc.Config) { c.Providers = append(c.Providers, c.Providers[0]) },
		"config-01 reserved parameter": func(c *authsvc.Config) {
			o := offlineProvider()
			o.AuthorizationParams = map[string]string{"state": "x"}
			c.Providers = append(c.Providers, o)
		},
		"config-01 all checks dropped": func(c *authsvc.Config) {
			o := offlineProvider()
			o.Checks = []string{"nonce"}
			c.Providers = append(c.Providers, o)
		},
		"config-01 cookie names clash":   func(c *authsvc.Config) { c.Cookies.CSRF = sessionName + ".csrf" },
		"config-01 trusted other site":   func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://evil.test"} },
		"config-01 trusted http sibling": func(c *authsvc.Config) { c.TrustedOrigins = []string{"http://www.app.test"} },
		"config-01 cookie domain":        func(c *authsvc.Config) { c.Cookies.Domain = "test" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := good()
			spoil(&c)
			s, err := authsvc.New(c)
			if err == nil {
				s.Close(context.Background())
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "canary") || len(authsvc.ConfigErrors(err)) == 0 {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("config-01 twin", func(t *testing.T) {
		t.Parallel()
		s, err := authsvc.New(good())
		if err != nil {
			t.Fatal(err)
		}
		s.Close(context.Background())
	})
}

func TestAttackClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine of the bubble is left
		for _, strategy := range both {
			w := enterOffline(t, short(strategy))
			w.browser().post("/api/auth/signin/email", "email", "ada@app.test")
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A request whose client goes away in the middle of the sign-in.
func TestAttackDisconnect(t *testing.T) {
	t.Parallel()
	for _, strategy := range both {
		t.Run("store-04 disconnect "+strategy, func(t *testing.T) {
			t.Parallel()
			w := enterOffline(t, short(strategy))
			b := w.browser()
			l := w.ask(t, b, "new@app.test")
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, l, nil)
			w.led.breakAt(func(_ int, method string) failure {
				if method == "GetUserByEmail" {
					leave()
				}
				return works
			})
			a := b.do(r)
			w.led.breakAt(nil)
			if a.location() != origin || b.email() != "new@app.test" {
				t.Errorf("half done: %d %s %s", a.StatusCode, a.location(), w.led.lasting())
			}
		})
	}
}

func TestAttackLimits(t *testing.T) {
	t.Parallel()
	limited := func(c *authsvc.Config) { c.RateLimit.Disabled = false }
	t.Run("abuse-01 one client", func(t *testing.T) {
		t.Parallel()
		w := enterOffline(t, limited)
		b := w.browser()
		token := b.csrf()
		refused := 0
		for range 100 {
			a := b.clone().form("/api/auth/callback/credentials", url.Values{"csrfToken": {token}, "username": {"nobody"}, "password": {"x"}, "json": {"true"}})
			if a.StatusCode == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" && a.url(t) != "" {
				refused++
			}
		}
		if refused < 60 {
			t.Errorf("%d refused", refused)
		}
		other := w.browser()
		other.ip = "198.51.100.1:1"
		if a := other.login("ada"); a.location() != origin {
			t.Errorf("twin: another client: %d %s", a.StatusCode, a.location())
		}
	})
	t.Run("abuse-01 one /64", func(t *testing.T) {
		t.Parallel()
		w := enterOffline(t, limited)
		passed := 0
		for i := range 100 {
			b := w.browser()
			b.ip = fmt.Sprintf("[2001:db8::%x]:1", i+1)
			if a := b.login("nobody"); a.StatusCode == 302 {
				passed++
			}
		}
		if passed > 40 {
			t.Errorf("%d passed", passed)
		}
	})
	t.Run("abuse-02 lock-out as weapon: other methods", func(t *testing.T) {
		t.Parallel()
		w := enterOffline(t, limited)
		in := w.browser()
		in.login("ada")
		for i := range 200 {
			b := w.browser()
			b.ip = fmt.Sprintf("198.51.100.%d:1", i)
			b.post("/api/auth/callback/credentials", "username", "ada", "password", "wrong")
		}
		b := w.browser()
		if a := b.get(w.ask(t, b, "ada@app.test")); a.location() != origin || in.email() != "ada@app.test" {
			t.Errorf("%s", a.location())
		}
	})
	t.Run("redirect-08 client address spoof", func(t *testing.T) {
		t.Parallel()
		w := enterOffline(t, limited)
		passed := 0
		for i := range 100 {
			b := w.browser()
			b.header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i))
			if a := b.login("nobody"); a.StatusCode == 302 {
				passed++
			}
		}
		if passed > 40 {
			t.Errorf("%d passed", passed)
		}
	})
}
