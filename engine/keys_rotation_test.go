package engine_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

const otherSecret = "zR3kL9pQ1wE5tY7uI2oA6sD8fG0hJ4xC1vB3nM5qW7e"

// names records the names of leases and limits in the store.
type names struct {
	adapter.Adapter
	mu  sync.Mutex
	set map[string]bool
}

func (n *names) note(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[name] = true
}

func (n *names) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	n.note(name)
	return n.Adapter.Lease(ctx, name, holder, now, until)
}

func (n *names) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (int, time.Duration, error) {
	for _, q := range list {
		n.note(q.Key)
	}
	return n.Adapter.Permit(ctx, now, list...)
}

// TestRotationKeepsNames: while a secret is rotated, replicas that seal under different
// secrets still use the same leases and the same limits.
func TestRotationKeepsNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []map[string]bool
		for _, secrets := range [][]string{{arena.Secret}, {arena.Secret, otherSecret}, {otherSecret, arena.Secret}} {
			store, o := &names{Adapter: memory.New()}, &rotator{}
			due(t, store, 0)
			w := o.at(t, store, func(c *authsvc.Config) { c.Secrets = secrets })
			if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); err != nil || got != "at-1" {
				t.Fatal(got, err)
			}
			end(w, t)
			p := replica(t, store, func(c *authsvc.Config) { c.Secrets = secrets })
			p.Browser().Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong")
			end(p, t)
			seen = append(seen, store.set)
		}
		for i, s := range seen[1:] {
			if !maps.Equal(s, seen[0]) {
				t.Errorf("secrets %d: %v\nfirst: %v", i+1, slices.Sorted(maps.Keys(s)), slices.Sorted(maps.Keys(seen[0])))
			}
		}
		for name := range seen[0] {
			if strings.Contains(name, "ada") || strings.Contains(name, "192.0.2") {
				t.Errorf("%q tells of whom it is", name)
			}
		}
	})
}

// TestSessionUnderUnknownKeyIsKept: a replica that does not have the new secret yet
// answers that the user is not signed in, but keeps the cookie for the other replicas.
func TestSessionUnderUnknownKeyIsKept(t *testing.T) {
	t.Parallel()
	for _, compat := range []authsvc.Compat{authsvc.CompatNone, authsvc.AuthJSV5} {
		t.Run(string(compat), func(t *testing.T) {
			t.Parallel()
			store := memory.New()
			at := func(secrets ...string) *arena.World {
				w := replica(t, store, func(c *authsvc.Config) { passwords(c); c.Secrets, c.Compat = secrets, compat })
				t.Cleanup(func() { end(w, t) })
				return w
			}
			after, before := at(otherSecret, arena.Secret), at(arena.Secret)
			b := after.Browser()
			b.Login("ada")
			jar := maps.Clone(b.Cookies)
			b.H = before
			a := b.Get("/api/auth/session")
			if a.Text != "{}" && a.Text != "null" || len(a.Cookies()) != 0 {
				t.Errorf("before it knows: %q, %v", a.Text, a.Cookies())
			}
			if b.H = after; b.Email() != "ada@app.test" || !maps.Equal(jar, b.Cookies) {
				t.Errorf("afterwards: %q", b.Email())
			}
			// The counterpart: an invalid token is removed.
			for _, name := range b.SessionCookies() {
				b.Cookies[name] = "x" + b.Cookies[name]
			}
			if a := b.Get("/api/auth/session"); len(a.Cookies()) == 0 {
				t.Error("a broken cookie stays")
			}
		})
	}
}
