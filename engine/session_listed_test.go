package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

const linuxFirefox = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"

// eachStrategy runs a test with a world for each strategy, each over one store.
func eachStrategy(t *testing.T, test func(t *testing.T, w *arena.World)) {
	t.Helper()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			test(t, arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = strategy }))
		})
	}
}

// from sets the User-Agent of a browser.
func from(b *arena.Browser, agent string) *arena.Browser {
	b.Header = http.Header{"User-Agent": {agent}}
	return b
}

func listed(t *testing.T, s *engine.Service, user string) []authsvc.SessionView {
	t.Helper()
	list, err := s.Sessions(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestSessionsAreListedAndEnded: with both strategies, one of three sessions is ended,
// then all but one. The others continue.
func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, w *arena.World) {
		var browsers []*arena.Browser
		for range 3 {
			b := from(w.Browser(), linuxFirefox)
			b.SignIn(w.OP, "ada")
			browsers = append(browsers, b)
		}
		user := w.Person(t, browsers[0])
		other := w.Browser()
		other.SignIn(w.OP, "grace")
		list := listed(t, w.Service, user)
		if len(list) != 3 {
			t.Fatalf("%d sessions are listed", len(list))
		}
		for _, v := range list {
			if v.Device != "Firefox on Linux" || v.Provider == "" || !slices.Equal(v.AMR, []string{"fed"}) || v.ACR != "1fa" || v.Created.IsZero() || len(v.ID) != 22 {
				t.Errorf("listed as %+v", v)
			}
		}
		ids := map[string]*arena.Browser{}
		for _, b := range browsers {
			r := httptest.NewRequest(http.MethodGet, b.Abs("/"), nil)
			for name, v := range b.Cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: v})
			}
			s, err := w.Service.Session(r)
			if err != nil || s == nil {
				t.Fatal(s, err)
			}
			ids[w.Service.SessionID(s)] = b
		}
		first, keep := list[0].ID, list[1].ID
		if len(ids) != 3 || ids[first] == nil || ids[keep] == nil {
			t.Fatalf("the sessions are %v, listed as %+v", ids, list)
		}
		for _, wrong := range []struct{ user, id string }{{user, "x"}, {user, ""}, {w.Person(t, other), first}, {"u-none", first}} {
			if err := w.EndSession(t.Context(), wrong.user, wrong.id); !errors.Is(err, adapter.ErrNotFound) {
				t.Errorf("%v: %v", wrong, err)
			}
		}
		if err := w.EndSession(t.Context(), user, first); err != nil {
			t.Fatal(err)
		}
		for id, b := range ids {
			if in := b.Email() != ""; in == (id == first) {
				t.Errorf("one was ended; of the browser that had it (%v) the session lives: %v", id == first, in)
			}
		}
		if err := w.EndOtherSessions(t.Context(), user, keep); err != nil {
			t.Fatal(err)
		}
		for id, b := range ids {
			if in := b.Email() != ""; in != (id == keep) {
				t.Errorf("all but one were ended; kept %v, and the session lives: %v", id == keep, in)
			}
		}
		if left := listed(t, w.Service, user); len(left) != 1 || left[0].ID != keep {
			t.Errorf("listed then: %+v", left)
		}
		if other.Email() == "" || len(listed(t, w.Service, w.Person(t, other))) != 1 {
			t.Error("twin: another user's session ended")
		}
		ids[keep].Post("/api/auth/signout")
		if left := listed(t, w.Service, user); len(left) != 0 {
			t.Errorf("after the sign-out: %+v", left)
		}
	})
}

// TestSessionUse: the last use is noted in the background, rarely, and idle sessions
// are not listed.
func TestSessionUse(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				counted := &touches{Adapter: store}
				w := arena.EnterOffline(t, func(c *authsvc.Config) {
					c.Adapter, c.Session.Strategy, c.Session.MaxAge, c.Session.UpdateAge = counted, strategy, 48*time.Hour, time.Hour
				})
				b := w.Browser()
				b.Login("ada")
				begun := time.Now()
				list := listed(t, w.Service, "ada-id")
				if len(list) != 1 || !slices.Equal(list[0].AMR, []string{"app"}) {
					t.Fatalf("listed %+v", list)
				}
				for range 30 { // half an hour
					time.Sleep(time.Minute)
					b.Get("/api/auth/session")
				}
				time.Sleep(time.Minute)
				used := listed(t, w.Service, "ada-id")[0].Used
				if n := counted.calls(); n < 2 || n > 3 || used.Sub(begun) < 15*time.Minute {
					t.Errorf("noted %d times in half an hour, the last one %v after the sign-in", n, used.Sub(begun))
				}
				time.Sleep(50 * time.Hour)
				if list := listed(t, w.Service, "ada-id"); len(list) != 0 {
					t.Errorf("idle ones are listed: %+v", list)
				}
				end(w, t)
			})
		})
	}
}

// touches counts the calls of TouchSessions.
type touches struct {
	adapter.Adapter
	mu sync.Mutex
	n  int
}

func (c *touches) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.Adapter.TouchSessions(ctx, seen)
}

func (c *touches) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// TestReadingASessionWritesNothing: GET session makes at most one store call, although
// the use of the session is noted.
func TestReadingASessionWritesNothing(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[authsvc.Strategy][]string{authsvc.StrategyDatabase: {"GetSession"}, authsvc.StrategyJWT: nil} {
		store := adaptertest.Faulty(memory.New())
		w := arena.Start(t, func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = store, strategy })
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		store.FailBefore(0)
		b.Get("/api/auth/session")
		calls := slices.DeleteFunc(store.Calls(), func(call string) bool { // of the background work
			return slices.Contains([]string{"ClaimMail", "Revocations", "Sweep", "Lease", "Release"}, call)
		})
		if !slices.Equal(calls, want) {
			t.Errorf("%s: %v", strategy, calls)
		}
	}
}

// TestBlock: a blocked user loses the session, gets no new one and no mail, and the
// answers do not reveal it. After Unblock, the user can sign in again.
func TestBlock(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, w *arena.World) {
		b, twin := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		twin.SignIn(w.OP, "grace")
		user := w.Person(t, b)
		if err := w.Block(t.Context(), user, "it's\x00spam"); err != nil {
			t.Fatal(err)
		}
		p, err := w.Store.GetPerson(t.Context(), user)
		if err != nil || p.Blocked.IsZero() || !strings.HasPrefix(p.BlockedWhy, "it's") || strings.Contains(p.BlockedWhy, "\x00") {
			t.Errorf("stored %+v, %v", p, err)
		}
		if b.Email() != "" || len(listed(t, w.Service, user)) != 0 {
			t.Error("a session is still valid")
		}
		again := w.Browser()
		again.SignIn(w.OP, "ada")
		if again.Email() != "" {
			t.Error("signed in")
		}
		if again.Post("/api/auth/signin/email", "email", "ada@example.com"); w.Mail.Count() != 0 {
			t.Error("a mail went out")
		}
		if twin.Email() == "" {
			t.Error("twin: another user's session ended")
		}
		if err := w.Unblock(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if again.SignIn(w.OP, "ada"); again.Email() == "" || w.Person(t, again) != user {
			t.Error("unblocked, but cannot sign in")
		}
		if err := w.Block(t.Context(), "u-none", ""); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("block of an unknown user: %v", err)
		}
		if err := w.Unblock(t.Context(), "u-none"); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("unblock of an unknown user: %v", err)
		}
	})
}

// TestBlockOvertakesSignIns: sign-ins that overlap a block leave no session.
func TestBlockOvertakesSignIns(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, w *arena.World) {
		first := w.Browser()
		first.SignIn(w.OP, "ada")
		user := w.Person(t, first)
		browsers := []*arena.Browser{first}
		var racers sync.WaitGroup
		for range 8 {
			b := w.Browser()
			browsers = append(browsers, b)
			racers.Go(func() { b.SignIn(w.OP, "ada") })
		}
		if err := w.Block(t.Context(), user, ""); err != nil {
			t.Error(err)
		}
		racers.Wait()
		for i, b := range browsers {
			if b.Email() != "" {
				t.Errorf("browser %d has a session", i)
			}
		}
		if left := listed(t, w.Service, user); len(left) != 0 {
			t.Errorf("%d sessions are listed", len(left))
		}
	})
}
