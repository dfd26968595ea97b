package outbound

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFetch checks that a client reaches only its hosts, accepts only status 200, and
// follows no redirects.
func TestFetch(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "oauth_token=a") })
	mux.HandleFunc("/created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20+1)) })
	mine, other := httptest.NewServer(mux), httptest.NewServer(mux)
	t.Cleanup(mine.Close)
	t.Cleanup(other.Close)
	c, err := New(Config{URLs: map[string]string{"endpoint": mine.URL + "/ok", "more url": ""}})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := c.Fetch(t.Context(), Call{URL: mine.URL + "/ok"}); err != nil || string(body) != "oauth_token=a" {
		t.Errorf("twin: %q, %v", body, err)
	}
	for _, address := range []string{mine.URL + "/created", mine.URL + "/busy", mine.URL + "/away", mine.URL + "/large", other.URL + "/ok", "https://evil.example/", ""} {
		if body, err := c.Fetch(t.Context(), Call{URL: address}); err == nil {
			t.Errorf("%s: %.20q", address, body)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	_, err := New(Config{URLs: map[string]string{"a url": "http://a.example/", "b url": "https://b.example/"},
		Hosts: []string{"https://c.example"}, Headers: map[string]string{"Host": "d.example"}})
	for _, field := range []string{"a url: ", "hosts: ", "headers: "} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not in %v", field, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "b url") {
		t.Errorf("%v", err)
	}
}
