package outbound

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// roundTrip is a transport in memory, for tests of time.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inMemory returns a client whose provider is a function.
func inMemory(t *testing.T, answer roundTrip) *Client {
	t.Helper()
	c, err := New(Config{Hosts: []string{"api.example"}, HTTP: &http.Client{Transport: answer}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get makes a request that is retried; fetch makes one that is not and has a breaker.
func get(ctx context.Context, c *Client) error {
	_, err := c.Call(ctx, Call{URL: "https://api.example/me", Token: "at"})
	return err
}

func fetch(ctx context.Context, c *Client) error {
	_, err := c.Fetch(ctx, Call{URL: "https://api.example/token", Form: url.Values{"code": {"x"}}})
	return err
}

func response(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// reply always gives the same answer.
func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// wantError checks that err contains what or, if what is empty, that err is nil.
func wantError(t *testing.T, err error, what string) {
	t.Helper()
	switch {
	case what == "" && err != nil:
		t.Fatalf("unexpected error: %v", err)
	case what != "" && err == nil:
		t.Fatalf("no error, want one about %q", what)
	case what != "" && !strings.Contains(err.Error(), what):
		t.Fatalf("error %q, want one about %q", err, what)
	}
}
