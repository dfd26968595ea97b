package engine_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// twoServices starts two services on one host name and returns a browser at each. Both
// share a cookie jar, as with a real browser.
func twoServices(t *testing.T, tune, second func(*authsvc.Config)) (a, b *arena.World, atA, atB *arena.Browser) {
	t.Helper()
	a = arena.Start(t, tune)
	b = arena.Start(t, func(c *authsvc.Config) {
		tune(c)
		c.URL, c.Secrets = "https://app.test:8443", []string{"zT5uX7wA9bD2eF4gH6jK8lM0nP2qR4sS6vV8nYc0mZ1"}
		second(c)
	})
	atA, atB = a.Browser(), b.Browser()
	atB.Cookies = atA.Cookies
	return a, b, atA, atB
}

// TestServicesWithPrefixes checks that two services on one host name do not disturb each
// other if their cookies have different names: an attempt, a form and a session of the
// one outlive attempts, sign-ins and sign-outs at the other.
func TestServicesWithPrefixes(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		a, b, atA, atB := twoServices(t, func(c *authsvc.Config) { c.Compat, c.Session.Strategy = mode, strategy }, func(c *authsvc.Config) {
			c.Cookies.Prefix = "other"
			if mode != authsvc.CompatNone {
				c.Cookies = authsvc.CookieOptions{Prefix: "other", Session: "__Secure-other.session-token", CSRF: "__Host-other.csrf-token", CallbackURL: "__Secure-other.callback-url"}
			}
		})
		authorization, form := atA.Begin("op", "callbackUrl", "/in"), atA.CSRF()
		for range 6 { // more than one service keeps
			atB.Begin("op")
		}
		atB.SignInByMail(b, "ada@app.test")
		if back := atA.Get(atA.Approve(a.OP, authorization, "ada")); back.Location() != arena.Origin+"/in" {
			t.Fatalf("back at %s\n%s", back.Location(), a.Logs)
		}
		if atA.Email() != "ada@example.com" || atB.Email() != "ada@app.test" {
			t.Errorf("signed in as %q and %q", atA.Email(), atB.Email())
		}
		if form == atA.CSRF() {
			t.Error("twin: a sign-in keeps the token")
		}
		form = atA.CSRF()
		atB.Get("/api/auth/signin")
		atB.Post("/api/auth/signout")
		if atA.CSRF() != form || atA.Email() != "ada@example.com" || atB.Email() != "" {
			t.Errorf("after a sign-out at the other: %q, %q", atA.Email(), atB.Email())
		}
		for name := range atA.Cookies {
			if !strings.Contains(name, "authsvc.") && !strings.Contains(name, "other.") && mode == authsvc.CompatNone {
				t.Errorf("cookie %s", name)
			}
		}
		if logs := a.Logs.String() + b.Logs.String(); strings.Contains(logs, "another service on this host name") {
			t.Errorf("warned: %s", logs)
		}
	})
}

// TestServicesWithOneName checks two services whose cookies have the same names: the
// one leaves the attempts of the other alone, its log says once what is wrong, and the
// page names the cause.
func TestServicesWithOneName(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		a, b, atA, atB := twoServices(t, func(c *authsvc.Config) { c.Compat, c.Session.Strategy = mode, strategy }, func(*authsvc.Config) {})
		authorization := atA.Begin("op", "callbackUrl", "/in")
		mine := maps.Clone(txCookies(atA))
		for range 7 {
			atB.Begin("op")
		}
		for name, value := range mine {
			if atA.Cookies[name] != value {
				t.Errorf("the attempt %s is gone", name)
			}
		}
		if n := len(txCookies(atB)); n != len(mine)+5 {
			t.Errorf("%d attempts, want 5 of the service beside %d", n, len(mine))
		}
		page := atA.Get(atA.Approve(a.OP, authorization, "ada"))
		for page.StatusCode == http.StatusFound {
			page = atA.Get(page.Location())
		}
		if !strings.Contains(page.Text, "your browser no longer has the cookies of this sign-in") || strings.Contains(page.Text, "host name") {
			t.Errorf("%d %s\n%s", page.StatusCode, page.Text, a.Logs)
		}
		if n := strings.Count(b.Logs.String(), "another service on this host name"); n != 1 {
			t.Errorf("logged %d times: %s", n, b.Logs)
		}
		atB.SignInByMail(b, "ada@app.test")
		if atA.Email() != "" {
			t.Errorf("a session of the other service counts")
		}
		if named := strategy == authsvc.StrategyJWT && mode != authsvc.NextAuthV4; strings.Contains(a.Logs.String(), "another service on this host name") != named { // the session names its key
			t.Errorf("the session of the other service: warned %v\n%s", !named, a.Logs)
		}
		if strings.Contains(b.Logs.String(), slices.Collect(maps.Values(mine))[0]) {
			t.Error("the log has a cookie's value")
		}
	})
}

// TestRoomForAttempts checks which attempts are dropped if room is needed: first those
// that do not open, then the oldest own ones.
func TestRoomForAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others, size int // of cookies that do not open
		own          int
		keepsOthers  int
		keepsOwn     int
	}{
		"none":               {0, 0, 4, 0, 5},
		"a few":              {10, 20, 4, 10, 5},
		"too many":           {12, 20, 4, 10, 5},
		"large":              {10, 800, 0, 6, 1},
		"large, beside mine": {4, 1500, 4, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := arena.Start(t, nil).Browser()
			for range c.own {
				b.Begin("op")
			}
			for i := range c.others {
				b.Cookies[fmt.Sprintf("%sother-%010d", txPrefix, i)] = strings.Repeat("x", c.size)
			}
			b.Begin("op")
			others, size := 0, 0
			for name, value := range b.Cookies {
				size += len(name) + len(value) + 3
				if strings.HasPrefix(name, txPrefix+"other-") {
					others++
				}
			}
			if own := len(txCookies(b)) - others; others != c.keepsOthers || own != c.keepsOwn || size > 6<<10 {
				t.Errorf("%d others and %d own attempts are left, %d bytes", others, own, size)
			}
		})
	}
}
