package authsvc_test

import (
	"authsvc/internal/arena"
	"testing"
	"testing/synctest"

	"authsvc"
)

// TestClose: nothing goes on after Close.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine of the bubble is left
		for _, strategy := range []string{"database", "jwt"} {
			w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			w.Browser().Post("/api/auth/signin/email", "email", "ada@app.test")
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
