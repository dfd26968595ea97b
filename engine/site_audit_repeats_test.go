package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// refusals are requests that anyone can make any number of times.
var refusals = map[string]func() *http.Request{
	"csrf.refused": func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, guestOrigin+"/api/auth/signout", strings.NewReader("csrfToken=x"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r
	},
	"request.cross_site": func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, guestOrigin+"/api/auth/signout", strings.NewReader("csrfToken=x"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://evil.test")
		return r
	},
	"sign_in.refused": func() *http.Request {
		return httptest.NewRequest(http.MethodGet, guestOrigin+"/api/auth/callback/email?email=a@app.test", nil)
	},
	"sign_out.return_refused": func() *http.Request {
		return httptest.NewRequest(http.MethodGet, guestOrigin+"/api/auth/signout/return?state=x", nil)
	},
	"session.ambiguous": func() *http.Request {
		r := httptest.NewRequest(http.MethodGet, guestOrigin+"/api/auth/session", nil)
		r.Header.Set("Cookie", arena.SessionName+"=a; "+arena.SessionName+"=b")
		return r
	},
}

// storedEvents returns the stored events of a name, each as client and reason.
func storedEvents(t *testing.T, store *memory.Store, name string) (list []string) {
	t.Helper()
	all, err := store.ListAudit(t.Context(), authsvc.AuditQuery{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name == name {
			list = append(list, e.ClientIP+" "+e.Reason)
		}
	}
	return list
}

// TestRepeatedRefusalsAreCounted: the same refusal of one client is recorded once a
// minute, in the log and in the store. Repetitions are counted.
func TestRepeatedRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	for name, request := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, logs := memory.New(), &arena.LogBuffer{}
				s, at := guests(t, func(c *authsvc.Config) {
					c.Adapter, c.Audit.Store, c.Logger = store, true, slog.New(slog.NewTextHandler(logs, nil))
					c.Providers = append(c.Providers, &authsvc.Email{From: "no-reply@guests.test", Send: make(posted, 1).send})
				})
				start := len(logs.String())
				for i := range 5000 {
					r := request()
					r.Header.Set("User-Agent", fmt.Sprint("agent ", i))
					at(fmt.Sprintf("[2001:db8:7:%x::1]:1", i)).do(r) // a line at home has that many /64s
				}
				time.Sleep(time.Millisecond) // orders the events
				at("203.0.113.9:1").do(request())
				synctest.Wait()
				if n := len(logs.String()) - start; n > 4<<10 {
					t.Errorf("%d bytes of log", n)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				for range 2 {
					at("[2001:db8:7::1]:1").do(request())
					time.Sleep(time.Millisecond)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				list := storedEvents(t, store, name)
				if len(list) != 5 {
					t.Fatalf("%d events: %q", len(list), list[:min(len(list), 10)])
				}
				for i, want := range []string{"2001:db8:7::1 ", "203.0.113.9 ", "2001:db8:7:1387::1 ", "2001:db8:7::1 ", "2001:db8:7::1 "} {
					counted := map[int]string{2: "(4999 more from there within a minute)", 4: "(1 more from there within a minute)"}[i]
					if !strings.HasPrefix(list[i], want) || !strings.HasSuffix(list[i], counted) || counted == "" && strings.Contains(list[i], "more from there") {
						t.Errorf("event %d: %q", i, list[i])
					}
				}
			})
		})
	}
}

// TestEachCauseIsLogged: if sign-ins of one client fail for several causes within a
// minute, the log has a line for each, and a count points to such a line. A client that
// makes up causes cannot fill the log.
func TestEachCauseIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reasons []string
		w := arena.EnterInMemory(t, func(c *authsvc.Config) {
			c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
				mu.Lock()
				defer mu.Unlock()
				if e.Name == "sign_in.refused" {
					reasons = append(reasons, e.Reason)
				}
			}
			c.RateLimit.Disabled, c.RateLimit.SignIn = false, authsvc.Rate{N: 10_000, Per: time.Minute}
		})
		b := w.Browser()
		for _, code := range []string{"invalid_client", "invalid_client", "invalid_grant", "invalid_client", "invalid_grant"} {
			refusesTokens(http.StatusBadRequest, code)(w.OP.Provider)
			b.Get(b.Approve(w.OP, b.Begin("op"), "ada"))
		}
		lines := refusalLines(w)
		if len(lines) != 2 || !strings.Contains(lines[0], "invalid_client") || !strings.Contains(lines[1], "invalid_grant") {
			t.Errorf("the log has %q", lines)
		}
		start := len(w.Logs.String())
		for i := range 500 {
			refuse(t, b, b.Begin("op"), "error", "server_error", "error_description", fmt.Sprint("made up ", i))
		}
		if n := len(w.Logs.String()) - start; n > 24<<10 {
			t.Errorf("500 causes that were made up are %d bytes of log", n)
		}
		refusesTokens(http.StatusBadRequest, "invalid_request")(w.OP.Provider)
		b.Get(b.Approve(w.OP, b.Begin("op"), "ada"))
		if lines := refusalLines(w); !strings.Contains(lines[len(lines)-1], "invalid_request") {
			t.Errorf("a cause after many that were made up is not in the log; the last is %s", lines[len(lines)-1])
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		counts := 0
		mu.Lock()
		defer mu.Unlock()
		for _, reason := range reasons {
			before, found := strings.CutSuffix(reason, " more from there within a minute)")
			if !found {
				continue
			}
			counts++
			if id, points := strings.CutPrefix(before, "the log line of request "); points {
				id, _, _ = strings.Cut(id, " ")
				if !slices.ContainsFunc(refusalLines(w), func(line string) bool { return strings.Contains(line, " request="+id+" ") }) {
					t.Errorf("%q points to no line", reason)
				}
			} else if !strings.HasPrefix(before, "more than 16 different causes (") {
				t.Errorf("%q", reason)
			}
		}
		if counts != 3 {
			t.Errorf("%d counts of repetitions, want one for each of two causes, and one for the others", counts)
		}
	})
}

// TestRefusalsAreAllRecordedWithoutLimits: with RateLimit.Disabled, every refusal is
// recorded.
func TestRefusalsAreAllRecordedWithoutLimits(t *testing.T) {
	t.Parallel()
	store := memory.New()
	s, at := guests(t, func(c *authsvc.Config) {
		c.Adapter, c.Audit.Store, c.RateLimit.Disabled = store, true, true
	})
	for range 50 {
		at("203.0.113.9:1").do(refusals["csrf.refused"]())
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if list := storedEvents(t, store, "csrf.refused"); len(list) != 50 {
		t.Errorf("%d events", len(list))
	}
}

// TestAuditQueueReservesRoomForSuccesses: while the store is slow, refusals of very
// many clients do not displace sign-ins.
func TestAuditQueueReservesRoomForSuccesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowAuditLog{Store: memory.New()}
		s, at := guests(t, func(c *authsvc.Config) {
			c.Adapter, c.Audit.Store, c.Session.Strategy = store, true, "jwt"
		})
		for i := range 6000 {
			at(fmt.Sprintf("10.%d.%d.1:1", i/250, i%250)).do(refusals["csrf.refused"]())
		}
		for i := range 500 {
			if r := at(host(i)).login(fmt.Sprint("user", i), "right"); !r.in() {
				t.Fatal(r.StatusCode)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list := storedEvents(t, store.Store, "sign_in.succeeded"); len(list) != 500 {
			t.Errorf("%d of 500 sign-ins are in the store", len(list))
		}
		if list := storedEvents(t, store.Store, "csrf.refused"); len(list) < 3000 || len(list) > 3500 {
			t.Errorf("%d refusals are", len(list))
		}
	})
}

// slowAuditLog takes four seconds for each batch of events.
type slowAuditLog struct{ *memory.Store }

func (s *slowAuditLog) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	time.Sleep(4 * time.Second)
	return s.Store.PutAudit(ctx, list)
}
