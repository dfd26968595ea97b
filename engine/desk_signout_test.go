package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestSignOutAfterBrowserLeft checks that a sign-out whose token was accepted ends the
// session even if the browser has disconnected.
func TestSignOutAfterBrowserLeft(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
			b := w.Browser()
			b.Login("ada")
			stolen, gone := b.Clone(), httptest.NewRequest(http.MethodPost, b.Abs("/api/auth/signout"),
				strings.NewReader(url.Values{"csrfToken": {b.CSRF()}}.Encode()))
			gone.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			ctx, cancel := context.WithCancel(gone.Context())
			cancel()
			b.Do(gone.WithContext(ctx))
			if stolen.Email() != "" {
				t.Error("the session is still valid")
			}
		})
	}
}
