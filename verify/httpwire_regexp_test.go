package verify

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"time"

	"authsvc"
)

// httpwire18 checks that only package regexp is used for regular expressions, which
// run in linear time, and that hostile input takes little time anywhere.
func httpwire18(t *T) {
	out, err := exec.Command("go", "list", "-deps", "authsvc/cmd/authsvc").Output()
	if err != nil {
		t.Want("needs the go command: %v", err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("twin: %d packages", len(packages))
	}
	for _, p := range packages {
		if strings.Contains(p, "regexp2") || strings.Contains(p, "pcre") || strings.Contains(p, "oniguruma") || strings.Contains(p, "rure") {
			t.Errorf("the binary has %s", p)
		}
	}
	w := t.Enter(func(c *authsvc.Config) { c.AllowedRedirects = []string{"https://partner.test"} })
	b := w.Browser()
	token := b.CSRF()
	var longest time.Duration
	for _, unit := range []string{"a", "a@", "@", "a.", ".", "/", "//", "\\", "%2f", "%", "&#", "(((", "[a-z]*", " ", "\t", "ſ", "xn--", "1.", ":", ",", ";", "-"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		for _, r := range []*http.Request{
			httptest.NewRequest(http.MethodPost, b.Origin+"/api/auth/signin/email", strings.NewReader("csrfToken="+token+"&email="+formEscaped(text[:20_000]))),
			httptest.NewRequest(http.MethodPost, b.Origin+"/api/auth/signout", strings.NewReader("csrfToken="+token+"&callbackUrl="+formEscaped(text[:20_000]))),
			httptest.NewRequest(http.MethodGet, b.Origin+"/api/auth/signin?callbackUrl="+formEscaped(text), nil),
			httptest.NewRequest(http.MethodGet, b.Origin+"/api/auth/signin?ui_locales="+formEscaped(text), nil),
			withHeader("Accept-Language", text), withHeader("X-Forwarded-For", text), withHeader("Origin", text), withHeader("Cookie", text), withHeader("Authorization", text), withHeader("If-None-Match", text),
		} {
			if r.Method == http.MethodPost {
				r.Header.Set("Content-Type", formType)
			}
			began := time.Now()
			b.Clone().Do(r)
			longest = max(longest, time.Since(began))
		}
	}
	t.Figure("longest answer %v", longest.Round(time.Millisecond))
	if longest > within(time.Second) {
		t.Errorf("an answer took %v", longest)
	}
}

func formEscaped(s string) string {
	return strings.NewReplacer("%", "%25", "&", "%26", ";", "%3b", " ", "+", "#", "%23", "\t", "%09").Replace(s)
}

func withHeader(name, v string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://app.test/api/auth/signin", nil)
	r.Header.Set(name, v)
	return r
}
