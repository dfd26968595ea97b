package oidc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// hanging answers when the caller has lost patience.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *Party) error{"token": redeem, "userinfo": userInfo} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls, hang := 0, true
				p := inMemory(t, false, func(r *http.Request) (*http.Response, error) {
					if calls++; hang {
						return hanging(r)
					}
					return response(200, goodTokens), nil
				})
				took := func() (time.Duration, error) {
					begin := time.Now()
					err := call(t.Context(), p)
					return time.Since(begin), err
				}
				for range breakAfter {
					if d, err := took(); !errors.Is(err, ErrUnavailable) || d != defaultTimeout {
						t.Fatalf("%v after %v", err, d)
					}
				}
				if d, err := took(); !errors.Is(err, errOpen) || !errors.Is(err, ErrUnavailable) || d != 0 || calls != breakAfter {
					t.Errorf("open: %v after %v, %d calls", err, d, calls)
				}
				time.Sleep(probeEvery)
				if d, err := took(); errors.Is(err, errOpen) || d != defaultTimeout {
					t.Errorf("the probe: %v after %v", err, d)
				}
				if _, err := took(); !errors.Is(err, errOpen) {
					t.Errorf("after a probe that failed: %v", err)
				}
				hang = false
				time.Sleep(probeEvery)
				for range 2 * breakAfter {
					if d, err := took(); err != nil || d != 0 {
						t.Errorf("closed: %v after %v", err, d)
					}
				}
			})
		})
	}
}

// TestBreakerOneProbe: of those who come together, one is the probe.
func TestBreakerOneProbe(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Now()
	for range breakAfter {
		b.learn(errNoConnection, now)
	}
	admitted := 0
	for range 100 {
		if b.admit(now.Add(probeEvery)) {
			admitted++
		}
	}
	if admitted != 1 {
		t.Errorf("%d probes", admitted)
	}
}

// TestBreakerIsNotForBrowsers: what somebody can bring about from a browser does
// not shut the provider for others.
func TestBreakerIsNotForBrowsers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer roundTrip
		leave  bool
	}{
		"500 to a strange code": {func(*http.Request) (*http.Response, error) { return response(500, nil), nil }, false},
		"429":                   {func(*http.Request) (*http.Response, error) { return response(429, nil), nil }, false},
		"refusal":               {func(*http.Request) (*http.Response, error) { return response(400, nil), nil }, false},
		"leaving":               {hanging, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var fault atomic.Bool
				fault.Store(true)
				p := inMemory(t, false, func(r *http.Request) (*http.Response, error) {
					if fault.Load() {
						return c.answer(r)
					}
					return response(200, goodTokens), nil
				})
				for range 3 * breakAfter {
					ctx, cancel := context.WithCancel(t.Context())
					if c.leave {
						time.AfterFunc(time.Millisecond, cancel)
					}
					if err := redeem(ctx, p); err == nil || errors.Is(err, errOpen) {
						t.Errorf("%v", err)
					}
					cancel()
				}
				fault.Store(false)
				if err := redeem(t.Context(), p); err != nil {
					t.Errorf("somebody else: %v", err)
				}
			})
		})
	}
}

// TestSlots: a thousand sign-ins at a provider that hangs hold 64 calls, the
// others are told soon; keys still come through.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var under, most atomic.Int64
		var hang atomic.Bool
		hang.Store(true)
		s := newSigner("k")
		p := inMemory(t, true, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/jwks" {
				return response(200, map[string]any{"keys": []any{s.public()}}), nil
			}
			n := under.Add(1)
			defer under.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if hang.Load() {
				return hanging(r)
			}
			return response(200, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": "x"}), nil
		})
		var busy atomic.Int64
		var wg sync.WaitGroup
		begin := time.Now()
		for range 1000 {
			wg.Go(func() {
				err := redeem(t.Context(), p)
				if errors.Is(err, errBusy) {
					busy.Add(1)
					if d := time.Since(begin); d != slotWait {
						t.Errorf("refused after %v", d)
					}
				}
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("%v", err)
				}
			})
		}
		time.Sleep(slotWait + time.Second)
		now := time.Now().Unix()
		raw := s.sign(t, map[string]any{"iss": "https://idp.example", "sub": "u", "aud": testClient, "iat": now, "exp": now + 60}, nil)
		if _, err := p.VerifyIDToken(t.Context(), raw, IDTokenCheck{}); err != nil {
			t.Errorf("keys meanwhile: %v", err)
		}
		wg.Wait()
		if most.Load() != maxCalls || busy.Load() != 1000-maxCalls {
			t.Errorf("%d calls at a time, %d refused", most.Load(), busy.Load())
		}
		hang.Store(false)
		time.Sleep(probeEvery)
		if err := redeem(t.Context(), p); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestBurst: a thousand at once at a provider that works all get through.
func TestBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := inMemory(t, false, func(*http.Request) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return response(200, goodTokens), nil
		})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if err := redeem(t.Context(), p); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
