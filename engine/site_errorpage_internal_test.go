package engine

import (
	"testing"

	"authsvc"
)

func TestErrorStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[authsvc.ErrorCode]int{authsvc.CodeConfiguration: 500, authsvc.CodeAccessDenied: 403, authsvc.CodeVerification: 403, authsvc.CodeRateLimited: 429, authsvc.CodeOAuthCallback: 200, "": 200, "constructor": 200} {
		if got := errorStatus(code); got != want {
			t.Errorf("errorStatus(%q) = %d; want %d", code, got, want)
		}
	}
}
