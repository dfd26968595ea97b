package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// TestBlockedUserLinkingByEmail checks that a blocked user cannot get in with a new
// identity with the same address: the callback is asked about the user to whom it would
// be linked.
func TestBlockedUserLinkingByEmail(t *testing.T) {
	t.Parallel()
	var blocked atomic.Value
	blocked.Store("")
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Providers[0].(*authsvc.OAuth).LinkVerifiedEmail = true
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if a.User.ID != "" && a.User.ID == blocked.Load() {
				return "", authsvc.ErrAccessDenied
			}
			return "", nil
		}
	})
	for name, block := range map[string]bool{"ada": true, "grace": false} {
		b := w.Browser()
		b.Post("/api/auth/signin/email", "email", name+"@example.com")
		b.Get(arena.Link(t, w.Mail.Next(t)))
		user := w.Person(t, b)
		if block {
			blocked.Store(user)
			if err := w.EndSessions(t.Context(), user); err != nil {
				t.Fatal(err)
			}
		}
		other := w.Browser()
		other.SignIn(w.OP, name)
		if in := w.Person(t, other) == user; in == block {
			t.Errorf("%s, blocked %v: signed in %v", name, block, in)
		}
		list, err := w.Store.ListAccounts(t.Context(), user)
		if err != nil || len(list) > 0 == block {
			t.Errorf("%s, blocked %v: %d identities, %v", name, block, len(list), err)
		}
	}
}

// TestBlockedUserCannotSignIn checks that a refusing SignIn callback and EndSessions
// keep a user out.
func TestBlockedUserCannotSignIn(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"jwt", "database"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			store := memory.New()
			for _, name := range []string{"ada", "eve"} {
				if _, err := store.CreateUser(t.Context(), authsvc.User{ID: "id of " + name}, nil); err != nil {
					t.Fatal(err)
				}
			}
			var blocked atomic.Value
			blocked.Store("")
			s, at := guests(t, func(c *authsvc.Config) {
				c.Adapter, c.Session.Strategy = store, authsvc.Strategy(strategy)
				c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
					if a.User.ID == blocked.Load() {
						return "", authsvc.ErrAccessDenied
					}
					return "", nil
				}
			})
			eve, ada := at("203.0.113.9:1"), at("203.0.113.8:1")
			for _, g := range []struct {
				*guest
				name string
			}{{eve, "eve"}, {ada, "ada"}} {
				if r := g.login(g.name, "right"); !r.in() || g.get("/api/auth/session").text == "{}" {
					t.Fatalf("%s: %d", g.name, r.StatusCode)
				}
			}
			blocked.Store("id of eve")
			if err := s.EndSessions(t.Context(), "id of eve"); err != nil {
				t.Fatal(err)
			}
			if text := eve.get("/api/auth/session").text; text != "{}" {
				t.Errorf("her session is still valid: %s", text)
			}
			if r := eve.login("eve", "right"); r.in() || eve.get("/api/auth/session").text != "{}" {
				t.Errorf("she signed in: %d %s", r.StatusCode, r.Header.Get("Location"))
			}
			if ada.get("/api/auth/session").text == "{}" {
				t.Error("twin: another user's session ended")
			}
			blocked.Store("")
			if r := eve.login("eve", "right"); !r.in() {
				t.Errorf("twin, let in again: %d %s", r.StatusCode, r.Header.Get("Location"))
			}
		})
	}
}
