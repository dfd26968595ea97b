package engine_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// TestAuditEvents: each event is recorded exactly once, with user, action, time, client
// and outcome. The log and the store have the same events.
func TestAuditEvents(t *testing.T) {
	t.Parallel()
	for name, c := range auditCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startAudited(t, c.tune)
			b := w.Browser()
			b.Header["User-Agent"] = []string{"test agent"}
			if c.prepare != nil {
				c.prepare(w, b)
			}
			w.prepared()
			began := time.Now().Add(-time.Millisecond)
			c.run(w, b)
			w.broken("")
			if err := w.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			w.judge(t, c.want, began)
		})
	}
}

// TestAuditRefreshTokenRefused: the provider of the harness must answer 400. The name
// of the event is tested by TestRefreshRefused.
func TestAuditRefreshTokenRefused(t *testing.T) {
	t.Parallel()
	w := startAudited(t, nil)
	w.OP.SetFault(idp.Fault{
		TokenAnswer: func(a map[string]any) { a["refresh_token"], a["expires_in"] = "rt-0", 1 },
		Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointToken: func(rw http.ResponseWriter, r *http.Request) bool {
				if r.ParseForm(); r.PostForm.Get("grant_type") != "refresh_token" {
					return false
				}
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusBadRequest)
				rw.Write([]byte(`{"error":"invalid_grant"}`)) //nolint:errcheck
				return true
			},
		},
	})
	w.Browser().SignIn(w.OP, "ada")
	w.prepared()
	began := time.Now().Add(-time.Millisecond)
	for range 3 {
		if _, err := w.AccessToken(t.Context(), w.user(ada), "op", nil); !errors.Is(err, authsvc.ErrTokenRefused) {
			t.Fatal(err)
		}
	}
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.judge(t, []brief{{Name: "token.refused", Reason: "revoked", Provider: "op", User: ada, Apart: true}}, began)
}

// TestAuditHoldsNoSecret: events contain no address, link, code, cookie or token.
func TestAuditHoldsNoSecret(t *testing.T) {
	t.Parallel()
	w := startAudited(t, nil)
	b := w.Browser()
	viaLink(w, b)
	back := b.Approve(w.OP, b.Begin("op", "link", "true"), "ada")
	b.Get(back)
	b.Login("nobody", "csrfToken", b.CSRF())
	postLogoutToken(w.World, t, "op", url.Values{"logout_token": {logoutToken(w.World, t, "ada", nil)}})
	secrets := []string{mailed, ada, "ada@", "right", arena.Secret, arena.ClientSecret, arena.MustURL(t, back).Query().Get("code"), arena.MustURL(t, back).Query().Get("state")}
	for _, v := range b.Cookies {
		secrets = append(secrets, v)
	}
	var lines bytes.Buffer
	for line := range strings.Lines(w.Logs.String()) {
		if strings.Contains(line, "msg=audit ") {
			lines.WriteString(line)
		}
	}
	for _, secret := range secrets {
		if len(secret) > 3 && strings.Contains(lines.String(), secret) {
			t.Errorf("%q is in an event", secret)
		}
	}
	if n := len(w.events()); n < 5 {
		t.Errorf("only %d events", n)
	}
}
