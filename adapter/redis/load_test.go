package redis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adaptertest"
)

// TestTakeTokenRace checks that one of a hundred callers on two replicas gets the link.
func TestTakeTokenRace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		prefix := newPrefix()
		replicas := []*Store{open(t, url, prefix), open(t, url, prefix)}
		for i := range 5 {
			token := fmt.Sprint(i)
			putLink(t, replicas[0], token)
			var wg sync.WaitGroup
			var got atomic.Int32
			for j := range 100 {
				wg.Go(func() {
					_, _, err := replicas[j%2].TakeToken(t.Context(), "ann@example.com", token, time.Now())
					if err == nil {
						got.Add(1)
					} else if !errors.Is(err, adapter.ErrNotFound) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got.Load() != 1 {
				t.Errorf("%d callers got the link", got.Load())
			}
		}
	})
}

// TestSignOutRace checks that a session that ends while two replicas renew it remains
// ended, and leaves no key.
func TestSignOutRace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		prefix := newPrefix()
		replicas := []*Store{open(t, url, prefix), open(t, url, prefix)}
		if _, err := replicas[0].CreateUser(t.Context(), adapter.User{ID: "u"}, nil); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			signOutRace(t, replicas, fmt.Sprint(i), i%2 == 0)
		}
		for _, name := range keys(t, replicas[0]) {
			if kind := kind(replicas[0], name); expiring[kind] && kind != "epoch" && kind != "revoked" {
				t.Errorf("%s is left", name)
			}
		}
	})
}

// signOutRace ends one session, or all sessions of the user, between renewals.
func signOutRace(t *testing.T, replicas []*Store, token string, all bool) {
	t.Helper()
	u, err := replicas[0].GetUser(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	rec := adapter.SessionRecord{ID: token, SessionToken: token, Digest: token, UserID: "u", Expires: time.Now().Add(time.Hour), Epoch: u.Epoch}
	if _, err := replicas[0].CreateSession(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	var wg sync.WaitGroup
	for j := range 8 {
		wg.Go(func() {
			for range 10 {
				after := ended.Load()
				err := replicas[j%2].UpdateSession(t.Context(), rec)
				if after && !errors.Is(err, adapter.ErrNotFound) {
					t.Errorf("renewed after the end: %v", err)
				}
			}
		})
	}
	wg.Go(func() {
		var err error
		if all {
			_, err = replicas[1].EndSessions(t.Context(), "u", endSessionsOf("u"))
		} else {
			_, err = replicas[1].DeleteSession(t.Context(), token)
		}
		if err != nil {
			t.Error(err)
		}
		ended.Store(true)
	})
	wg.Wait()
	if _, _, err := replicas[0].GetSession(t.Context(), token, token); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the session is back: %v", err)
	}
}

// TestCluster checks that the store works on a cluster, with all records in one slot.
func TestCluster(t *testing.T) {
	t.Parallel()
	p := start(t, "--cluster-enabled", "yes")
	slots := []any{"cluster", "addslots"}
	for slot := range 16384 {
		slots = append(slots, slot)
	}
	p.admin(slots...)
	for !strings.Contains(p.admin("cluster", "info"), "cluster_state:ok") {
		time.Sleep(20 * time.Millisecond)
	}
	refused(t, p.url()+"/3", false, "only database 0")
	adaptertest.Run(t, redisOnly(p.url()))
}

func BenchmarkGetSession(b *testing.B) {
	s := open(b, realURL(b), newPrefix())
	for i := range 1000 {
		id := fmt.Sprint(i)
		rec := adapter.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now().Add(time.Hour), Began: time.Now(), Provider: "github"}
		if _, err := s.SignUp(b.Context(), adapter.User{ID: id, Name: "Ann", Email: id + "@example.com"}, nil, &rec, "", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint(rand.IntN(1000))
			if _, _, err := s.GetSession(b.Context(), id, id); err != nil {
				b.Error(err)
			}
		}
	})
}
