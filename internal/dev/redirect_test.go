package dev_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// callbackOf returns where the sign-in page leads if it is asked to lead to a URL.
func (v *visitor) callbackOf(to string) string {
	v.t.Helper()
	page := v.get("/api/auth/signin?callbackUrl=" + url.QueryEscape(to))
	m := regexp.MustCompile(`name="callbackUrl" value="([^"]*)"`).FindStringSubmatch(page.Text)
	if m == nil {
		v.t.Fatalf("the sign-in page has no callbackUrl: %s", page.Text)
	}
	return html.UnescapeString(m[1])
}

// TestRedirects: a sign-in leads back to any program on this machine, and to no other
// machine.
func TestRedirects(t *testing.T) {
	t.Parallel()
	v, _ := visitNew(t)
	own := v.Base
	for to, want := range map[string]string{
		"http://localhost:8000/x":              "http://localhost:8000/x",
		"http://localhost":                     "http://localhost",
		"http://127.0.0.1:8000/x?a=b":          "http://127.0.0.1:8000/x?a=b",
		"http://[::1]:8000/":                   "http://[::1]:8000/",
		"HTTP://App.LOCALHOST:8000/X":          "http://app.localhost:8000/X",
		"/x":                                   own + "/x",
		own + "/x":                             own + "/x",
		"https://evil.example":                 own,
		"http://localhost.evil.example":        own,
		"http://evil.example:8000/":            own,
		"//localhost:8000/":                    own,
		"//evil.example/":                      own,
		"/\\evil.example":                      own,
		"https://localhost:8000/":              own,
		"http://ada@localhost:8000/":           own,
		"http://localhost@evil.example/":       own,
		"http://localhost:8000\\@evil.example": own,
		"http://127.0.0.1.evil.example/":       own,
		"http://0.0.0.0:8000/":                 own,
		"javascript://localhost/%0aalert(1)":   own,
	} {
		fresh := &visitor{t, v.Fresh()} // without the callback-url cookie
		if got := fresh.callbackOf(to); got != want {
			t.Errorf("callbackUrl %s leads to %s, want %s", to, got, want)
		}
	}
}

// TestSignInForAnotherPort: a program on another port sends a person to sign in, and gets
// them back with a session.
func TestSignInForAnotherPort(t *testing.T) {
	t.Parallel()
	v, port := visitNew(t)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, fmt.Sprintf("http://localhost:%d/api/auth/session", port), nil)
		if err != nil {
			panic(err)
		}
		ask.Header["Cookie"] = r.Header["Cookie"]
		res, err := http.DefaultClient.Do(ask)
		if err != nil {
			panic(err)
		}
		defer res.Body.Close()
		io.Copy(w, res.Body) //nolint:errcheck // the test sees the text
	}))
	t.Cleanup(program.Close)
	page := strings.Replace(program.URL, "127.0.0.1", "localhost", 1) + "/orders?n=1"
	if a := v.get(page); a.Text != "{}" {
		t.Fatalf("before the sign-in: %s", a.Text)
	}
	a := v.choose(v.post("/api/auth/signin/dev", "callbackUrl", v.callbackOf(page)), "Ada Lovelace")
	if a.Request.URL.String() != page || !strings.Contains(a.Text, "ada@example.com") {
		t.Errorf("after the sign-in: %s says %s", a.Request.URL, a.Text)
	}
}
