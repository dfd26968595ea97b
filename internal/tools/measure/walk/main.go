// Command walk answers one request of each kind and leaves which code of the
// engine that ran, as coverage data: measure builds it with -cover.
//
//	walk REQUEST DIRECTORY   REQUEST is callback (OpenID Connect) or session
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime/coverage"
	"strings"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/idp"
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
	auth, err := authsvc.New(authsvc.Config{
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

	b, err := newBrowser(origin)
	if err != nil {
		return err
	}
	back, err := b.signIn(op)
	if err != nil {
		return err
	}
	if request == "callback" {
		if err := clear(dir); err != nil {
			return err
		}
		return b.see(back, dir)
	}
	if err := b.see(back, ""); err != nil {
		return err
	}
	if err := clear(dir); err != nil {
		return err
	}
	return b.see(origin+"/api/auth/session", dir)
}

func clear(dir string) error {
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.ClearCounters()
}

type browser struct {
	origin string
	http.Client
}

func newBrowser(origin string) (*browser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &browser{origin, http.Client{
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// signIn goes as far as the provider's answer, and returns its address.
func (b *browser) signIn(op *idp.Server) (back string, err error) {
	res, err := b.Get(b.origin + "/api/auth/csrf")
	if err != nil {
		return "", err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	var csrf struct{ CSRFToken string }
	if err := json.NewDecoder(res.Body).Decode(&csrf); err != nil {
		return "", err
	}
	res, err = b.PostForm(b.origin+"/api/auth/signin/op", url.Values{"csrfToken": {csrf.CSRFToken}})
	if err != nil {
		return "", err
	}
	defer res.Body.Close() //nolint:errcheck // there is none
	answer, err := op.Approve(res.Header.Get("Location"), "ada")
	if err != nil {
		return "", fmt.Errorf("%s: %w", res.Header.Get("Location"), err)
	}
	return answer.URL(), nil
}

// see asks for a page, and leaves in dir what ran since counters were cleared.
func (b *browser) see(address, dir string) error {
	res, err := b.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // nothing is read
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s", address, res.Status)
	}
	if to := res.Header.Get("Location"); strings.Contains(to, "error") {
		return fmt.Errorf("%s: to %s", address, to)
	}
	if dir == "" {
		return nil
	}
	return coverage.WriteCountersDir(dir)
}
