package dev

import (
	"testing"
)

// TestRedirectCallback: a sign-in at dev leads back to dev itself, also behind an https
// address, and to programs on this machine, and nowhere else.
func TestRedirectCallback(t *testing.T) {
	t.Parallel()
	const own = "https://space.example"
	for to, want := range map[string]string{
		own + "/x":                     own + "/x",
		"/x":                           "/x",
		"http://localhost:8000/x":      "http://localhost:8000/x",
		"https://evil.example/":        "",
		"https://space.example.evil/":  "",
		"http://localhost.evil.test/x": "",
	} {
		if got := redirect(t.Context(), to, own); got != want {
			t.Errorf("%s leads to %q, want %q", to, got, want)
		}
	}
}
