package outbound

import (
	"net/url"
	"testing"
)

func TestCheckHosts(t *testing.T) {
	t.Parallel()
	for host, ok := range map[string]bool{
		"api.example.com": true, "api.example.com:8443": true, "*.example.com": true, "*.example.co.uk:444": true, "127.0.0.1:80": true, "[::1]:80": true,
		"": false, "*": false, "*.com": false, "*.": false, "*example.com": false, "a.*.example.com": false, "*.*.example.com": false, "https://x.example": false,
		"x.example/path": false, "u@x.example": false, "x.example?": false, "x.example#": false, "*.10.0.0.1": false, "*..example.com": false, "a b": false, "x:y": false,
		"a.example:65535": true, "a.example:0": false, "a.example:65536": false, "a.example:0443": false,
	} {
		if err := CheckHosts([]string{"good.example", host}); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestHostList(t *testing.T) {
	t.Parallel()
	l := hostsOf([]string{"https://token.example/t"}, []string{"API.example:8443", "*.People.example"})
	for raw, want := range map[string]bool{
		"https://token.example/x": true, "https://TOKEN.example:443/": true, "https://token.example:444/": false, "https://api.example:8443/": true, "https://api.example/": false,
		"https://eu.people.example/": true, "https://a.b.people.example/": true, "https://people.example/": false, "https://xpeople.example/": false,
		"https://.people.example/": false, "https://a..people.example/": false, "https://a.people.example:8443/": false, "https://a.people.example.evil.example/": false,
		"https://evil.example%2f.people.example/": false, "https://a.people.example./": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			if want {
				t.Error(err)
			}
			continue
		}
		if got := l.has(u); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
