package engine

import (
	"testing"

	"authsvc"
)

func TestErrorStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[authsvc.ErrorCode]int{authsvc.Configuration: 500, authsvc.AccessDenied: 403, authsvc.Verification: 403, authsvc.RateLimited: 429, authsvc.OAuthCallback: 200, "": 200, "constructor": 200} {
		if got := errorStatus(code); got != want {
			t.Errorf("errorStatus(%q) = %d; want %d", code, got, want)
		}
	}
}
