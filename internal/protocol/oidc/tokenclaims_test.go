package oidc

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIDTokenTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSigner("k")
		client := offline(t, s, Config{}, map[string]int{})
		now := time.Now().Unix() // the bubble's clock is at a whole second
		base := map[string]any{"iss": "https://idp.example", "sub": "u", "aud": testClient, "iat": now, "exp": now + 300}
		tests := []struct {
			name   string
			claims map[string]any
			maxAge time.Duration
			want   string
		}{
			{"exp, last second of the leeway", map[string]any{"exp": now - 59}, 0, ""},
			{"exp, leeway over", map[string]any{"exp": now - 60}, 0, "expired 1m0s ago by the clock of this machine"},
			{"exp, long ago", map[string]any{"exp": now - 301}, 0, "expired"},
			{"iat, edge of the future", map[string]any{"iat": now + 60}, 0, ""},
			{"iat, future", map[string]any{"iat": now + 61}, 0, "issued 1m1s in the future: clocks differ"},
			{"iat, a day", map[string]any{"iat": now - 86400}, 0, ""},
			{"iat, over a day", map[string]any{"iat": now - 86401}, 0, "too long ago"},
			{"nbf, edge", map[string]any{"nbf": now + 60}, 0, ""},
			{"nbf, future", map[string]any{"nbf": now + 61}, 0, "not valid yet"},
			{"nbf, text", map[string]any{"nbf": "1"}, 0, "nbf is missing or not a number"},
			{"auth_time, fresh", map[string]any{"auth_time": now - 660}, 10 * time.Minute, ""},
			{"auth_time, old", map[string]any{"auth_time": now - 661}, 10 * time.Minute, "too long ago"},
			{"auth_time, future", map[string]any{"auth_time": now + 61}, 10 * time.Minute, "clocks differ"},
			{"auth_time, missing", nil, 10 * time.Minute, "auth_time is missing"},
		}
		for _, tt := range tests {
			c := maps.Clone(base)
			maps.Copy(c, tt.claims)
			if _, err := client.VerifyIDToken(t.Context(), s.sign(t, c, nil), IDTokenCheck{MaxAge: tt.maxAge}); err != nil != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		}
	})
}
