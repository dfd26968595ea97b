package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
)

const txPrefix = "__Host-authsvc.tx."

// txCookies returns the pending attempts of a browser.
func txCookies(b *arena.Browser) map[string]string {
	found := map[string]string{}
	for name, v := range b.Cookies {
		if strings.HasPrefix(name, txPrefix) {
			found[name] = v
		}
	}
	return found
}

// A meanwhile is an event in another tab while a person is at the provider.
type meanwhile struct {
	name string
	do   func(t *testing.T, w *arena.World, b *arena.Browser)
	// endsLinks says that the event ends an attempt to link.
	endsLinks bool
}

func dropSession(b *arena.Browser) {
	for _, name := range b.SessionCookies() {
		delete(b.Cookies, name)
	}
}

var meanwhiles = []meanwhile{
	{"nothing", func(*testing.T, *arena.World, *arena.Browser) {}, false},
	{"signed out", func(_ *testing.T, _ *arena.World, b *arena.Browser) { b.Post("/api/auth/signout") }, true},
	{"ended elsewhere", func(t *testing.T, w *arena.World, b *arena.Browser) { endSession(t, w, b) }, false},
	{"ended elsewhere, cookie cleared", func(t *testing.T, w *arena.World, b *arena.Browser) {
		endSession(t, w, b)
		if b.Session(); len(b.SessionCookies()) != 0 {
			t.Error("GET session leaves the dead cookie")
		}
	}, false},
	{"expired", func(*testing.T, *arena.World, *arena.Browser) { time.Sleep(2 * time.Minute) }, false},
	{"expired, cookie cleared", func(_ *testing.T, _ *arena.World, b *arena.Browser) {
		time.Sleep(2 * time.Minute)
		b.Session()
	}, false},
	{"expired, cookie dropped by the browser", func(_ *testing.T, _ *arena.World, b *arena.Browser) {
		time.Sleep(2 * time.Minute)
		dropSession(b)
	}, false},
	{"expired, sign-in page opened", func(_ *testing.T, _ *arena.World, b *arena.Browser) {
		time.Sleep(2 * time.Minute)
		b.Session()
		b.Get("/api/auth/signin")
		b.CSRF()
	}, false},
	{"another user signed in", signInOther, true},
	{"another user signed in, and that session expired", func(t *testing.T, w *arena.World, b *arena.Browser) {
		signInOther(t, w, b)
		time.Sleep(2 * time.Minute)
		b.Session()
	}, true},
}

// endSession ends the sessions of the signed-in user, as another device does.
func endSession(t *testing.T, w *arena.World, b *arena.Browser) {
	t.Helper()
	if id := w.Person(t, b); id != "" {
		if err := w.EndSessions(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

// signInOther signs in another user, regardless of the current one.
func signInOther(t *testing.T, w *arena.World, b *arena.Browser) {
	t.Helper()
	b.Post("/api/auth/signin/email", "email", "other@app.test")
	if b.Post("/api/auth/callback/email", formOf(t, arena.Link(t, w.Mail.Next(t)))...); b.Email() != "other@app.test" {
		t.Errorf("signed in as %q", b.Email())
	}
}

// inEveryMode runs a test in a bubble, with both strategies and in every mode. Sessions
// live for a minute.
func inEveryMode(t *testing.T, tune func(*authsvc.Config), test func(t *testing.T, w *arena.World)) {
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					test(t, arena.EnterInMemory(t, func(c *authsvc.Config) {
						c.Session, c.Compat = authsvc.SessionOptions{Strategy: authsvc.Strategy(strategy), MaxAge: time.Minute}, mode
						if tune != nil {
							tune(c)
						}
					}))
				})
			})
		}
	}
}

// TestAttemptOutlivesSession checks that a sign-in waiting at the provider can finish
// after the session in which it began has ended.
func TestAttemptOutlivesSession(t *testing.T) {
	t.Parallel()
	for _, m := range meanwhiles {
		for _, signedIn := range []bool{false, true} {
			name := m.name
			if signedIn {
				name += ", begun with a session"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				inEveryMode(t, nil, func(t *testing.T, w *arena.World) {
					b := w.Browser()
					if signedIn {
						b.SignInByMail(w, "before@app.test")
					}
					authorization := b.Begin("op", "callbackUrl", "/in")
					m.do(t, w, b)
					a := b.Get(b.Approve(w.OP, authorization, "ada"))
					want := arena.Origin + "/in"
					if signedIn && m.endsLinks && w.Config.Compat != authsvc.CompatNone { // in these modes, a session implies linking
						want = "error=OAuthCallback"
					}
					if !strings.Contains(a.Location(), want) {
						t.Fatalf("back at %s, want %s\n%s", a.Location(), want, w.Logs)
					}
				})
			})
		}
	}
}

// TestLinkAttemptEndsWithUser checks that an attempt to link ends with another user's
// sign-in and with a sign-out, but not with a new session of the same user. A session
// that has ended links nothing.
func TestLinkAttemptEndsWithUser(t *testing.T) {
	t.Parallel()
	again := meanwhile{"ended elsewhere, the same user signed in", func(t *testing.T, w *arena.World, b *arena.Browser) {
		endSession(t, w, b)
		b.Session()
		b.SignInByMail(w, "before@app.test")
	}, false}
	for _, m := range append(meanwhiles[:len(meanwhiles):len(meanwhiles)], again) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			inEveryMode(t, nil, func(t *testing.T, w *arena.World) {
				b := w.Browser()
				b.SignInByMail(w, "before@app.test")
				me := w.Person(t, b)
				authorization := b.Begin("op", "link", "true", "callbackUrl", "/in")
				m.do(t, w, b)
				left, same := len(txCookies(b)), w.Person(t, b) == me
				a := b.Get(b.Approve(w.OP, authorization, "ada"))
				u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
				switch {
				case same && (a.Location() != arena.Origin+"/in" || err != nil || u.ID != me):
					t.Errorf("twin: back at %s, linked to %q, %v\n%s", a.Location(), u.ID, err, w.Logs)
				case !same && (!strings.Contains(a.Location(), "error=OAuth") || err == nil):
					t.Errorf("back at %s, linked to %q", a.Location(), u.ID)
				case m.endsLinks != (left == 0):
					t.Errorf("%d attempts left", left)
				}
			})
		})
	}
}

// TestSignOutAtProviderOutlivesSession checks the same for a sign-out at the provider.
func TestSignOutAtProviderOutlivesSession(t *testing.T) {
	t.Parallel()
	inEveryMode(t, func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		op.LogoutAtProvider, op.Endpoints.EndSession, op.Scope = true, "https://op.test/end", "openid"
	}, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		out := b.Post("/api/auth/signout", "callbackUrl", "/bye").Location()
		signInOther(t, w, b)
		time.Sleep(2 * time.Minute)
		b.Session()
		back := "/api/auth/signout/return?state=" + arena.MustURL(t, out).Query().Get("state")
		if a := b.Clone().Get(back); a.Location() != arena.Origin+"/bye" {
			t.Errorf("%s leads back to %s\n%s", out, a.Location(), w.Logs)
		}
		if a := w.Browser().Get(back); a.Location() != arena.Origin {
			t.Errorf("in another browser it leads to %s", a.Location())
		}
	})
}

// TestPlantedAttempts checks that planted cookies finish nothing: the attempt, the CSRF
// cookie, or both while a user is signed in. Another browser finishes nothing either.
// The attacker's own browser does.
func TestPlantedAttempts(t *testing.T) {
	t.Parallel()
	csrf := func(w *arena.World, from, to *arena.Browser) {
		to.Cookies[w.CSRFCookie()] = from.Cookies[w.CSRFCookie()]
	}
	attempt := func(from, to *arena.Browser) {
		for name, v := range txCookies(from) {
			to.Cookies[name] = v
		}
	}
	for name, c := range map[string]struct {
		plant  func(w *arena.World, attacker, victim *arena.Browser)
		signed bool // only while a user is signed in
		bound  bool // only where the token is bound to the session
	}{
		"nothing":                {plant: func(*arena.World, *arena.Browser, *arena.Browser) {}},
		"the attempt":            {plant: func(_ *arena.World, a, v *arena.Browser) { attempt(a, v) }},
		"the token":              {plant: csrf},
		"both":                   {func(w *arena.World, a, v *arena.Browser) { csrf(w, a, v); attempt(a, v) }, true, true},
		"the token, then a page": {func(w *arena.World, a, v *arena.Browser) { csrf(w, a, v); v.CSRF(); attempt(a, v) }, true, true},
		"both, then a page": {func(w *arena.World, a, v *arena.Browser) {
			csrf(w, a, v)
			attempt(a, v)
			v.Get("/api/auth/signin")
			v.CSRF()
		}, true, true},
		"the attempt, then a sign-in": {plant: func(w *arena.World, a, v *arena.Browser) { attempt(a, v); v.SignInByMail(w, "victim@app.test") }},
		"the attempt, then a sign-out": {plant: func(_ *arena.World, a, v *arena.Browser) {
			attempt(a, v)
			v.Post("/api/auth/signout")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEveryMode(t, nil, func(t *testing.T, w *arena.World) {
				if c.bound && w.Config.Compat != authsvc.CompatNone {
					return
				}
				for _, signedIn := range []bool{true, false} {
					if c.signed && !signedIn {
						continue
					}
					attacker, victim := w.Browser(), w.Browser()
					if signedIn {
						victim.SignInByMail(w, "victim@app.test")
					}
					victim.Begin("op")
					callback := attacker.Approve(w.OP, attacker.Begin("op"), "grace")
					c.plant(w, attacker, victim)
					if a := victim.Get(callback); !strings.Contains(a.Location(), "error=OAuthCallback") {
						t.Errorf("signed in: %v: back at %s as %q", signedIn, a.Location(), victim.Email())
					}
					if a := attacker.Get(callback); a.Location() != arena.Origin {
						t.Errorf("twin: back at %s\n%s", a.Location(), w.Logs)
					}
				}
			})
		})
	}
}

// TestCSRFBrowserPart checks that the token is new after each sign-in and sign-out, and
// whenever it does not verify. Its first half stays as long as the browser is known to
// be the same.
func TestCSRFBrowserPart(t *testing.T) {
	t.Parallel()
	inEveryMode(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		seen := map[string]bool{}
		token := func(same bool) {
			t.Helper()
			b.Cookies[txPrefix+"AAAAAAAAAAAAAAAA"] = "dead"
			a := b.Get("/api/auth/csrf")
			for _, line := range a.Header["Set-Cookie"] {
				if !strings.HasPrefix(line, w.CSRFCookie()+"=") {
					t.Errorf("GET csrf sets %s", line)
				}
			}
			next := b.CSRF()
			if seen[next] {
				t.Errorf("token %s again", next)
			}
			for old := range seen {
				if kept := old[:len(old)/2] == next[:len(next)/2]; kept != same {
					t.Errorf("%s after %s", next, old)
				}
			}
			clear(seen)
			seen[next] = true
		}
		token(true)
		b.SignIn(w.OP, "ada")
		token(true)
		b.Post("/api/auth/signout")
		token(true)
		b.Cookies[w.CSRFCookie()] = w.Browser().Cookies[w.CSRFCookie()]
		token(false)
	})
}
