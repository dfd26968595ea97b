package verify

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

func session07(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = kind.Open(t), "database" })
		second := w.Replica(t)
		b, other := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "grace")
		copied := sessionAt(b, second)
		if copied.Clone().Email() != "ada@example.com" {
			t.Fatal("twin: the second replica does not know the session")
		}
		b.Post("/api/auth/signout")
		began := time.Now()
		if copied.Clone().Email() != "" || sessionAt(b, second).Email() != "" {
			t.Errorf("still valid at the second replica")
		}
		if took := time.Since(began); measures() && took > time.Second {
			t.Errorf("asked only %v later", took)
		}
		if sessionAt(other, second).Email() != "grace@example.com" {
			t.Error("twin: another user's session ended")
		}
	})
	t.Figure("ended at once")
}

// jwtBound limits the time until a sign-out reaches every replica with strategy jwt.
const jwtBound = 5 * time.Second

func session08(t *T) {
	for _, kind := range stores.All()[:2] { // the stores that work in a bubble
		t.Run(kind.Name, func(t *T) {
			sessionBubble(t, func(t *T) { session08Replicas(t, kind) })
			sessionBubble(t, func(t *T) { session08OneOfThree(t, kind) })
		})
	}
	t.Run("re-issued", func(t *T) { sessionBubble(t, session08Reissued) })
	if t.Mode != modeNone {
		t.Run("of NextAuth.js", func(t *T) { sessionBubble(t, session08Foreign) })
	}
}

// session08Replicas checks that a sign-out at one replica reaches the other within
// the bound, and that GET session makes no store call for it.
func session08Replicas(t *T, kind stores.Kind) {
	w := t.EnterOffline(func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = kind.Open(t), "jwt" })
	second := w.Replica(t)
	b, other := w.Browser(), w.Browser()
	b.Login("ada")
	other.Login("bob")
	copied := b.Clone()
	var calls atomic.Int64
	w.Ledger.BreakAt(func(int, string) arena.Failure { calls.Add(1); return arena.Works })
	for range 100 {
		if sessionAt(copied, second).Email() != "ada@app.test" || copied.Clone().Email() != "ada@app.test" {
			t.Fatal("twin: no session")
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("200 GET session asked the store %d times", n)
	}
	w.Ledger.BreakAt(nil)
	b.Post("/api/auth/signout")
	if copied.Clone().Email() != "" {
		t.Error("still valid at the replica that ended it")
	}
	began := time.Now()
	for sessionAt(copied, second).Email() != "" {
		if time.Since(began) > jwtBound {
			t.Fatalf("still valid at the second replica after %v", jwtBound)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if sessionAt(other, second).Email() != "bob@app.test" {
		t.Error("twin: another user's session ended")
	}
	t.Figure("%s: ended everywhere after %v, no store call to read", kind.Name, time.Since(began).Round(10*time.Millisecond))
}

// session08Reissued checks that all tokens of a session end with it.
func session08Reissued(t *T) {
	w := t.EnterOffline(sessionShort("jwt"))
	b := w.Browser()
	b.Login("ada")
	jars := []*arena.Browser{b.Clone()}
	for range 3 {
		time.Sleep(12 * time.Minute)
		if b.Email() == "" || b.Cookies[w.SessionCookie()] == jars[len(jars)-1].Cookies[w.SessionCookie()] {
			t.Fatal("twin: not re-issued")
		}
		jars = append(jars, b.Clone())
	}
	for i, jar := range jars {
		if jar.Clone().Email() == "" {
			t.Fatalf("twin: token %d is dead already", i)
		}
	}
	jars[1].Clone().Post("/api/auth/signout")
	for i, jar := range jars {
		if jar.Email() != "" {
			t.Errorf("token %d is still valid", i)
		}
	}
}

// session08Foreign signs out with the re-issued token of a session. The session's
// first token has neither sid nor auth_time, like those of NextAuth.js.
func session08Foreign(t *T) {
	w := t.EnterOffline(sessionShort("jwt"))
	made := newJWEBench(t, w).seal(t, `{"sub":"ada-id","email":"ada@app.test","name":"Ada","jti":"j-1",`+jweTimes(0, time.Hour)+`}`)
	first := w.Browser()
	first.Cookies[w.SessionCookie()] = made
	b := first.Clone()
	time.Sleep(20 * time.Minute)
	if b.Email() != "ada@app.test" || b.Cookies[w.SessionCookie()] == made {
		t.Fatalf("twin: %q, re-issued %v", b.Email(), b.Cookies[w.SessionCookie()] != made)
	}
	b.Post("/api/auth/signout")
	if first.Email() != "" {
		t.Error("the token that NextAuth.js made is still valid")
	}
}

// sessionEnded signs ada in twice and bob once, at two replicas, and calls end, which
// must end ada's sessions everywhere in time. If again is true, ada must be able to
// sign in again.
func sessionEnded(t *T, strategy string, end func(t *T, w *arena.World), again bool) {
	sessionBubble(t, func(t *T) {
		w := t.EnterOffline(sessionStrategy(strategy))
		second := w.Replica(t)
		one, two, other := w.Browser(), w.Browser(), w.Browser()
		one.Login("ada")
		two.Login("ada")
		other.Login("bob")
		time.Sleep(time.Second)
		end(t, w)
		for i, b := range []*arena.Browser{one, two} {
			if b.Clone().Email() != "" {
				t.Errorf("session %d is still valid", i)
			}
		}
		if strategy == "jwt" {
			time.Sleep(jwtBound)
		}
		for i, b := range []*arena.Browser{one, two} {
			if sessionAt(b, second).Email() != "" {
				t.Errorf("session %d is still valid at the second replica", i)
			}
		}
		if other.Clone().Email() != "bob@app.test" || sessionAt(other, second).Email() != "bob@app.test" {
			t.Error("twin: another user's session ended")
		}
		if one.Login("ada"); (one.Email() != "") != again {
			t.Errorf("signing in again: %q", one.Email())
		}
	})
}

func session09(t *T) {
	t.Strategies(func(t *T, strategy string) {
		t.Run("all", func(t *T) {
			sessionEnded(t, strategy, func(t *T, w *arena.World) {
				if err := w.EndSessions(t.Context(), "ada-id"); err != nil {
					t.Error(err)
				}
			}, true)
		})
		t.Run("one", func(t *T) {
			w := t.EnterOffline(sessionStrategy(strategy))
			one, two := w.Browser(), w.Browser()
			one.Login("ada")
			two.Login("ada")
			ended := one.Clone()
			one.Post("/api/auth/signout")
			if ended.Email() != "" || two.Email() != "ada@app.test" {
				t.Errorf("ended %q, the other %q", ended.Email(), two.Email())
			}
		})
	})
}

func session10(t *T) {
	t.Strategies(func(t *T, strategy string) {
		t.Run("deleted", func(t *T) {
			sessionEnded(t, strategy, func(t *T, w *arena.World) {
				if err := w.DeleteUser(t.Context(), "ada-id"); err != nil {
					t.Error(err)
				}
			}, strategy == "jwt") // with jwt, the application's Hooks.Authorize decides who exists
		})
		t.Run("deleted in the store", func(t *T) {
			sessionEnded(t, strategy, func(t *T, w *arena.World) {
				if err := w.Store.DeleteUser(t.Context(), "ada-id", &adapter.Revocation{Key: "account:ada-id", UserID: "ada-id", Expires: time.Now().Add(time.Hour)}); err != nil {
					t.Error(err)
				}
				if strategy == "jwt" { // SECURITY.md: cookie sessions do not notice; EndSessions ends them
					if err := w.EndSessions(t.Context(), "ada-id"); err != nil {
						t.Error(err)
					}
				}
			}, strategy == "jwt")
		})
		t.Run("disabled", func(t *T) { session10Disabled(t, strategy) })
	})
}

// session10Disabled uses a SignIn callback that refuses, then EndSessions.
func session10Disabled(t *T, strategy string) {
	var blocked atomic.Bool
	w := t.Enter(func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if blocked.Load() && a.User.Email == "ada@example.com" {
				return "", authsvc.ErrAccessDenied
			}
			return "", nil
		}
	})
	b, other := w.Browser(), w.Browser()
	b.SignIn(w.OP, "ada")
	other.SignIn(w.OP, "grace")
	who := w.Person(t, b)
	blocked.Store(true)
	if err := w.EndSessions(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	if b.Clone().Email() != "" {
		t.Error("lives on")
	}
	w.MustRefuseLate(t, func() *browser.Answer { return b.SignIn(w.OP, "ada") })
	if b.Email() != "" || other.Email() != "grace@example.com" {
		t.Errorf("the disabled user is %q, the other %q", b.Email(), other.Email())
	}
	blocked.Store(false)
	if b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
		t.Error("twin: enabled again, but cannot sign in")
	}
}

func session11(t *T) {
	t.Strategies(func(t *T, strategy string) {
		sessionBubble(t, func(t *T) {
			w := t.EnterOffline(sessionShort(strategy))
			b, idle := w.Browser(), w.Browser()
			b.Login("ada")
			idle.Login("ada")
			time.Sleep(time.Hour - 2*time.Second)
			if b.Email() == "" {
				t.Error("twin: ended too early")
			}
			time.Sleep(2*time.Second + sessionLeeway(t, strategy))
			if idle.Email() != "" {
				t.Error("still valid after the idle limit")
			}
			if b.Email() == "" {
				t.Error("twin: a session in use is not extended")
			}
		})
	})
}

// sessionLeeway returns how much longer a JWT is accepted: 15 s in compat modes, as
// in NextAuth.js.
func sessionLeeway(t *T, strategy string) time.Duration {
	if strategy == "jwt" && t.Mode != modeNone {
		return 15 * time.Second
	}
	return 0
}

// session12 reads the session hourly, with the default lifetimes except for the
// absolute one, which the scale sets; the default is 90 days. A bubble runs every
// sweep, 1440 a day, and with jwt every poll for revocations, 43200 a day.
func session12(t *T) {
	days := map[string]int{"database": t.Scale("days (database)", 2, 32, 90), "jwt": t.Scale("days (jwt)", 1, 3, 90)}
	if theScale() == ci && t.Mode != modeNone { // the modes have no times of their own
		days["database"] = days["jwt"]
	}
	t.Strategies(func(t *T, strategy string) {
		sessionBubble(t, func(t *T) {
			absolute := time.Duration(days[strategy]) * 24 * time.Hour
			idle := min(720*time.Hour, absolute/2)
			w := t.EnterOffline(func(c *authsvc.Config) {
				c.Session = authsvc.SessionOptions{Strategy: authsvc.Strategy(strategy), MaxAge: idle, UpdateAge: min(24*time.Hour, idle/2), AbsoluteMaxAge: absolute}
			})
			b := w.Browser()
			b.Login("ada")
			began := time.Now()
			for b.Email() != "" {
				if time.Since(began) > absolute+25*time.Hour {
					t.Fatal("it never ends")
				}
				expires, err := time.Parse(time.RFC3339, b.Session()["expires"].(string))
				if err != nil || expires.After(began.Add(absolute)) {
					t.Fatalf("promises %v, %v", expires, err)
				}
				time.Sleep(time.Hour)
			}
			if d := time.Since(began); d < absolute-time.Hour || d > absolute+time.Hour {
				t.Errorf("ended after %v", d)
			}
		})
	})
}

// session13 sends the cookie by hand, as if its Expires had been edited.
func session13(t *T) {
	t.Strategies(func(t *T, strategy string) {
		sessionBubble(t, func(t *T) {
			w := t.EnterOffline(func(c *authsvc.Config) {
				sessionShort(strategy)(c)
				c.Session.UpdateAge = time.Hour // not extended before the end
			})
			b := w.Browser()
			b.Login("ada")
			line := w.SessionCookie() + "=" + b.Cookies[w.SessionCookie()]
			time.Sleep(time.Hour - time.Second)
			if a := sessionRaw(w, line); !strings.Contains(a.Text, "ada@app.test") {
				t.Errorf("twin: a second before its end: %d %s", a.StatusCode, a.Text)
			}
			time.Sleep(2*time.Second + sessionLeeway(t, strategy))
			if a := sessionRaw(w, line); a.StatusCode != http.StatusOK || a.Text != sessionEmpty(t) {
				t.Errorf("a second after its end: %d %s", a.StatusCode, a.Text)
			}
		})
	})
}

// A sessionSlow store takes time to answer, as one over a network does.
type sessionSlow struct{ adapter.Adapter }

func (s sessionSlow) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, authsvc.User, error) {
	r, u, err := s.Adapter.GetSession(ctx, token, digest)
	time.Sleep(5 * time.Millisecond)
	return r, u, err
}

// session16 sends 1000 requests in a second, one after another and 100 at once.
func session16(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for _, atOnce := range []int{1, 100} {
			sessionBubble(t, func(t *T) {
				w := t.EnterOffline(func(c *authsvc.Config) {
					sessionShort(strategy)(c)
					c.Adapter = sessionSlow{c.Adapter}
				})
				b := w.Browser()
				b.Login("ada")
				before := len(w.Ledger.Written())
				writes := func() int {
					for range 1000 / atOnce {
						together(atOnce, func(int) {
							if b.Clone().Email() != "ada@app.test" {
								t.Error("no session")
							}
						})
						time.Sleep(time.Duration(atOnce) * time.Millisecond)
					}
					n := len(w.Ledger.Written()) - before
					before += n
					return n
				}
				if n := writes(); n != 0 {
					t.Errorf("%d at once: %d writes for a fresh session", atOnce, n)
				}
				time.Sleep(11 * time.Minute)
				want := 0
				if strategy == "database" {
					want = 1
				}
				if n := writes(); n != want {
					t.Errorf("%d at once: %d writes an update age, want %d", atOnce, n, want)
				}
				time.Sleep(58 * time.Minute)
				if b.Clone().Email() == "" && strategy == "database" {
					t.Error("twin: it is not extended")
				}
			})
		}
	})
}
