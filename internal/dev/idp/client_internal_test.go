package idp

import "testing"

// TestClientCallback: a client with Callback accepts the callback of each provider, and
// nothing else below it.
func TestClientCallback(t *testing.T) {
	t.Parallel()
	c := Client{ID: "app", RedirectURIs: []string{"http://localhost:3000/exact"}, Callback: "http://localhost:3000/api/auth/callback/"}
	for uri, want := range map[string]bool{
		"http://localhost:3000/exact":                       true,
		"http://localhost:3000/api/auth/callback/github":    true,
		"http://localhost:3000/api/auth/callback/42-school": true,
		"http://localhost:3000/api/auth/callback/":          false,
		"http://localhost:3000/api/auth/callback/a/b":       false,
		"http://localhost:3000/api/auth/callback/..":        false,
		"http://localhost:3000/api/auth/callback/a?b=c":     false,
		"http://localhost:3000/api/auth/callback/a%2Fb":     false,
		"http://localhost:3000/api/auth/callbacks":          false,
		"http://localhost:3000@evil.example/callback/a":     false,
		"http://127.0.0.1:3000/api/auth/callback/github":    false,
	} {
		if got := c.allows(uri); got != want {
			t.Errorf("%s: %t", uri, got)
		}
	}
	if (Client{ID: "app", RedirectURIs: []string{"http://localhost/exact"}}).allows("github") {
		t.Error("without Callback, any word is accepted")
	}
	if _, err := indexClients([]Client{{ID: "app", Callback: "http://localhost:3000/callback"}}); err == nil {
		t.Error("a callback without a slash is accepted")
	}
}
