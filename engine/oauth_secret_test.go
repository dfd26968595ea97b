package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestClientSecretHook checks that a secret is made once for many sign-ins, and again
// before it expires. After a failure, the next sign-in tries again.
func TestClientSecretHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		var broken atomic.Bool
		o := newOdd(nil)
		p := oddClient(func(p *authsvc.OAuth) {
			p.Client.Secret, p.AuthMethod = "", "client_secret_post"
			p.Hooks.ClientSecret = func(c authsvc.Client, now time.Time) (string, time.Time, error) {
				time.Sleep(time.Second) // others come meanwhile
				if broken.Load() {
					return "", time.Time{}, errors.New("no key")
				}
				return fmt.Sprint(c.ID, "-", made.Add(1)), now.Add(time.Hour), nil
			}
		})
		w := &arena.World{T: t, Logs: &arena.LogBuffer{}}
		w.Config = oddConfig(o, p, w.Logs)
		var err error
		if w.Service, err = engine.New(w.Config); err != nil {
			t.Fatal(err)
		}
		defer w.Close(context.Background())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if oddUser(w) == nil {
					t.Error("refused")
				}
			})
		}
		all.Wait()
		secret := func() string { return o.request("odd.test/token").Form.Get("client_secret") }
		if made.Load() != 1 || secret() != "odd-client-1" {
			t.Errorf("%d made, %q used", made.Load(), secret())
		}
		time.Sleep(54 * time.Minute)
		if oddUser(w); made.Load() != 1 {
			t.Error("created again while still valid")
		}
		time.Sleep(90 * time.Second) // less than five minutes remain
		if oddUser(w); secret() != "odd-client-2" {
			t.Errorf("%q is used shortly before it expires", secret())
		}
		time.Sleep(2 * time.Hour)
		broken.Store(true)
		if oddUser(w) != nil {
			t.Error("signed in without a secret")
		}
		broken.Store(false)
		if oddUser(w) == nil || secret() != "odd-client-3" {
			t.Errorf("%q after a failure", secret())
		}
	})
}

// TestClientSecretHookRefused checks that values which cannot be a secret are refused.
func TestClientSecretHookRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secret  string
		expires time.Duration
		ok      bool
	}{
		"good": {"s", time.Hour, true}, "for one use": {"s", 0, true}, "empty": {"", time.Hour, false}, "expired": {"s", -time.Second, false}, "lines": {"a\r\nb", time.Hour, false},
	} {
		w := startOdd(t, newOdd(nil), func(p *authsvc.OAuth) {
			p.Client.Secret = ""
			p.Hooks.ClientSecret = func(_ authsvc.Client, now time.Time) (string, time.Time, error) {
				if tt.expires == 0 {
					return tt.secret, time.Time{}, nil
				}
				return tt.secret, now.Add(tt.expires), nil
			}
		})
		if got := oddUser(w) != nil; got != tt.ok {
			t.Errorf("%s: signed in %v", name, got)
		}
	}
}
