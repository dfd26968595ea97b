package authsvc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"authsvc"
)

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

func TestAttackLimits(t *testing.T) {
	t.Parallel()
	limited := func(c *authsvc.Config) { c.RateLimit.Disabled = false }
	t.Run("abuse-01 one client", func(t *testing.T) {
		t.Parallel()
		w := enterOffline(t, limited)
		b := w.browser()
		token := b.csrf()
		refused := 0
		for i := range 100 {
			a := b.clone().form("/api/auth/callback/credentials", url.Values{"csrfToken": {token}, "username": {fmt.Sprint("nobody", i)}, "password": {"x"}, "json": {"true"}})
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
			if a := b.login(fmt.Sprint("nobody", i)); a.StatusCode == 302 {
				passed++
			}
		}
		if passed > 40 {
			t.Errorf("%d passed", passed)
		}
	})
	t.Run("abuse-02 lock-out as weapon: other methods", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { // attempts past the account's limit wait
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
			if a := b.login("ada"); a.location() != origin {
				t.Errorf("the same account from a browser that nobody knows: %d %s", a.StatusCode, a.location())
			}
		})
	})
}
