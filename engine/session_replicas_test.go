package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestSessionEndedAtThreeReplicas: a user has three sessions of strategy jwt, and one is
// ended at one of three replicas. That replica refuses it at once, the others within
// 5 s, and the other two sessions continue everywhere. GET session makes no store call.
func TestSessionEndedAtThreeReplicas(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *engine.Service, other *arena.Browser, user, session string){
		"by the application": func(t *testing.T, s *engine.Service, _ *arena.Browser, user, session string) {
			if err := s.EndSession(t.Context(), user, session); err != nil {
				t.Fatal(err)
			}
		},
		"by the person": func(t *testing.T, s *engine.Service, other *arena.Browser, _, session string) {
			other.H = s
			if a := other.Post("/api/auth/account/signout", "session", session, "json", "true"); a.StatusCode != 200 {
				t.Fatalf("%d %s", a.StatusCode, a.Text)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT })
				replicas := []*engine.Service{w.Service}
				for range 2 {
					w.Replica(t).At(func(s *engine.Service) { replicas = append(replicas, s) })
				}
				browsers := make([]*arena.Browser, 3)
				for i := range browsers {
					browsers[i] = w.Browser()
					browsers[i].Login("ada")
				}
				ended := w.SessionID(sessionOf(t, w, browsers[0]))
				judge := func(when string, live func(replica, session int) bool) {
					t.Helper()
					for r, s := range replicas {
						for i, b := range browsers {
							copied := b.Clone() // a refusal drops the cookie
							copied.H = s
							w.Ledger.BreakAt(nil)
							if got := copied.Email() != ""; got != live(r, i) {
								t.Errorf("%s: session %d at replica %d lives: %v", when, i, r, got)
							}
							if calls := w.Ledger.Called(); len(calls) > 0 {
								t.Errorf("%s: GET session calls the store: %v", when, calls)
							}
						}
					}
				}
				judge("before", func(_, _ int) bool { return true })
				end(t, replicas[1], browsers[1].Clone(), "ada-id", ended)
				judge("at once", func(replica, session int) bool { return replica != 1 || session != 0 })
				time.Sleep(5 * time.Second)
				synctest.Wait()
				judge("after 5 s", func(_, session int) bool { return session != 0 })
			})
		})
	}
}
