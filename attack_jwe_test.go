package authsvc_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/seal"
)

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
