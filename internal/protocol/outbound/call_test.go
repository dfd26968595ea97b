package outbound

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCall checks that calls reach only configured hosts, with the token in its place.
func TestCall(t *testing.T) {
	t.Parallel()
	var last *http.Request
	mux := http.NewServeMux()
	mux.HandleFunc("/emails", func(w http.ResponseWriter, r *http.Request) {
		last = r
		reply(200, "application/json", `[{"email":"a@b.example","primary":true}]`)(w, r)
	})
	mux.HandleFunc("/object", reply(200, "application/json", `{"id":9007199254740993}`))
	var strayed atomic.Int64
	mine := httptest.NewServer(mux)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	t.Cleanup(mine.Close)
	t.Cleanup(other.Close)
	c, err := New(Config{URLs: map[string]string{"userinfo url": mine.URL + "/me"}})
	wantError(t, err, "")
	t.Cleanup(c.CloseIdleConnections)
	v, err := c.Call(t.Context(), Call{URL: mine.URL + "/emails", Token: "at", Header: map[string]string{"Accept": "application/vnd.x+json"}})
	wantError(t, err, "")
	if diff := cmp.Diff([]any{map[string]any{"email": "a@b.example", "primary": true}}, v); diff != "" {
		t.Error(diff)
	}
	if last.Header.Get("Accept") != "application/vnd.x+json" || last.Header.Get("Authorization") != "Bearer at" {
		t.Error(last.Header)
	}
	v, err = c.Call(t.Context(), Call{URL: mine.URL + "/object", Token: "at"})
	wantError(t, err, "")
	if diff := cmp.Diff(map[string]any{"id": json.Number("9007199254740993")}, v); diff != "" {
		t.Error(diff)
	}
	for url, want := range map[string]string{
		other.URL + "/emails":       "does not name this host",
		"http://api.example/emails": "only https",
		mine.URL + "/missing":       "status 404",
	} {
		_, err = c.Call(t.Context(), Call{URL: url, Token: "at"})
		wantError(t, err, want)
	}
	for _, name := range []string{"Cookie", "host", "Content-Length", "Proxy-Authorization", "authorization"} {
		_, err = c.Call(t.Context(), Call{URL: mine.URL + "/emails", Token: "at", Header: map[string]string{name: "x"}})
		wantError(t, err, "cannot be set")
	}
	if strayed.Load() != 0 {
		t.Error("the token went to a host that the configuration does not name")
	}
}

// TestDiscoveredHost checks that a host discovered later may be called, and no other.
func TestDiscoveredHost(t *testing.T) {
	t.Parallel()
	discovered := ""
	c, err := New(Config{URLs: map[string]string{"issuer": "https://idp.example"}, Discovered: func() string { return discovered }})
	wantError(t, err, "")
	may := func() bool { return c.MayCall(mustURL(t, "https://api.example/me")) }
	if may() || c.MayCall(&url.URL{}) {
		t.Error("nothing is discovered")
	}
	discovered = "https://API.example:443/userinfo"
	if !may() || c.MayCall(mustURL(t, "https://api.example:444/me")) {
		t.Error("another host than the discovered one")
	}
}

// TestBearerMethod checks that the token is sent in the right place, and that a header
// that would replace it is detected.
func TestBearerMethod(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]struct{ query, header, value string }{
		"": {"", "Authorization", "Bearer at"}, "query:access_token": {"access_token=at&x=1", "", ""},
		"header:x-token": {"", "X-Token", "at"}, "header:Authorization OAuth": {"", "Authorization", "OAuth at"},
	} {
		m, err := ParseBearerMethod(method)
		wantError(t, err, "")
		req := &http.Request{URL: mustURL(t, "https://api.example/?x=1"), Header: http.Header{}}
		m.Set(req, "")
		if len(req.Header) != 0 || req.URL.RawQuery != "x=1" {
			t.Errorf("%s: an empty token is sent", method)
		}
		m.Set(req, "at")
		if want.query != "" && req.URL.RawQuery != want.query || want.header != "" && req.Header.Get(want.header) != want.value {
			t.Errorf("%s: %s, %v", method, req.URL, req.Header)
		}
		if want.header != "" && (!m.Collides(map[string]string{strings.ToLower(want.header): "x"}) || m.Collides(map[string]string{"X-Other": "x"})) {
			t.Errorf("%s: the header that collides", method)
		}
	}
	for _, method := range []string{"cookie:x", "query:", "query:a b", "header:", "header:Host", "header:Cookie", "header:X ", "header:X a b", "x"} {
		_, err := ParseBearerMethod(method)
		wantError(t, err, "write query:NAME")
	}
}

// TestRefusal checks that an error for a status of 400 to 499 holds the answer, and its
// text does not quote it. Errors that may be temporary hold no answer.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   any
		no     bool // it is not a Refusal
	}{
		"JSON":    {400, `{"error":"spent"}`, map[string]any{"error": "spent"}, false},
		"form":    {401, "error=spent", map[string]any{"error": "spent"}, false},
		"HTML":    {403, "<p>spent</p>", nil, false},
		"busy":    {429, `{"error":"spent"}`, nil, true},
		"down":    {503, `{"error":"spent"}`, nil, true},
		"success": {204, "", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(reply(c.status, "", c.body))
			t.Cleanup(server.Close)
			client, err := New(Config{URLs: map[string]string{"api": server.URL}})
			wantError(t, err, "")
			_, err = client.Call(t.Context(), Call{URL: server.URL + "/api"})
			var got *Refusal
			if errors.As(err, &got) == c.no || (err == nil) != (c.status == 204) {
				t.Fatalf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "spent") {
				t.Errorf("%v repeats the answer", err)
			}
			if got != nil && (got.Status != c.status || !cmp.Equal(c.want, got.Answer)) {
				t.Errorf("%+v", got)
			}
		})
	}
}
