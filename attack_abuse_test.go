package authsvc_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	t.Run("redirect-08 client address spoof", func(t *testing.T) {
		t.Parallel()
		w := enterOffline(t, limited)
		passed := 0
		for i := range 100 {
			b := w.browser()
			b.header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i))
			if a := b.login(fmt.Sprint("nobody", i)); a.StatusCode == 302 {
				passed++
			}
		}
		if passed > 40 {
			t.Errorf("%d passed", passed)
		}
	})
}
