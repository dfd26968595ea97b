// Command walk answers one request of each kind and leaves which code of the
// engine that ran, as coverage data: measure builds it with -cover.
//
//	walk REQUEST DIRECTORY   REQUEST is callback (OpenID Connect) or session
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/coverage"
	"strings"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/browser"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: walk callback|session DIRECTORY")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, request, dir string) error {
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "a-secret-of-the-client"}}})
	if err != nil {
		return err
	}
	defer op.Close() //nolint:errcheck // the program ends
	server := httptest.NewUnstartedServer(nil)
	origin := "http://" + server.Listener.Addr().String()
	auth, err := engine.New(authsvc.Config{
		URL: origin, Secrets: []string{"0123456789abcdef0123456789abcdef"}, Adapter: memory.New(), Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.OAuth{
			ID: "op", Name: "OP", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: "a-secret-of-the-client"},
		}},
	})
	if err != nil {
		return err
	}
	defer auth.Close(ctx) //nolint:errcheck // the program ends
	server.Config.Handler = auth
	server.Start()
	defer server.Close()

	b := browser.New(origin, nil)
	back, err := b.Begin(op, "ada")
	if err != nil {
		return err
	}
	if request == "callback" {
		if err := clear(dir); err != nil {
			return err
		}
		return see(b, back, dir)
	}
	if err := see(b, back, ""); err != nil {
		return err
	}
	if err := clear(dir); err != nil {
		return err
	}
	return see(b, origin+"/api/auth/session", dir)
}

func clear(dir string) error {
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.ClearCounters()
}

// see asks for a page, and leaves in dir what ran since counters were cleared.
func see(b *browser.Browser, address, dir string) error {
	a, err := b.Get(address)
	if err != nil {
		return err
	}
	if a.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s", address, a.Status)
	}
	if to := a.Location(); strings.Contains(to, "error") {
		return fmt.Errorf("%s: to %s", address, to)
	}
	if dir == "" {
		return nil
	}
	return coverage.WriteCountersDir(dir)
}
