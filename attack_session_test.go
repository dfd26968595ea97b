package authsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
)

var both = []string{"database", "jwt"}

func TestAttackSessionFixation(t *testing.T) {
	t.Parallel()
	for _, strategy := range both {
		w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		t.Run("session-01 fixation "+strategy, func(t *testing.T) {
			t.Parallel()
			attacker := w.browser()
			attacker.signIn(w.op, "grace")
			old := attacker.clone()
			attacker.post("/api/auth/signout")
			for _, planted := range []string{strings.Repeat("p", 43), old.cookies[sessionName], "sha256:" + strings.Repeat("p", 43)} {
				victim := w.browser()
				victim.cookies[sessionName] = planted
				if a := victim.signIn(w.op, "ada"); a.location() != origin || victim.email() != "ada@example.com" {
					t.Fatalf("twin: %s", a.location())
				}
				if victim.cookies[sessionName] == planted {
					t.Error("the planted token became the session")
				}
				if a := rawSession(w, sessionName+"="+planted); a.body != "{}" {
					t.Errorf("the planted token is valid: %s", a.body)
				}
			}
		})
		for sub, id := range map[string]string{"ada": "session-02 no renewal at re-authentication ", "grace": "session-03 silent user switch "} {
			t.Run(id+strategy, func(t *testing.T) {
				t.Parallel()
				b := w.browser()
				b.signIn(w.op, "ada")
				old := b.clone()
				b.signIn(w.op, sub)
				if b.cookies[sessionName] == old.cookies[sessionName] || b.email() != sub+"@example.com" {
					t.Errorf("now %s", b.email())
				}
				if old.email() != "" {
					t.Error("the old session lives on")
				}
				if u, err := w.store.GetUserByAccount(t.Context(), "op", "grace"); err == nil && u.Email != "grace@example.com" {
					t.Error("linked")
				}
			})
		}
		t.Run("session-04 permissive acceptance "+strategy, func(t *testing.T) {
			t.Parallel()
			b := w.browser()
			b.cookies[sessionName] = strings.Repeat("z", 43)
			before := w.led.lasting()
			if a := b.get("/api/auth/session"); a.body != "{}" || b.cookies[sessionName] != "" {
				t.Errorf("%s, cookie %q", a.body, b.cookies[sessionName])
			}
			if strings.Contains(strings.TrimPrefix(w.led.lasting(), before), "zzz") {
				t.Error("a row was made")
			}
		})
		t.Run("session-14 over-exposure "+strategy, func(t *testing.T) {
			t.Parallel()
			b := w.browser()
			if got := b.get("/api/auth/session").body; got != "{}" {
				t.Errorf("anonymous: %s", got)
			}
			b.signIn(w.op, "ada")
			v := b.session()
			user, _ := v["user"].(map[string]any)
			if len(v) != 2 || len(user) != 3 || user["email"] != "ada@example.com" || v["expires"] == nil {
				t.Errorf("%v", v)
			}
		})
		t.Run("session-17 mass assignment "+strategy, func(t *testing.T) {
			t.Parallel()
			b := w.browser()
			b.signIn(w.op, "ada")
			me, was := w.person(t, b), b.get("/api/auth/session").body
			a := b.raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.csrf()+`","data":{"user":{"id":"bob-id","role":"admin","email":"x@y.test"},"sub":"bob-id","exp":9999999999,"expires":"9999-01-01T00:00:00.000Z"}}`)
			if a.StatusCode != 200 || !strings.Contains(a.body, "ada@example.com") || strings.Contains(a.body, "9999") || strings.Contains(a.body, "admin") {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
			if w.person(t, b) != me || b.get("/api/auth/session").body[:60] != was[:60] {
				t.Error("the session changed")
			}
		})
	}
	t.Run("session-05 session-06 token and store", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		b := w.browser()
		b.signIn(w.op, "ada")
		token := b.cookies[sessionName]
		if len(token) != 43 {
			t.Errorf("token %q", token)
		}
		dump := w.led.lasting()
		if strings.Contains(dump, token) {
			t.Error("the store holds the token")
		}
		at := strings.Index(dump, "sha256:")
		stored := dump[at : at+50]
		for _, v := range []string{stored, stored[7:]} {
			if a := rawSession(w, sessionName+"="+v); a.body != "{}" {
				t.Errorf("%s is accepted: %s", v, a.body)
			}
		}
	})
	t.Run("session-24 strategy switch", func(t *testing.T) {
		t.Parallel()
		values := map[string]string{}
		for _, strategy := range both {
			w := enterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			b := w.browser()
			b.login("ada")
			values[strategy] = b.cookies[sessionName]
		}
		for _, strategy := range both {
			w := enterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			for _, v := range values {
				if a := rawSession(w, sessionName+"="+v); strategy == "database" && a.body != "{}" || a.StatusCode != 200 {
					t.Errorf("%s: %d %s", strategy, a.StatusCode, a.body)
				}
			}
		}
	})
}

func TestAttackFailOpen(t *testing.T) {
	t.Parallel()
	for _, strategy := range both {
		t.Run("session-25 fail open "+strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stale := &staleStore{}
				w := enterOffline(t, func(c *authsvc.Config) {
					short(strategy)(c)
					stale.ledger = c.Adapter.(*ledger)
					c.Adapter = stale
				})
				b := w.browser()
				b.login("ada")
				reached := 0
				guarded := b.clone()
				guarded.h = w.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					s, err := w.Session(r)
					if err != nil || s == nil || s.UserID != "ada-id" {
						t.Errorf("the handler sees %v, %v", s, err)
					}
					reached++
				}))
				if guarded.get("/private"); reached != 1 {
					t.Fatal("twin: the session does not pass")
				}
				stale.broken.Store(true)
				w.led.breakAt(func(int, string) failure { return failBefore })
				time.Sleep(33 * time.Second)
				if a := guarded.get("/private"); a.StatusCode != http.StatusServiceUnavailable || reached != 1 {
					t.Errorf("guarded: %d, reached %d", a.StatusCode, reached)
				}
				a := b.get("/api/auth/session")
				if a.StatusCode != http.StatusServiceUnavailable || a.body != "{}" || b.cookies[sessionName] == "" {
					t.Errorf("GET session: %d %s", a.StatusCode, a.body)
				}
				r := httptest.NewRequest("GET", origin+"/", nil)
				r.AddCookie(&http.Cookie{Name: sessionName, Value: b.cookies[sessionName]})
				if s, err := w.Session(r); s != nil || err == nil {
					t.Errorf("Session: %v, %v", s, err)
				}
				stale.broken.Store(false)
				w.led.breakAt(nil)
				time.Sleep(3 * time.Second)
				if b.email() != "ada@app.test" {
					t.Error("twin: the session is lost after the store is back")
				}
			})
		})
		t.Run("session-25 guard "+strategy, func(t *testing.T) {
			t.Parallel()
			w := enterOffline(t, short(strategy))
			h := w.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "private") }))
			b := w.browser()
			b.h = h
			for _, cookie := range []string{"", "x", strings.Repeat("x", 43), strings.Repeat("a.", 20)} {
				b.cookies[sessionName] = cookie
				r := httptest.NewRequest("GET", origin+"/private?a=b", nil)
				r.Header.Set("Accept", "text/html")
				if a := b.clone().do(r); a.StatusCode != 302 || a.location() != origin+"/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fprivate%3Fa%3Db" {
					t.Errorf("page: %d %s", a.StatusCode, a.location())
				}
				if a := b.clone().get("/private"); a.StatusCode != http.StatusUnauthorized || strings.Contains(a.body, "private") {
					t.Errorf("script: %d %s", a.StatusCode, a.body)
				}
			}
			in := w.browser()
			in.login("ada")
			in.h = h
			if a := in.get("/private"); a.body != "private" || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
				t.Errorf("twin: %d %s %v", a.StatusCode, a.body, a.Header)
			}
		})
	}
}

func TestAttackMalformedCredentials(t *testing.T) {
	t.Parallel()
	w := enterOffline(t, nil)
	for name, header := range map[string]http.Header{
		"bearer %ZZ": {"Authorization": {"Bearer %ZZ"}}, "empty": {"Authorization": {""}}, "1 MB": {"Authorization": {"Bearer " + strings.Repeat("x", 1<<20)}},
		"two lines": {"Authorization": {"Bearer a", "Bearer b"}}, "cookie escapes": {"Cookie": {sessionName + "=%ZZ; " + csrfName + "=%"}},
		"no equals": {"Cookie": {sessionName, ";;;=;=="}}, "huge cookie": {"Cookie": {sessionName + "=" + strings.Repeat("x", 1<<20)}},
		"dots": {"Cookie": {sessionName + "=" + strings.Repeat(".", 1<<20)}},
	} {
		t.Run("session-27 jwe-07 "+name, func(t *testing.T) {
			for _, path := range []string{"/session", "/signin", "/signout", "/csrf", "/callback/email?token=" + strings.Repeat("x", 43) + "&email=a@b.test"} {
				b := w.browser()
				b.header = header
				if a := b.get("/api/auth" + path); a.StatusCode >= 500 {
					t.Errorf("%s: %d", path, a.StatusCode)
				}
			}
		})
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(w.browser().get("/api/auth/session").body), &v); err != nil || len(v) != 0 {
		t.Errorf("twin: %v %v", v, err)
	}
}
