package engine_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/mail"
)

// TestWholeFlows signs in over real HTTP with a real OpenID provider, real SMTP and
// SQLite, with both strategies.
func TestWholeFlows(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			server, op, box := serve(t, strategy)
			b := visitor{t, browser.New(server.URL, nil).Follow()}

			to := b.post("/api/auth/signin/op", "callbackUrl", "/in")
			answer, err := op.Approve(to, "grace")
			if err != nil {
				t.Fatal(err)
			}
			if at := b.open(answer.URL()); at != server.URL+"/in" || b.email() != "grace@example.com" {
				t.Errorf("OpenID Connect: at %s as %q", at, b.email())
			}
			b.post("/api/auth/signout")
			if got := b.email(); got != "" {
				t.Errorf("after sign-out: %q", got)
			}

			to = b.post("/api/auth/signin/email", "email", "Grace@Example.com", "callbackUrl", "/mail")
			if !strings.Contains(to, "/verify-request") {
				t.Errorf("signin/email: %s", to)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			link, err := box.LinkTo(ctx, "grace@example.com")
			if err != nil {
				t.Fatal(err)
			}
			if at := b.open(link); at != server.URL+"/mail" || b.email() != "grace@example.com" {
				t.Errorf("link: at %s as %q", at, b.email())
			}
		})
	}
}

func serve(t *testing.T, strategy string) (*httptest.Server, *idp.Server, *mailbox.Server) {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: arena.ClientSecret}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	send, err := mail.SMTP("smtp://"+box.Addr(), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	server := httptest.NewUnstartedServer(nil)
	s, err := engine.New(authsvc.Config{
		URL: "http://" + server.Listener.Addr().String(), Secrets: []string{arena.Secret}, Adapter: store,
		Session: authsvc.SessionOptions{Strategy: authsvc.Strategy(strategy)}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret}},
			&authsvc.Email{From: "Acme <no-reply@app.test>", Send: send},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/auth/", s)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the application") })
	server.Config.Handler = mux
	server.Start()
	t.Cleanup(func() {
		server.Close()
		s.Close(context.Background())
	})
	return server, op, box
}

// A visitor follows redirects. Its requests must not fail.
type visitor struct {
	t *testing.T
	*browser.Browser
}

// open returns the final address after redirects.
func (v visitor) open(address string) string {
	v.t.Helper()
	a, err := v.Get(address)
	if err != nil {
		v.t.Fatal(err)
	}
	return a.Request.URL.String()
}

// post returns the address in the JSON answer to a form.
func (v visitor) post(path string, fields ...string) string {
	v.t.Helper()
	a, err := v.Post(path, append(fields, "json", "true")...)
	if err != nil {
		v.t.Fatal(err)
	}
	return a.URL(v.t)
}

func (v visitor) email() string {
	v.t.Helper()
	email, err := v.Email()
	if err != nil {
		v.t.Fatal(err)
	}
	return email
}
