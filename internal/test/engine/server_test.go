package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/internal/idp"
	"authsvc/internal/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/mail"
)

// TestWholeFlows signs in over real HTTP, against a real OpenID provider, a
// real SMTP conversation and SQLite, with both strategies.
func TestWholeFlows(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			server, op, box := serve(t, strategy)
			v := newVisitor(t, server.URL)

			var to struct{ URL string }
			v.post("/api/auth/signin/op", url.Values{"callbackUrl": {"/in"}, "json": {"true"}}, &to)
			answer, err := op.Approve(to.URL, "grace")
			if err != nil {
				t.Fatal(err)
			}
			if at := v.follow(answer.URL()); at != server.URL+"/in" || v.email() != "grace@example.com" {
				t.Errorf("OpenID Connect: at %s as %q", at, v.email())
			}
			v.post("/api/auth/signout", url.Values{"json": {"true"}}, &to)
			if got := v.email(); got != "" {
				t.Errorf("after sign-out: %q", got)
			}

			v.post("/api/auth/signin/email", url.Values{"email": {"Grace@Example.com"}, "callbackUrl": {"/mail"}, "json": {"true"}}, &to)
			if !strings.Contains(to.URL, "/verify-request") {
				t.Errorf("signin/email: %s", to.URL)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			m, err := box.Wait(ctx, func(m mailbox.Message) bool { return m.To[0] == "grace@example.com" })
			if err != nil {
				t.Fatal(err)
			}
			if at := v.follow(m.Link()); at != server.URL+"/mail" || v.email() != "grace@example.com" {
				t.Errorf("link: at %s as %q", at, v.email())
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
	s, err := authsvc.New(authsvc.Config{
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

type visitor struct {
	t      *testing.T
	c      *http.Client
	origin string
}

func newVisitor(t *testing.T, origin string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, &http.Client{Jar: jar, Timeout: 20 * time.Second}, origin}
}

// follow opens an address and returns where it ended.
func (v *visitor) follow(address string) string {
	v.t.Helper()
	res, err := v.c.Get(address)
	if err != nil {
		v.t.Fatal(err)
	}
	res.Body.Close()
	return res.Request.URL.String()
}

func (v *visitor) json(path string, into any) {
	v.t.Helper()
	res, err := v.c.Get(v.origin + path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) email() string {
	v.t.Helper()
	var s struct{ User struct{ Email string } }
	v.json("/api/auth/session", &s)
	return s.User.Email
}

func (v *visitor) post(path string, form url.Values, into any) {
	v.t.Helper()
	var token struct{ CSRFToken string }
	v.json("/api/auth/csrf", &token)
	form.Set("csrfToken", token.CSRFToken)
	res, err := v.c.PostForm(v.origin+path, form)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		v.t.Fatalf("%s: %d %v", path, res.StatusCode, err)
	}
}
