package weburl

import "testing"

func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true, "app.localhost": true, "a.b.localhost": true,
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, ".": false, "xlocalhost": false, "localhost.example": false, "localhost.localdomain": false,
		"0.0.0.0": false, "10.0.0.1": false, "::": false, "128.0.0.1": false, "127.1": false, "127.0.0.1.example": false, "localhost:3000": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestHostname(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://app.example": "app.example", "http://app.localhost:3001": "app.localhost", "https://*.apps.example:8443": "*.apps.example",
		"http://[::1]:3000": "::1", "https://[2001:db8::1]": "2001:db8::1", "http://127.0.0.1:80": "127.0.0.1", "": "",
	} {
		if got := Hostname(origin); got != want {
			t.Errorf("%q: %q, want %q", origin, got, want)
		}
	}
}
