package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
)

func TestDeviceCookie(t *testing.T) {
	t.Parallel()
	t.Run("a stranger's failures do not touch it", strangersFailures)
	t.Run("not for another account, forged, of another service or over", uselessDeviceCookies)
	t.Run("survives a new secret", deviceCookieAndRotation)
	t.Run("five accounts, one small cookie", manyAccountsOfADevice)
}

func strangersFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, at := guests(t, nil)
		owner := at("203.0.113.9:1")
		if r := owner.login("Ada", "right"); !r.in() || owner.cookies[knownCookie] == "" {
			t.Fatalf("%d, known %q", r.StatusCode, owner.cookies[knownCookie])
		}
		time.Sleep(time.Minute)
		useUp(t, at, "ada")
		for i := range 9 {
			if r := owner.login("ada", "wrong"); r.in() || r.took > 0 {
				t.Fatalf("failure %d: %d after %s", i, r.StatusCode, r.took)
			}
		}
		if r := owner.login("ada", "right"); !r.in() || r.took > 0 {
			t.Errorf("%d after %s", r.StatusCode, r.took)
		}
		if r := owner.login("ada", "right"); !late(r) {
			t.Errorf("its own count has no end: %d after %s", r.StatusCode, r.took)
		}
	})
}

func uselessDeviceCookies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, at := guests(t, nil)
		_, elsewhere := guests(t, func(c *authsvc.Config) { c.Secrets = []string{"another 0123456789 abcdefghijklmnopqrstuvwxyz"} })
		bob, foreign, ada := at("203.0.113.9:1"), elsewhere("203.0.113.9:1"), at("203.0.113.9:1")
		bob.login("bob", "right")
		foreign.login("ada", "right")
		ada.login("ada", "right")
		failed := at("203.0.113.9:1")
		if failed.login("ada", "wrong"); failed.cookies[knownCookie] != "" {
			t.Error("a failure makes a browser known")
		}
		cut := ada.cookies[knownCookie]
		for name, value := range map[string]string{"bob's": bob.cookies[knownCookie], "foreign": foreign.cookies[knownCookie],
			"cut": cut[:len(cut)-2], "long": strings.Repeat("x", 5000), "session": ada.cookies["__Host-authsvc.session"]} {
			time.Sleep(time.Minute)
			useUp(t, at, "ada")
			g := at("203.0.113.10:1")
			g.cookies[knownCookie] = value
			if r := g.login("ada", "wrong"); !late(r) {
				t.Errorf("%s: %d after %s", name, r.StatusCode, r.took)
			}
		}
		if r := ada.login("ada", "right"); !r.in() || r.took > 0 {
			t.Errorf("twin: %d after %s", r.StatusCode, r.took)
		}
		time.Sleep(180 * 24 * time.Hour)
		useUp(t, at, "ada")
		if r := ada.login("ada", "wrong"); !late(r) {
			t.Errorf("after half a year: %d after %s", r.StatusCode, r.took)
		}
	})
}

func deviceCookieAndRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var old []string
		_, at := guests(t, func(c *authsvc.Config) { old = c.Secrets })
		owner := at("203.0.113.9:1")
		owner.login("ada", "right")
		rotated, at := guests(t, func(c *authsvc.Config) {
			c.Secrets = append([]string{"another 0123456789 abcdefghijklmnopqrstuvwxyz"}, old...)
		})
		useUp(t, at, "ada")
		owner.h = rotated
		if r := owner.login("ada", "right"); !r.in() || r.took > 0 {
			t.Errorf("%d after %s", r.StatusCode, r.took)
		}
	})
}

func manyAccountsOfADevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, at := guests(t, nil)
		g := at("203.0.113.9:1")
		var line string
		for i := range 6 {
			r := g.login(fmt.Sprintf("%d%s", i, strings.Repeat("long", 1000)), "right")
			for _, c := range r.Cookies() {
				if c.Name == knownCookie {
					line = c.Raw
				}
			}
		}
		if n := len(g.cookies[knownCookie]); n == 0 || n > 1000 {
			t.Errorf("%d bytes", n)
		}
		for _, want := range []string{"; Path=/;", "; HttpOnly", "; Secure", "; SameSite=Lax", "; Expires="} {
			if !strings.Contains(line+";", want) {
				t.Errorf("%s is not in %s", want, line)
			}
		}
		if strings.Contains(line, "Domain") {
			t.Errorf("%s", line)
		}
		time.Sleep(time.Minute)
		for i, known := range []bool{false, true, true, true, true, true} {
			name := fmt.Sprintf("%d%s", i, strings.Repeat("long", 1000))
			useUp(t, at, name)
			if r := g.login(name, "wrong"); late(r) == known {
				t.Errorf("account %d: %d after %s", i, r.StatusCode, r.took)
			}
		}
	})
}
