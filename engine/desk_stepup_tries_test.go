package engine_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

const confirmPath = "/api/auth/callback/credentials"

// withPasswords stores ada and bob and counts the judged proofs.
func withPasswords(t *testing.T, w *arena.World) {
	t.Helper()
	for _, id := range []string{"ada-id", "bob-id"} {
		if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: id, Name: id, Email: id + "@app.test"}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func judging(judged *atomic.Int64) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.RateLimit.Disabled = true
		c.Providers = append(c.Providers[:2:2], &authsvc.Credentials{Authorize: func(ctx context.Context, f map[string]string) (authsvc.User, error) {
			judged.Add(1)
			return arena.Authorize(ctx, f)
		}})
	}
}

// TestConfirmTries checks that a correct proof counts after nine wrong ones and begins
// a session with its own tries. Ten wrong proofs end the session, and no other.
func TestConfirmTries(t *testing.T) {
	t.Parallel()
	var judged atomic.Int64
	strategies(t, judging(&judged), func(t *testing.T, w *arena.World) {
		withPasswords(t, w)
		b, other := w.Browser(), w.Browser()
		b.Login("ada")
		other.Login("ada")
		wrong := func(name, password string) string {
			return b.Post(confirmPath, "username", name, "password", password, "confirm", "true").Location()
		}
		for i := range 9 {
			if to := wrong([]string{"ada", "bob"}[i%2], []string{"wrong", "right"}[i%2]); !strings.Contains(to, "/confirm?error=") || b.Session()["user"] == nil {
				t.Fatalf("wrong proof %d: %s", i+1, to)
			}
		}
		if a := b.Post(confirmPath, "username", "ada", "password", "right", "confirm", "true", "callbackUrl", "/pay"); a.Location() != arena.Origin+"/pay" {
			t.Fatalf("a right one after nine: %s", a.Location())
		}
		for i := range 9 {
			if wrong("ada", "wrong"); b.Session()["user"] == nil {
				t.Fatalf("wrong proof %d of the new session ended it", i+1)
			}
		}
		if to := wrong("ada", "wrong"); b.Session()["user"] != nil {
			t.Errorf("ten wrong proofs: %s", to)
		}
		if other.Session()["user"] == nil {
			t.Error("another session ended")
		}
		if to := wrong("ada", "right"); !strings.Contains(to, "error=SessionRequired") {
			t.Errorf("afterwards: %s", to)
		}
		if b.Login("ada"); b.Session()["user"] == nil {
			t.Error("the user cannot sign in")
		}
	})
}

// TestConfirmTriesByProvider checks that ten returns as other people from the provider
// also end the session.
func TestConfirmTriesByProvider(t *testing.T) {
	t.Parallel()
	strategies(t, func(c *authsvc.Config) { c.RateLimit.Disabled = true }, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		for i := range 10 {
			if b.Session()["user"] == nil {
				t.Fatalf("%d wrong proofs ended the session", i)
			}
			a := b.Post("/api/auth/confirm", "provider", "op")
			b.Get(b.Approve(w.OP, a.Location(), "grace"))
		}
		if b.Session()["user"] != nil {
			t.Error("the session outlives ten wrong proofs")
		}
	})
}

// TestConfirmTriesAtOnce checks that of concurrent wrong proofs at most ten are judged.
func TestConfirmTriesAtOnce(t *testing.T) {
	t.Parallel()
	var judged, answered atomic.Int64
	var racing atomic.Bool
	all := make(chan struct{}) // closed when no more proofs can come to be judged
	end := sync.OnceFunc(func() { close(all) })
	w := arena.Start(t, func(c *authsvc.Config) {
		judging(&judged)(c)
		p := c.Providers[2].(*authsvc.Credentials)
		authorize := p.Authorize
		p.Authorize = func(ctx context.Context, f map[string]string) (authsvc.User, error) {
			u, err := authorize(ctx, f)
			if racing.Load() {
				if judged.Load() > 10 {
					end()
				}
				<-all
			}
			return u, err
		}
	})
	withPasswords(t, w)
	b := w.Browser()
	b.Login("ada")
	b.CSRF()
	judged.Store(0)
	racing.Store(true)
	var wg sync.WaitGroup
	for range 64 {
		tab := b.Clone()
		wg.Go(func() {
			tab.Post(confirmPath, "username", "ada", "password", "wrong", "confirm", "true")
			if answered.Add(1) == 54 {
				end()
			}
		})
	}
	wg.Wait()
	if n := judged.Load(); n != 10 {
		t.Errorf("%d were checked", n)
	}
	if b.Session()["user"] != nil {
		t.Error("the session continues")
	}
}
