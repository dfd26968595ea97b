package authsvc_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/seal"
)

// short are session times that fit into a test.
func short(strategy string) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session = authsvc.SessionOptions{Strategy: strategy, MaxAge: time.Hour, UpdateAge: 10 * time.Minute, AbsoluteMaxAge: 3 * time.Hour}
	}
}

func TestAttackSessionTimes(t *testing.T) {
	t.Parallel()
	for _, strategy := range both {
		t.Run("session-11 session-13 idle limit "+strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, short(strategy))
				b, idle := w.browser(), w.browser()
				b.login("ada")
				idle.login("ada")
				time.Sleep(time.Hour - 2*time.Second)
				if b.email() == "" {
					t.Error("twin: over too early")
				}
				time.Sleep(3 * time.Second)
				if idle.email() != "" {
					t.Error("lives past the idle limit")
				}
				if b.email() == "" {
					t.Error("twin: a used session is not extended")
				}
			})
		})
		t.Run("session-12 endless sliding "+strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, short(strategy))
				b := w.browser()
				b.login("ada")
				began := time.Now()
				for b.email() != "" {
					if time.Since(began) > 4*time.Hour {
						t.Fatal("it never ends")
					}
					expires, err := time.Parse(time.RFC3339, b.session()["expires"].(string))
					if err != nil || expires.After(began.Add(3*time.Hour)) {
						t.Fatalf("promises %v, %v", expires, err)
					}
					time.Sleep(time.Minute)
				}
				if d := time.Since(began); d < 3*time.Hour-time.Minute || d > 3*time.Hour+time.Minute {
					t.Errorf("ended after %v", d)
				}
			})
		})
		t.Run("session-16 write amplification "+strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, short(strategy))
				b := w.browser()
				b.login("ada")
				before := len(w.led.written())
				cookies := 0
				for range 1000 {
					cookies += len(b.get("/api/auth/session").Header["Set-Cookie"])
				}
				if n := len(w.led.written()) - before; n > 0 || cookies > 0 {
					t.Errorf("%d writes, %d cookies", n, cookies)
				}
			})
		})
	}
	t.Run("session-08 logout is final across re-issues", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := enterOffline(t, short("jwt"))
			b := w.browser()
			b.login("ada")
			first := b.clone()
			time.Sleep(20 * time.Minute)
			if b.email(); b.cookies[sessionName] == first.cookies[sessionName] {
				t.Fatal("not re-issued")
			}
			if first.clone().email() == "" {
				t.Fatal("twin: the first token is dead already")
			}
			b.post("/api/auth/signout")
			if first.email() != "" {
				t.Error("the first token lives on")
			}
		})
	})
	t.Run("session-07 logout reaches another replica", func(t *testing.T) {
		t.Parallel()
		for _, strategy := range both {
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, short(strategy))
				c := w.config
				replica, err := authsvc.New(c)
				if err != nil {
					t.Fatal(err)
				}
				defer replica.Close(context.Background())
				b := w.browser()
				b.login("ada")
				copied := b.clone()
				copied.h = replica
				if copied.email() == "" {
					t.Fatal("twin: the replica does not know the session")
				}
				b.post("/api/auth/signout")
				time.Sleep(2*time.Second + time.Millisecond)
				if copied.email() != "" {
					t.Error(strategy + ": lives on at the replica")
				}
			})
		}
	})
	t.Run("session-09 session-10 end all sessions", func(t *testing.T) {
		t.Parallel()
		for _, strategy := range both {
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, short(strategy))
				one, two, other := w.browser(), w.browser(), w.browser()
				one.login("ada")
				two.login("ada")
				other.login("bob")
				time.Sleep(time.Second)
				if err := w.EndSessions(t.Context(), "ada-id"); err != nil {
					t.Fatal(err)
				}
				if one.email() != "" || two.email() != "" || other.email() != "bob@app.test" {
					t.Errorf("%s: %q %q %q", strategy, one.email(), two.email(), other.email())
				}
				time.Sleep(time.Second)
				if one.login("ada"); one.email() != "ada@app.test" {
					t.Error(strategy + ": twin: cannot sign in again")
				}
			})
		}
	})
	t.Run("session-08 tokens of NextAuth.js", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { nextAuthSignOut(t) })
	})
}

// nextAuthSignOut signs out of a session whose first token has neither sid nor
// auth_time, as NextAuth.js makes them, by its re-issued token.
func nextAuthSignOut(t *testing.T) {
	w := enterOffline(t, func(c *authsvc.Config) {
		short("jwt")(c)
		c.Compat = authsvc.NextAuthV4
	})
	const name = "__Secure-next-auth.session-token"
	foreign := sealNextAuthV4(t, map[string]any{"sub": "ada-id", "email": "ada@app.test", "name": "Ada", "jti": "j-1",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()})
	first := w.browser()
	first.cookies[name] = foreign
	b := first.clone()
	time.Sleep(20 * time.Minute)
	if b.email() != "ada@app.test" || b.cookies[name] == foreign {
		t.Fatalf("twin: %q, re-issued %v", b.email(), b.cookies[name] != foreign)
	}
	b.post("/api/auth/signout")
	if first.email() != "" {
		t.Error("the token that NextAuth.js made lives on")
	}
}

// sealNextAuthV4 makes a session token as NextAuth.js v4 does.
func sealNextAuthV4(t *testing.T, claims map[string]any) string {
	t.Helper()
	ring, err := seal.NewRing(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := ring.NextAuthV4("").Seal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
