package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

// TestForPrograms: requests that a page can make a browser send are refused, requests
// of Prometheus are not.
func TestForPrograms(t *testing.T) {
	t.Parallel()
	local, remote := config.Admin{Listen: "127.0.0.1:9090"}, config.Admin{Listen: "0.0.0.0:9090", AllowRemote: true}
	socket := config.Admin{Listen: "unix:/run/admin.sock"}
	for name, c := range map[string]struct {
		admin        config.Admin
		method, host string
		header       string
		want         int
	}{
		"this machine":           {local, "GET", "127.0.0.1:9090", "", 200},
		"by its name":            {local, "GET", "localhost:9090", "", 200},
		"IPv6":                   {local, "GET", "[::1]:9090", "", 200},
		"another name":           {local, "GET", "evil.example:9090", "", 421},
		"an Origin":              {local, "GET", "127.0.0.1:9090", "Origin", 421},
		"a browser":              {local, "GET", "127.0.0.1:9090", "Sec-Fetch-Site", 421},
		"a POST":                 {local, "POST", "127.0.0.1:9090", "", 405},
		"remote":                 {remote, "GET", "auth-1.internal:9090", "", 200},
		"remote, with an Origin": {remote, "GET", "auth-1.internal:9090", "Origin", 421},
		"a socket":               {socket, "GET", "localhost", "", 200},
		"a socket, an Origin":    {socket, "GET", "localhost", "Origin", 421},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /metrics", func(http.ResponseWriter, *http.Request) {})
		r := httptest.NewRequest(c.method, "http://"+c.host+"/metrics", nil)
		if c.header != "" {
			r.Header.Set(c.header, "cross-site")
		}
		w := httptest.NewRecorder()
		forPrograms(c.admin, mux).ServeHTTP(w, r)
		if w.Code != c.want || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %d, want %d", name, w.Code, c.want)
		}
	}
}

// TestAdminSocket: the user and the group may use the socket. It replaces a socket
// without a listener, and nothing else.
func TestAdminSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "admin") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.sock")
	first, err := listenAdmin(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != adminMode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := listenAdmin(t.Context(), "unix:"+path); err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Errorf("a second one: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	again, err := listenAdmin(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatalf("after a crash: %v", err)
	}
	again.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenAdmin(t.Context(), "unix:"+file); err == nil {
		t.Error("a file is taken for a socket")
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "kept" {
		t.Errorf("%q, %v", kept, err)
	}
}

// TestHostileRequestsAddNoSeries: 100 000 requests with invented names add no series.
func TestHostileRequestsAddNoSeries(t *testing.T) {
	t.Parallel()
	const origin = "https://app.example.com"
	s := &config.Settings{Engine: authsvc.Config{URL: origin, Secrets: []string{testSecret}, Logger: slog.New(slog.DiscardHandler), RateLimit: authsvc.RateLimit{Disabled: true},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{}, authsvc.ErrAccessDenied
		}}},
		Tokens: authsvc.TokenOptions{Audiences: []authsvc.Audience{{ID: "https://api.example.com"}}},
		Gate:   authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: origin, Upstream: "http://127.0.0.1:1"}}}}}
	service, err := engine.New(s.Engine)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close(t.Context())
	srv := &server{}
	h := newInstance(s, service)
	srv.swap(h)
	series := func() map[string]bool {
		names := map[string]bool{}
		for _, line := range regexp.MustCompile(`(?m)^authsvc_\S+`).FindAllString(string(srv.metrics()), -1) {
			names[line] = true
		}
		return names
	}
	paths := []string{"/api/auth/gate/forward-auth?", "/api/auth/session?", "/api/auth/token?audience=", "/", "/api/auth/", "/%00", "/metrics?"}
	for i := range 100_000 {
		odd := fmt.Sprintf("%x", rand.Uint64())
		r := httptest.NewRequest([]string{"GET", "POST", "X" + odd}[i%3], origin+paths[i%len(paths)]+odd, nil)
		r.RequestURI = r.URL.RequestURI()
		r.Host = []string{"app.example.com", odd + ".example", "app.example.com"}[i%3]
		r.Header = http.Header{"X-Forwarded-Host": {odd}, "X-Forwarded-Method": {odd}, "X-Forwarded-Uri": {"/" + odd}, "Cookie": {odd + "=" + odd}, "User-Agent": {odd}}
		h.ServeHTTP(nowhere{http.Header{}}, r)
	}
	after := series()
	for name := range after {
		known := regexp.MustCompile(`^authsvc_(build_info\{.*|signing_key_age_seconds\{alg="ES256"\}|gate_decisions_total\{host="(https://app\.example\.com)?",decision="[a-z]+"\}|gate_open_streams\{host="https://app\.example\.com"\}|http_requests_total\{route="(session|token|gate|/|other)",method="(GET|POST|other)",code="\d{3}"\}|audit_events_total\{event="[a-z_.]+",outcome="(success|refused)"\})$`)
		if !known.MatchString(name) {
			t.Errorf("a series is %s", name)
		}
	}
	if len(after) < 3 || len(after) > 40 {
		t.Errorf("%d series", len(after))
	}
}

// nowhere discards responses.
type nowhere struct{ header http.Header }

func (w nowhere) Header() http.Header         { return w.header }
func (w nowhere) Write(b []byte) (int, error) { return io.Discard.Write(b) }
func (w nowhere) WriteHeader(int)             {}
