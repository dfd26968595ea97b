package engine_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// A slowLog is a store whose revocation log cannot be read, or is long and slow to
// read.
type slowLog struct {
	adapter.Adapter
	pause atomic.Int64
	down  atomic.Bool
}

func (s *slowLog) Revocations(ctx context.Context, after int64, limit int) ([]adapter.Revocation, int64, error) {
	if s.down.Load() {
		return nil, after, errors.New("connection reset")
	}
	if d := time.Duration(s.pause.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, after, ctx.Err()
		}
		limit = 1
	}
	return s.Adapter.Revocations(ctx, after, limit)
}

// TestStartWithoutRevocations: the service starts although the log cannot be read.
// Until the log is read to its end, JWT sessions are answered 503 and the service is
// not ready.
func TestStartWithoutRevocations(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*slowLog){
		"down": func(s *slowLog) { s.down.Store(true) },
		"slow": func(s *slowLog) { s.pause.Store(int64(3 * time.Second)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &slowLog{Adapter: memory.New()}
				first := replica(t, store, passwords)
				in, out := first.Browser(), first.Browser()
				in.Login("ada")
				out.Login("bob")
				stolen := out.Clone()
				out.Post("/api/auth/signout")
				for range 5 {
					b := first.Browser()
					b.Login("carl")
					b.Post("/api/auth/signout")
				}
				how(store)
				second := replica(t, store, passwords)
				at := func(b *arena.Browser) *arena.Browser { c := b.Clone(); c.H = second; return c }
				if a := at(in).Get("/api/auth/session"); a.StatusCode != http.StatusServiceUnavailable || a.Text != "{}" {
					t.Errorf("before the log is known: %d %s", a.StatusCode, a.Text)
				}
				if a := at(in).Get("/api/auth/session"); len(a.Cookies()) > 0 {
					t.Errorf("the cookie was touched: %v", a.Cookies())
				}
				if second.Ready(t.Context()) == nil {
					t.Error("ready before the log is known")
				}
				time.Sleep(40 * time.Second)
				store.down.Store(false)
				time.Sleep(3 * time.Second)
				if at(in).Email() != "ada@app.test" || at(stolen).Email() != "" {
					t.Errorf("afterwards: %q, ended %q", at(in).Email(), at(stolen).Email())
				}
				if err := second.Ready(t.Context()); err != nil {
					t.Error(err)
				}
				end(first, t)
				end(second, t)
			})
		})
	}
}

func passwords(c *authsvc.Config) {
	c.RateLimit.Disabled = true
	c.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}
}

// TestSignOutOutlived: if a replica accepts sessions without the log, it reissues
// tokens of sessions that have ended. A sign-out is kept for as long as such a token
// can live.
func TestSignOutOutlived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		cutOff := &slowLog{Adapter: store}
		tune := func(c *authsvc.Config) {
			passwords(c)
			c.StaleRevocations = authsvc.StaleRevocationsAccept
			c.Session.MaxAge, c.Session.UpdateAge, c.Session.AbsoluteMaxAge = time.Hour, 10*time.Minute, 4*time.Hour
		}
		first, behind := replica(t, store, tune), replica(t, cutOff, tune)
		b := first.Browser()
		b.Login("ada")
		stolen := b.Clone()
		stolen.H = behind
		cutOff.down.Store(true)
		b.Post("/api/auth/signout")
		for range 9 {
			time.Sleep(10 * time.Minute)
			if stolen.Email() == "" {
				t.Fatal("twin: the session ended at the replica that knows nothing")
			}
		}
		cutOff.down.Store(false)
		time.Sleep(10 * time.Second)
		if at := stolen.Email(); at != "" {
			t.Errorf("the session that ended is signed in as %s", at)
		}
		if stolen.H = first; stolen.Email() != "" {
			t.Error("the replica that ended it takes the token")
		}
		end(first, t)
		end(behind, t)
	})
}
