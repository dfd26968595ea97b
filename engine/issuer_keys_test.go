package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// tokenReplica is a replica of a store that issues tokens and has sessions in cookies.
func tokenReplica(t *testing.T, store adapter.Adapter, secrets ...string) *arena.World {
	t.Helper()
	return replica(t, store, func(c *authsvc.Config) {
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api", TTL: 15 * time.Minute}}
		c.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}
		c.RateLimit.Disabled = true
		if secrets != nil {
			c.Secrets = secrets
		}
	})
}

func keysOf(t *testing.T, w *arena.World) (kids []string) {
	t.Helper()
	var set jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(w.Browser().Get("/api/auth/jwks").Text), &set); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		kids = append(kids, k.KeyID)
	}
	return kids
}

// kidOf returns the ID of the key that signed a new token.
func kidOf(t *testing.T, w *arena.World) string {
	t.Helper()
	b := w.Browser()
	b.Login("ada")
	return openToken(t, w, b.Post("/api/auth/token")).header.KeyID
}

// TestKeysFollowReplicas checks that replicas that start together have one key, that
// each follows another's new keys, and that a record sealed by an older secret is
// resealed.
func TestKeysFollowReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		replicas := make([]*arena.World, 3)
		var all sync.WaitGroup
		for i := range replicas {
			all.Go(func() { replicas[i] = tokenReplica(t, store) })
		}
		all.Wait()
		first := kidOf(t, replicas[0])
		for _, r := range replicas {
			if kids := keysOf(t, r); !slices.Equal(kids, []string{first}) || kidOf(t, r) != first {
				t.Fatalf("%v, %s", kids, first)
			}
		}
		sealed, err := store.GetMeta(t.Context(), "signing-keys")
		if err != nil || strings.Contains(sealed, "pkcs8") || strings.Contains(sealed, "keys") {
			t.Fatalf("%.80s, %v", sealed, err)
		}
		made, err := replicas[1].RotateKeys(t.Context(), false)
		if err != nil || len(made) != 1 {
			t.Fatal(made, err)
		}
		time.Sleep(30 * time.Second)
		for i, r := range replicas {
			if kids := keysOf(t, r); !slices.Equal(kids, []string{first, made[0]}) || kidOf(t, r) != first {
				t.Errorf("replica %d: %v", i, kids)
			}
		}
		time.Sleep(24 * time.Hour)
		for i, r := range replicas {
			if kidOf(t, r) != made[0] || len(keysOf(t, r)) != 2 {
				t.Errorf("replica %d has %v", i, keysOf(t, r))
			}
		}
		time.Sleep(24*time.Hour + 16*time.Minute)
		for i, r := range replicas {
			if kids := keysOf(t, r); !slices.Equal(kids, made) {
				t.Errorf("replica %d has %v", i, kids)
			}
		}
		for _, r := range replicas {
			end(r, t)
		}
		const fresh = "a-new-secret-H4vJ8wQ2nX6cR0sL5tY9zB3k"
		turned := tokenReplica(t, store, fresh, arena.Secret)
		end(turned, t)
		again, err := store.GetMeta(t.Context(), "signing-keys")
		if err != nil || again == sealed {
			t.Errorf("not resealed: %v", err)
		}
		only := tokenReplica(t, store, fresh)
		if kids := keysOf(t, only); !slices.Equal(kids, made) {
			t.Errorf("%v", kids)
		}
		end(only, t)
	})
}

// TestKeysSealedOtherwise checks that, without the secret that sealed the keys, no
// service starts and nothing is lost. An operator can replace the keys.
func TestKeysSealedOtherwise(t *testing.T) {
	t.Parallel()
	store := memory.New()
	w := tokenReplica(t, store)
	first := keysOf(t, w)
	end(w, t)
	c := w.Config
	c.Secrets = []string{"another-secret-H4vJ8wQ2nX6cR0sL5tY9zB3"}
	_, err := engine.New(c)
	if list := authsvc.ConfigErrors(err); len(list) != 1 || list[0].Field != "Secrets" {
		t.Fatalf("%v", err)
	}
	s, err := engine.NewOperator(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SigningKeys(t.Context()); err == nil {
		t.Error("listed")
	}
	if _, err := s.RotateKeys(t.Context(), false); err == nil {
		t.Error("rotated")
	}
	if err := s.RetireKey(t.Context(), first[0]); err == nil {
		t.Error("retired")
	}
	w = tokenReplica(t, store)
	if kids := keysOf(t, w); !slices.Equal(kids, first) {
		t.Errorf("lost: %v", kids)
	}
	end(w, t)
	if made, err := s.RotateKeys(t.Context(), true); err != nil || len(made) != 1 {
		t.Errorf("not replaced: %v, %v", made, err)
	}
	if _, err := engine.New(w.Config); err == nil {
		t.Error("the old secret opens the new keys")
	}
}

// TestKeysRetired checks that tokens of a retired key are refused as soon as the set is
// read again, and that its successor signs on every replica.
func TestKeysRetired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		one, two := tokenReplica(t, store), tokenReplica(t, store)
		first := kidOf(t, one)
		if err := one.RetireKey(t.Context(), "no-such-key"); !errors.Is(err, adapter.ErrNotFound) {
			t.Error(err)
		}
		if err := one.RetireKey(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		second := kidOf(t, one)
		time.Sleep(30 * time.Second)
		if kids := keysOf(t, two); second == first || !slices.Equal(kids, []string{second}) || kidOf(t, two) != second {
			t.Errorf("%v after %s, %s", kids, first, second)
		}
		list, err := two.SigningKeys(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != second || list[0].State != engine.KeySigning || list[0].Alg != authsvc.SigningES256 {
			t.Errorf("%+v, %v", list, err)
		}
		end(one, t)
		end(two, t)
	})
}

// TestKeysWhileTheStoreIsAway checks that known keys stay in use according to their
// times, and that another replica's keys are followed afterwards.
func TestKeysWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		away := &awayStore{Adapter: store}
		w, other := tokenReplica(t, away), tokenReplica(t, store)
		first := kidOf(t, w)
		away.gone.Store(true)
		made, err := other.RotateKeys(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if kids := keysOf(t, w); !slices.Equal(kids, []string{first}) {
			t.Errorf("%v", kids)
		}
		if n := strings.Count(w.Logs.String(), "cannot read or make signing keys"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		away.gone.Store(false)
		time.Sleep(30 * time.Second)
		if kidOf(t, w) != made[0] {
			t.Error("not followed")
		}
		end(w, t)
		end(other, t)
	})
}

// awayStore is a store whose meta records can be out of reach.
type awayStore struct {
	adapter.Adapter
	gone atomic.Bool
}

func (s *awayStore) GetMeta(ctx context.Context, key string) (string, error) {
	if s.gone.Load() {
		return "", arena.ErrBroken
	}
	return s.Adapter.GetMeta(ctx, key)
}

// TestKeysHeld checks that nothing is written while another replica has the lease, and
// that a replica that lost its lease does not overwrite the other's keys.
func TestKeysHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		w := tokenReplica(t, store)
		before, _ := store.GetMeta(t.Context(), "signing-keys")
		now := time.Now()
		if err := store.Lease(t.Context(), "signing-keys", "another", now, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.RotateKeys(t.Context(), true); err == nil {
			t.Error("rotated while another replica has the lease")
		}
		if err := store.Release(t.Context(), "signing-keys", "another"); err != nil {
			t.Fatal(err)
		}
		taken := &takenOver{Adapter: store}
		late := tokenReplica(t, taken)
		taken.on = true
		if _, err := late.RotateKeys(t.Context(), true); err == nil {
			t.Error("wrote after the lease was lost")
		}
		if after, _ := store.GetMeta(t.Context(), "signing-keys"); after != before {
			t.Error("the keys changed")
		}
		end(w, t)
		end(late, t)
	})
}

// takenOver is a store in which another process takes the lease right after it was
// given.
type takenOver struct {
	adapter.Adapter
	on    bool
	taken int
}

func (s *takenOver) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	if s.on && name == "signing-keys" {
		if s.taken++; s.taken > 1 {
			return adapter.ErrConflict
		}
	}
	return s.Adapter.Lease(ctx, name, holder, now, until)
}

// TestKeysWithoutStorage checks that keys are derived from the secrets, so replicas
// agree. The first secret signs, and the keys of all secrets are published.
func TestKeysWithoutStorage(t *testing.T) {
	t.Parallel()
	run := func(url string, secrets ...string) *arena.World {
		c := withoutStorage()
		c.URL, c.Secrets = url, secrets
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api"}, {ID: "ed", Alg: authsvc.SigningEdDSA}}
		s, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(context.Background()) })
		return &arena.World{T: t, Service: s, Config: c}
	}
	const two = "a-new-secret-H4vJ8wQ2nX6cR0sL5tY9zB3k"
	old, same, turned, elsewhere := run(arena.Origin, arena.Secret), run(arena.Origin, arena.Secret), run(arena.Origin, two, arena.Secret), run("https://b.test", arena.Secret)
	kids := keysOf(t, old)
	if len(kids) != 2 || !slices.Equal(kids, keysOf(t, same)) {
		t.Errorf("%v and %v", kids, keysOf(t, same))
	}
	both := keysOf(t, turned)
	if len(both) != 4 || !slices.Contains(both, kids[0]) || !slices.Contains(both, kids[1]) {
		t.Errorf("%v, before %v", both, kids)
	}
	if others := keysOf(t, elsewhere); slices.Contains(others, kids[0]) || slices.Contains(others, kids[1]) {
		t.Error("two deployments share a key")
	}
	for _, w := range []*arena.World{old, turned} {
		b := w.Browser()
		b.Login("ada")
		token := openToken(t, w, b.Post("/api/auth/token", "audience", "api"))
		if slices.Contains(kids, token.header.KeyID) != (w == old) {
			t.Errorf("%s signed", token.header.KeyID)
		}
		list, err := w.SigningKeys(t.Context())
		if err != nil || len(list) != len(keysOf(t, w)) || fmt.Sprint(list[0].Until, list[0].Gone) != fmt.Sprint(time.Time{}, time.Time{}) {
			t.Errorf("%+v, %v", list, err)
		}
		for _, k := range list {
			if k.State == engine.KeySigning && k.Alg == authsvc.SigningES256 && k.ID != token.header.KeyID {
				t.Errorf("%s is listed as the signing key", k.ID)
			}
		}
		if _, err := w.RotateKeys(t.Context(), true); !errors.Is(err, engine.ErrDerivedKeys) {
			t.Error(err)
		}
		if err := w.RetireKey(t.Context(), kids[0]); !errors.Is(err, engine.ErrDerivedKeys) {
			t.Error(err)
		}
	}
}
