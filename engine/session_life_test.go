package engine_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// readOnly is a store that can be read but refuses changes of sessions.
type readOnly struct{ adapter.Adapter }

var errReadOnly = errors.New("cannot execute UPDATE in a read-only transaction")

func (readOnly) UpdateSession(context.Context, adapter.SessionRecord) error { return errReadOnly }
func (readOnly) DeleteSession(context.Context, string) (adapter.SessionRecord, error) {
	return adapter.SessionRecord{}, errReadOnly
}

// TestSessionsInReadOnlyStore: a session that can be read is answered although it
// cannot be extended. An expired session is not answered although it cannot be removed.
func TestSessionsInReadOnlyStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		short := func(c *authsvc.Config) { c.Session.MaxAge, c.Session.UpdateAge = 2*time.Hour, time.Hour }
		w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Adapter = store; short(c) })
		b := w.Browser()
		b.Login("ada")
		full := replica(t, readOnly{store}, func(c *authsvc.Config) { passwords(c); short(c); c.Session.Strategy = "database" })
		b.H = full
		time.Sleep(61 * time.Minute) // due
		for range 3 {
			if a := b.Get("/api/auth/session"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@app.test") || len(a.Cookies()) != 0 {
				t.Fatalf("due: %d %s %v", a.StatusCode, a.Text, a.Cookies())
			}
		}
		if n := strings.Count(full.Logs.String(), "refuses writes"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		time.Sleep(2 * time.Hour)
		if a := b.Get("/api/auth/session"); a.StatusCode != http.StatusOK || a.Text != "{}" {
			t.Errorf("expired: %d %s", a.StatusCode, a.Text)
		}
		end(full, t)
	})
}

// TestShorterMaxAge: earlier sessions end as the new, shorter max_age says.
func TestShorterMaxAge(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				at := func(maxAge time.Duration) *arena.World {
					return replica(t, store, func(c *authsvc.Config) {
						passwords(c)
						c.Session.Strategy, c.Session.MaxAge = authsvc.Strategy(strategy), maxAge
					})
				}
				if _, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Email: "ada@app.test"}, nil); err != nil {
					t.Fatal(err)
				}
				long, short := at(720*time.Hour), at(2*time.Hour)
				b := long.Browser()
				b.Login("ada")
				b.H = short
				if time.Sleep(time.Hour); b.Email() == "" {
					t.Error("out after an hour")
				}
				if time.Sleep(2*time.Hour + time.Minute); b.Email() != "" {
					t.Error("in two hours after it was used")
				}
				end(long, t)
				end(short, t)
			})
		})
	}
}

// TestSessionUpdateTooLarge: the caller gets an error, and the session does not change.
func TestSessionUpdateTooLarge(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if data, ok := p.Data.(map[string]any); ok {
				p.Claims["bio"] = data["bio"]
			}
			return p.Claims, nil
		}
	})
	b := w.Browser()
	b.Login("ada")
	update := func(bio string) *browser.Answer {
		return b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":{"bio":"`+bio+`"}}`)
	}
	if a := update(strings.Repeat("x", 40_000)); a.StatusCode != http.StatusRequestEntityTooLarge || a.Text != "{}" || len(a.Cookies()) != 0 {
		t.Errorf("too long: %d %s", a.StatusCode, a.Text)
	}
	if b.Email() != "ada@app.test" {
		t.Error("the session is gone")
	}
	if a := update("short"); a.StatusCode != http.StatusOK || len(a.Cookies()) == 0 {
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
}

// TestNestedClaimsChangedInPlace: changes that a JWT callback makes in place are kept,
// even below the first level.
func TestNestedClaimsChangedInPlace(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			switch org, there := p.Claims["org"].(map[string]any); {
			case !there:
				p.Claims["org"] = map[string]any{"roles": []any{"reader"}}
			case p.Trigger == "update":
				org["roles"] = append(org["roles"].([]any), "writer")
			}
			return p.Claims, nil
		}
		c.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			p.Session["roles"] = p.Claims["org"].(map[string]any)["roles"]
			return p.Session, nil
		}
	})
	b := w.Browser()
	b.Login("ada")
	b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`"}`)
	if roles, _ := b.Session()["roles"].([]any); !slices.Equal(roles, []any{"reader", "writer"}) {
		t.Errorf("roles: %v", roles)
	}
}
