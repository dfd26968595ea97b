package provider_test

import (
	"errors"
	"testing"

	"authsvc"
	"authsvc/provider"
)

// TestFacebookVersion checks that only a version is accepted, because it becomes part
// of URLs. TestSignIn covers an accepted one.
func TestFacebookVersion(t *testing.T) {
	t.Parallel()
	entry, _ := provider.Lookup("facebook")
	for _, version := range []string{"24.0", "v24", "v24.0/../..", "v24.0?x=", "v24.0\n", " v24.0", "v", "latest"} {
		_, err := entry.New(authsvc.Client{ID: "client", Secret: "secret"}, map[string]string{"api_version": version})
		var wrong *provider.OptionError
		if !errors.As(err, &wrong) || wrong.Key != "api_version" || wrong.Fix == "" {
			t.Errorf("%q: %v", version, err)
		}
	}
}
