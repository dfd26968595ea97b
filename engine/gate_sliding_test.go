package engine_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/quiet"
)

// kept is a browser that keeps its cookies until they expire, and receives no new ones.
type kept struct {
	b   *arena.Browser
	end time.Time // of the session's cookie
}

// withoutNew signs in and lets no further cookie reach the browser.
func withoutNew(t *testing.T, w *arena.World) *kept {
	t.Helper()
	b := w.Browser()
	a := b.Login("ada")
	for _, c := range a.Cookies() {
		if strings.Contains(c.Name, "session") {
			return &kept{b, c.Expires}
		}
	}
	t.Fatalf("no session: %v", a.Header)
	return nil
}

// ask asks about a request as nginx does.
func (k *kept) ask() *browser.Answer {
	b := k.b.Clone()
	if !time.Now().Before(k.end) {
		clear(b.Cookies)
	}
	return asProxy(b, "auth-request", "GET", "/dash")
}

// day is a day in a run of make full. Otherwise it is shorter, since the service calls
// its store every few seconds, and a month of that takes minutes of CPU time.
var day = map[bool]time.Duration{false: time.Hour, true: 24 * time.Hour}[quiet.Full]

// shortDays gives sessions their usual 30 days and an absolute end.
func shortDays(c *authsvc.Config, absolute time.Duration) {
	c.Session.MaxAge, c.Session.UpdateAge, c.Session.AbsoluteMaxAge = 30*day, day, absolute*day
}

// TestSlidingWithoutCookies checks users behind a proxy that drops every cookie of the
// checks. Those who come every day stay signed in until the absolute end; others are
// signed out.
func TestSlidingWithoutCookies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, func(c *authsvc.Config) { checkedWorld(c); shortDays(c, 33) })
		ada, bob := withoutNew(t, w), withoutNew(t, w)
		for i := range 32 {
			time.Sleep(day)
			if a := ada.ask(); a.StatusCode != http.StatusOK {
				t.Fatalf("day %d: %d", i+1, a.StatusCode)
			}
		}
		if a := bob.ask(); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("after 32 days without use: %d", a.StatusCode)
		}
		time.Sleep(day)
		if a := ada.ask(); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("after the absolute end: %d", a.StatusCode)
		}
	})
}

// TestSlidingCookie checks when the cookie expires, by strategy and mode, and that GET
// session still says when the session does.
func TestSlidingCookie(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		for mode, slides := range map[authsvc.Compat]bool{authsvc.CompatNone: strategy == "jwt", authsvc.NextAuthV4: true, authsvc.AuthJSV5: true} {
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy, c.Compat = strategy, mode; shortDays(c, 90) })
				b := w.Browser()
				left := func(a *browser.Answer) time.Duration {
					for _, c := range a.Cookies() {
						if strings.Contains(c.Name, "session") {
							return time.Until(c.Expires).Round(time.Minute)
						}
					}
					t.Errorf("%s, %s: no cookie of the session", strategy, mode)
					return 0
				}
				first, want := left(b.Login("ada")), 90*day
				if slides {
					want = 30 * day
				}
				time.Sleep(2 * day)
				a := b.Get("/api/auth/session")
				second := left(a)
				if !slides {
					second += 2 * day
				}
				if first != want || second != want {
					t.Errorf("%s, %s: %v, later %v, want %v", strategy, mode, first, second, want)
				}
				if end := time.Now().Add(30 * day).UTC().Format("2006-01-02T15:04"); !strings.Contains(a.Text, `"expires":"`+end) {
					t.Errorf("%s, %s: %s", strategy, mode, a.Text)
				}
			})
		}
	}
}

// TestCheckRenewsOnce checks that, with sessions in cookies, the answer to a check
// renews with one line or not at all, and that the log says if the new cookie does not
// reach the browser.
func TestCheckRenewsOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bytes int // added to the session
		lines int
		warns bool
	}{
		"one cookie":      {0, 1, true},
		"several cookies": {5000, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterOffline(t, func(c *authsvc.Config) {
					checkedWorld(c)
					c.Session.Strategy = "jwt"
					c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
						p.Claims["filler"] = strings.Repeat("x", tt.bytes)
						return p.Claims, nil
					}
				})
				ada, returning := withoutNew(t, w), w.Browser()
				returning.Login("bob")
				time.Sleep(25 * time.Hour) // update_age is a day
				for i := range 4 {
					if a := ada.ask(); a.StatusCode != http.StatusOK || len(a.Header["Set-Cookie"]) != tt.lines {
						t.Errorf("%d: %d %v", i, a.StatusCode, a.Header["Set-Cookie"])
					}
					a := asProxy(returning, "auth-request", "GET", "/dash")
					if again := len(a.Header["Set-Cookie"]); a.StatusCode != http.StatusOK || again != 0 && i > 0 && tt.lines == 1 {
						t.Errorf("%d, as it should be: %d %v", i, a.StatusCode, a.Header["Set-Cookie"])
					}
					if warned := strings.Contains(w.Logs.String(), "do not reach the browser"); warned != (tt.warns && i >= 2) {
						t.Errorf("%d: warned %v\n%s", i, warned, w.Logs)
					}
					time.Sleep(40 * time.Second)
				}
				if n := strings.Count(w.Logs.String(), "do not reach the browser"); n > 1 {
					t.Errorf("warned %d times", n)
				}
			})
		})
	}
}
