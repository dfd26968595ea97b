package authsvc

import (
	"testing"
)

func TestErrorStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[ErrorCode]int{Configuration: 500, AccessDenied: 403, Verification: 403, RateLimited: 429, OAuthCallback: 200, "": 200, "constructor": 200} {
		if got := errorStatus(code); got != want {
			t.Errorf("errorStatus(%q) = %d; want %d", code, got, want)
		}
	}
}
