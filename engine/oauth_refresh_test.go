package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// refreshing makes the harness's provider issue tokens that are due and answer
// refreshes with the result of answer.
func refreshing(w *arena.World, answer func(r *http.Request) string) {
	w.OP.SetFault(idp.Fault{
		TokenAnswer: func(a map[string]any) { a["refresh_token"], a["expires_in"] = "rt-0", 1 },
		Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointToken: func(rw http.ResponseWriter, r *http.Request) bool {
				if r.ParseForm(); r.PostForm.Get("grant_type") != "refresh_token" {
					return false
				}
				rw.Header().Set("Content-Type", "application/json")
				fmt.Fprint(rw, answer(r))
				return true
			},
		},
	})
}

// TestRefreshHooks checks that a provider's departures from the standards also apply to
// refreshes.
func TestRefreshHooks(t *testing.T) {
	t.Parallel()
	none := func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { return nil, errors.New("no") }
	for name, c := range map[string]struct {
		tune func(*authsvc.OAuth)
		want string
		err  string
	}{
		"standard": {func(*authsvc.OAuth) {}, "at-odd", ""},
		"conform": {func(p *authsvc.OAuth) {
			p.Hooks.ConformTokens = func(a authsvc.Profile) (authsvc.Profile, error) { a["access_token"] = "mended"; return a, nil }
		}, "mended", ""},
		"same token again": {func(p *authsvc.OAuth) {
			p.Hooks.ConformTokens = func(a authsvc.Profile) (authsvc.Profile, error) { a["access_token"] = "at-0"; return a, nil }
		}, "at-0", ""},
		"minted secret": {func(p *authsvc.OAuth) {
			p.Hooks.ClientSecret = func(authsvc.Client, time.Time) (string, time.Time, error) { return "minted", time.Time{}, nil }
		}, "at-odd", ""},
		"own request": {func(p *authsvc.OAuth) {
			p.Hooks.ExchangeCode = none
			p.Hooks.RefreshTokens = func(_ context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
				if x.Tokens["refresh_token"] != "rt-0" || x.Client.Secret != arena.ClientSecret || x.Callback("code") != "" {
					return nil, errors.New("not what it needs")
				}
				return authsvc.Profile{"access_token": "own", "token_type": "bearer"}, nil
			}
		}, "own", ""},
		"own request refused": {func(p *authsvc.OAuth) {
			p.Hooks.RefreshTokens = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
				return authsvc.Profile{"error": "invalid_grant"}, nil
			}
		}, "", "refused the stored refresh token"},
		"own request says so": {func(p *authsvc.OAuth) {
			p.Hooks.RefreshTokens = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
				return nil, fmt.Errorf("odd: %w", authsvc.ErrTokenRefused)
			}
		}, "", "refused the stored refresh token"},
		"own request lacks something": {func(p *authsvc.OAuth) {
			p.Hooks.RefreshTokens = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
				return nil, fmt.Errorf("odd: %w", authsvc.ErrNoToken)
			}
		}, "", "no usable token"},
		"own request panics": {func(p *authsvc.OAuth) {
			p.Hooks.RefreshTokens = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { panic("x") }
		}, "", "RefreshTokens panicked"},
		"only the code": {func(p *authsvc.OAuth) { p.Hooks.ExchangeCode = none }, "", "cannot refresh tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOdd(map[string]string{"odd.test/token": `{"access_token":"at-odd","token_type":"bearer","expires_in":3600}`})
			w := startOdd(t, o, c.tune)
			due(t, w.Store, 0)
			got, err := w.AccessToken(t.Context(), "ada", "odd", nil)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v", got, err)
			}
			if c.err == "" {
				if again, err := w.AccessToken(t.Context(), "ada", "odd", nil); again != c.want || err != nil || o.count("odd.test/token") > 1 {
					t.Errorf("again: %q, %v, asked %d times", again, err, o.count("odd.test/token"))
				}
				if _, refresh := tokens(w, t); refresh != "rt-0" {
					t.Errorf("an answer without refresh token costs the old one: %q", refresh)
				}
			}
			if r := o.request("odd.test/token"); name == "minted secret" {
				if _, secret, _ := r.BasicAuth(); secret != "minted" {
					t.Errorf("secret %q", secret)
				}
			}
		})
	}
}
