package weburl

import (
	"net/url"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		"https://app.test":                    {"https://app.test", "https://app.test"},
		"HTTPS://App.Test:443/a b?q=ü#f":      {"https://app.test", "https://app.test/a%20b?q=%C3%BC#f"},
		"http://app.test:8080/x?y=%2f":        {"http://app.test:8080", "http://app.test:8080/x?y=%2f"},
		"https://[::1]:3000/":                 {"https://[::1]:3000", "https://[::1]:3000/"},
		"https://app.test/'\"<>":              {"https://app.test", "https://app.test/%27%22%3C%3E"},
		"https:///x":                          {},
		"https://user@app.test/":              {},
		"https://app.test\\@other.test/":      {},
		"https://app.test/\n":                 {},
		" https://app.test":                   {},
		"https://app.test ":                   {},
		"//app.test":                          {},
		"javascript:alert(1)":                 {},
		"https://ünï.test/":                   {},
		"https://app.test:0/":                 {},
		"https://app.test/" + long(MaxLength): {},
	} {
		origin, clean, ok := Parse(raw)
		if origin != want[0] || clean != want[1] || ok != (want[0] != "") {
			t.Errorf("%.60q: %q, %q, %v", raw, origin, clean, ok)
		}
	}
}

func long(n int) string { return strings.Repeat("a", n) }

func TestOrigins(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct{ of, header, exact string }{
		"https://app.test":        {"https://app.test", "https://app.test", "https://app.test"},
		"https://APP.test:443":    {"https://app.test", "https://app.test", "https://app.test"},
		"https://app.test/":       {"https://app.test", "", "https://app.test"},
		"https://app.test/path":   {"https://app.test", "", ""},
		"https://app.test?x":      {"https://app.test", "", ""},
		"https://user@app.test":   {"https://app.test", "", ""},
		"https://app.test:99":     {"https://app.test:99", "https://app.test:99", "https://app.test:99"},
		"null":                    {},
		"ftp://app.test":          {},
		"https://app.test:999999": {},
		"::":                      {},
	} {
		exact, ok := ExactOrigin(raw)
		if OriginOf(raw) != want.of || HeaderOrigin(raw) != want.header || exact != want.exact || ok != (exact != "") {
			t.Errorf("%s: %q, %q, %q, %v", raw, OriginOf(raw), HeaderOrigin(raw), exact, ok)
		}
	}
	if Origin(&url.URL{Scheme: "https"}) != "" {
		t.Error("an origin without a host")
	}
}

func TestSameSite(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]bool{
		{"https://a.app.test", "https://b.app.test"}:           true,
		{"https://app.test", "https://app.test:8443"}:          true,
		{"https://127.0.0.1:1", "https://127.0.0.1:2"}:         true,
		{"https://app.test", "http://app.test"}:                false,
		{"https://a.github.io", "https://b.github.io"}:         false,
		{"https://a.example.co.uk", "https://b.example.co.uk"}: true,
		{"https://one.co.uk", "https://two.co.uk"}:             false,
		{"https://app.test", "::"}:                             false,
	} {
		if SameSite(pair[0], pair[1]) != want {
			t.Errorf("%v: %v", pair, !want)
		}
	}
}

func TestWithQuery(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"/x":           WithQuery("/x"),
		"/x?a=1&b=%26": WithQuery("/x", "a", "1", "b", "&"),
		"/x?y&b=2":     WithQuery("/x?y", "a", "", "b", "2"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNamesHost(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"https://app.test", "http://localhost:3000", "https://[2001:db8::1]"} {
		_, own, _ := strings.Cut(origin, "://")
		right := []string{own, strings.ToUpper(own)}
		if strings.HasPrefix(origin, "https") {
			right = append(right, own+":443")
		}
		for _, host := range right {
			if !NamesHost(origin, host) {
				t.Errorf("%q does not name the host of %s", host, origin)
			}
		}
		for _, host := range []string{"", own + ":80", own + ":8443", own + "/", own + "?", own + "#", own + "\\", own + ".", own + ",", own + "," + own, own + " ", " " + own, "a@" + own, "www." + own, own + ".evil.test", origin, own + "%00", own + "\n"} {
			if NamesHost(origin, host) {
				t.Errorf("%q names the host of %s", host, origin)
			}
		}
	}
}
