package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestEndAllSessions checks that every user's sessions end and the users stay, that
// no mail is sent, that a dry run changes nothing, and that people can sign in again.
func TestEndAllSessions(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			signIn := func(name string) *arena.Browser {
				b := w.Browser()
				b.Post("/api/auth/signin/email", "email", name+"@example.com")
				b.Get(arena.Link(t, w.Mail.Next(t)))
				return b
			}
			browsers := map[string]*arena.Browser{}
			for _, name := range []string{"ada", "grace", "eve"} {
				browsers[name] = signIn(name)
			}
			// signedIn counts the browsers with a session at a replica that starts now: it
			// has read all revocations.
			signedIn := func() (n int) {
				w.Replica(t).At(func(s *engine.Service) {
					for _, b := range browsers {
						r := httptest.NewRequest(http.MethodGet, b.Origin+"/", nil)
						for name, v := range b.Cookies {
							r.AddCookie(&http.Cookie{Name: name, Value: v})
						}
						if session, err := s.Session(r); err != nil {
							t.Error(err)
						} else if session != nil {
							n++
						}
					}
				})
				return n
			}
			o := w.Operator(t)
			notices := len(w.Mail.Notices())
			if n, err := o.EndAllSessions(t.Context(), true, nil); n != 3 || err != nil || signedIn() != 3 {
				t.Errorf("a dry run: %d users, %v; %d signed in", n, err, signedIn())
			}
			stop := errors.New("stop")
			if _, err := o.EndAllSessions(t.Context(), true, func(int) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("the error of progress: %v", err)
			}
			reported := 0
			n, err := o.EndAllSessions(engine.WithActor(t.Context(), "cli:root"), false, func(users int) error { reported = users; return nil })
			if n != 3 || reported != 3 || err != nil {
				t.Errorf("%d users, %d reported, %v", n, reported, err)
			}
			if n := signedIn(); n != 0 {
				t.Errorf("%d browsers are still signed in", n)
			}
			if n := len(w.Mail.Notices()) - notices; n != 0 {
				t.Errorf("%d people were told by mail", n)
			}
			users, err := w.Store.ListUsers(t.Context(), "", 10)
			if len(users) != 3 || err != nil {
				t.Errorf("%d users are left, %v", len(users), err)
			}
			browsers = map[string]*arena.Browser{"ada": signIn("ada")}
			if signedIn() != 1 {
				t.Error("ada cannot sign in again")
			}
		})
	}
}

// brokenEnd is a store in which sessions cannot be ended.
type brokenEnd struct{ adapter.Adapter }

func (brokenEnd) EndSessions(context.Context, string, *adapter.Revocation) (int, error) {
	return 0, errors.New("the store is down")
}

// TestEndAllSessionsFails checks that a failure of the store ends EndAllSessions, and
// that its audit event names the user.
func TestEndAllSessionsFails(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	user := w.Person(t, b)
	var events []authsvc.AuditEvent
	c := w.Config
	c.Adapter = brokenEnd{c.Adapter}
	c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { events = append(events, e) }
	o, err := engine.NewOperator(c)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := o.EndAllSessions(t.Context(), false, nil); n != 0 || err == nil || !strings.Contains(err.Error(), "the store is down") {
		t.Errorf("%d, %v", n, err)
	}
	if len(events) != 1 || events[0].Name != "sessions.end_failed" || events[0].UserID != user {
		t.Errorf("audit events %+v", events)
	}
}
