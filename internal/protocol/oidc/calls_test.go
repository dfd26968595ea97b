package oidc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/internal/protocol/outbound"
)

// inMemory returns a client, OpenID or not, whose provider is a function.
func inMemory(t *testing.T, openID bool, answer roundTrip) *Client {
	t.Helper()
	const base = "https://idp.example"
	c := Config{AuthorizationURL: base + "/authorize", TokenURL: base + "/token", UserInfoURL: base + "/userinfo", ClientID: testClient, ClientSecret: testSecret,
		Hosts: []string{"api.example"}, HTTP: &http.Client{Transport: answer}}
	if openID {
		c.Issuer, c.JWKSURL, c.OpenID = base, base+"/jwks", true
	}
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func userInfo(ctx context.Context, client *Client) error {
	_, err := client.UserInfo(ctx, &Tokens{AccessToken: "at"}, "")
	return err
}

func redeem(ctx context.Context, client *Client) error {
	_, err := client.Exchange(ctx, Grant{Code: "code", RedirectURI: testRedirect})
	return err
}

var goodTokens = map[string]any{"access_token": "at", "token_type": "Bearer", "sub": "u"}

// hanging answers when the caller's context ends.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *Client) error{"token": redeem, "userinfo": userInfo} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls, hang := 0, true
				client := inMemory(t, false, func(r *http.Request) (*http.Response, error) {
					if calls++; hang {
						return hanging(r)
					}
					return response(200, goodTokens), nil
				})
				took := func() (time.Duration, error) {
					begin := time.Now()
					err := call(t.Context(), client)
					return time.Since(begin), err
				}
				for range outbound.BreakAfter {
					if d, err := took(); !errors.Is(err, outbound.ErrUnavailable) || d != outbound.Timeout {
						t.Fatalf("%v after %v", err, d)
					}
				}
				if d, err := took(); !errors.Is(err, outbound.ErrOpen) || !errors.Is(err, outbound.ErrUnavailable) || d != 0 || calls != outbound.BreakAfter {
					t.Errorf("open: %v after %v, %d calls", err, d, calls)
				}
				time.Sleep(outbound.ProbeEvery)
				if d, err := took(); errors.Is(err, outbound.ErrOpen) || d != outbound.Timeout {
					t.Errorf("the probe: %v after %v", err, d)
				}
				if _, err := took(); !errors.Is(err, outbound.ErrOpen) {
					t.Errorf("after a probe that failed: %v", err)
				}
				hang = false
				time.Sleep(outbound.ProbeEvery)
				for range 2 * outbound.BreakAfter {
					if d, err := took(); err != nil || d != 0 {
						t.Errorf("closed: %v after %v", err, d)
					}
				}
			})
		})
	}
}

// TestSlots checks that a thousand sign-ins at a hanging provider use 64 calls, that
// the others fail soon, and that keys are still fetched.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var under, most atomic.Int64
		var hang atomic.Bool
		hang.Store(true)
		s := newSigner("k")
		client := inMemory(t, true, func(r *http.Request) (*http.Response, error) {
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
				err := redeem(t.Context(), client)
				if errors.Is(err, outbound.ErrBusy) {
					busy.Add(1)
					if d := time.Since(begin); d != outbound.QueueWait {
						t.Errorf("refused after %v", d)
					}
				}
				if !errors.Is(err, outbound.ErrUnavailable) {
					t.Errorf("%v", err)
				}
			})
		}
		time.Sleep(outbound.QueueWait + time.Second)
		now := time.Now().Unix()
		raw := s.sign(t, map[string]any{"iss": "https://idp.example", "sub": "u", "aud": testClient, "iat": now, "exp": now + 60}, nil)
		if _, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{}); err != nil {
			t.Errorf("keys meanwhile: %v", err)
		}
		wg.Wait()
		if most.Load() != outbound.MaxCalls || busy.Load() != 1000-outbound.MaxCalls {
			t.Errorf("%d calls at a time, %d refused", most.Load(), busy.Load())
		}
		hang.Store(false)
		time.Sleep(outbound.ProbeEvery)
		if err := redeem(t.Context(), client); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestCodesAreSentOnce checks that a code or a refresh token is not sent again, even if
// the connection breaks.
func TestCodesAreSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() (*http.Response, error){
		"500": func() (*http.Response, error) { return response(500, nil), nil },
		"503": func() (*http.Response, error) {
			r := response(503, nil)
			r.Header.Set("Retry-After", "1")
			return r, nil
		},
		"429":   func() (*http.Response, error) { return response(429, nil), nil },
		"reset": func() (*http.Response, error) { return nil, syscall.ECONNRESET },
	} {
		for what, call := range map[string]func(client *Client) error{
			"code": func(client *Client) error { return redeem(t.Context(), client) },
			"refresh token": func(client *Client) error {
				_, err := client.Refresh(t.Context(), Refresh{RefreshToken: "rt"})
				return err
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				calls := 0
				client := inMemory(t, false, func(*http.Request) (*http.Response, error) { calls++; return fault() })
				if err := call(client); !errors.Is(err, outbound.ErrUnavailable) || calls != 1 {
					t.Errorf("%v, %d calls", err, calls)
				}
			})
		}
	}
}

// TestDiscoveredUserInfoHost checks that the discovered endpoint, which receives the
// token anyway, may be called.
func TestDiscoveredUserInfoHost(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := op.document()
		doc["userinfo_endpoint"] = "https://api.example/me"
		writeJSON(w, doc)
	})
	client := op.client(t)
	api := mustURL(t, "https://api.example/emails")
	if client.Outbound().MayCall(api) {
		t.Error("nothing is discovered yet")
	}
	_, err := client.Metadata(t.Context())
	wantError(t, err, "")
	if !client.Outbound().MayCall(api) || client.Outbound().MayCall(mustURL(t, "https://evil.example/")) {
		t.Error("another host than the discovered one")
	}
}
