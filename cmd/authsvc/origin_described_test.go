package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/exchange"
)

// TestOriginAsDescribed: the program's routes besides the engine's are as
// docs/openapi.yaml describes them for every mode (make openapi).
func TestOriginAsDescribed(t *testing.T) {
	t.Parallel()
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			service, err := engine.New(authsvc.Config{URL: "http://localhost:3000", Secrets: []string{testSecret}, Compat: mode,
				Adapter: memory.New(), Logger: slog.New(slog.DiscardHandler),
				Tokens:    authsvc.TokenOptions{Audiences: []authsvc.Audience{{ID: "https://api.example.com"}}},
				Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", OpenID: true, Issuer: "https://op.example", Client: authsvc.Client{ID: "a", Secret: "b"}}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = service.Close(t.Context()) })
			origin := newOriginHandler(service, slog.New(slog.DiscardHandler))
			h := exchange.New(t, string(mode)).Handler(origin)
			ask := func(method, host, path string) int {
				r := httptest.NewRequest(method, "http://"+host+path, nil)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code
			}
			for _, c := range []struct {
				host, path string
				status     int
			}{
				{"10.0.0.1", "/healthz", 200}, {"10.0.0.1", "/readyz", 200}, {"localhost:3000", "/", 302}, {"localhost:3000", "/favicon.ico", 204},
			} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					if got := ask(method, c.host, c.path); got != c.status {
						t.Errorf("%s %s: %d, want %d", method, c.path, got, c.status)
					}
				}
			}
			if got := ask("GET", "localhost:3000", "/.well-known/oauth-authorization-server/api/auth"); got != 200 {
				t.Errorf("metadata: %d", got)
			}
			if got := ask("POST", "localhost:3000", "/healthz"); got != 405 {
				t.Errorf("POST healthz: %d", got)
			}
			if got := ask("GET", "evil.example", "/"); got != 421 {
				t.Errorf("another host: %d", got)
			}
			origin.setUnready()
			if get, head := ask("GET", "10.0.0.1", "/readyz"), ask("HEAD", "10.0.0.1", "/readyz"); get != 503 || head != 503 {
				t.Errorf("while it stops: %d, %d", get, head)
			}
		})
	}
}
