package e2e

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/exchange"
	"authsvc/internal/test/logbuffer"
	"authsvc/mail"
)

// A site is an application on http://localhost:PORT with the engine at /api/auth, a
// real identity provider on another site, and a real mailbox.
type site struct {
	t      *testing.T
	origin string
	base   string // of the engine
	auth   *engine.Service
	op     *idp.Server
	mail   *mailbox.Server
	store  adapter.Adapter
	mux    *http.ServeMux // pages of the application
	inner  string         // address for servers, set by backedSite
	logs   *logbuffer.Buffer

	mu   sync.Mutex
	seen map[string]int // requests by "METHOD /path"
}

const clientSecret = "e2e-client-secret-7c1f09d2ab"

// newSite starts a site. tune changes its configuration. Its providers are "op",
// "email" and "credentials" (ada, right).
func newSite(t *testing.T, tune func(*site, *authsvc.Config)) *site {
	t.Helper()
	requested(t, "Node and Chromium")
	s := &site{t: t, mux: http.NewServeMux(), store: memory.New(), logs: &logbuffer.Buffer{}, seen: map[string]int{}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	s.origin = "http://localhost:" + port
	s.mailbox()
	s.identities()
	c := s.config()
	if tune != nil {
		tune(s, &c)
	}
	s.store = c.Adapter
	if s.auth, err = engine.New(c); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	if s.base = c.URL; u.Path == "" {
		s.base += "/api/auth"
	}
	answers := http.Handler(s.auth)
	if strings.HasSuffix(s.base, "/api/auth") { // the path in docs/openapi.yaml
		answers = exchange.New(t, string(c.Compat)).Handler(answers)
	}
	s.serve(ln, answers)
	return s
}

func (s *site) mailbox() {
	var err error
	if s.mail, err = mailbox.Listen(mailbox.Options{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.mail.Close() })
}

func (s *site) identities() {
	var err error
	if s.op, err = idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Name: "Acme", Secret: clientSecret}}}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.op.Close() })
}

func (s *site) config() authsvc.Config {
	deliver, err := mail.SMTP("smtp://"+s.mail.Addr(), mail.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return authsvc.Config{
		URL: s.origin, Secrets: []string{secretA}, Adapter: s.store, Theme: authsvc.Theme{SiteName: "Acme"},
		Logger: slog.New(slog.NewTextHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", Name: "Example ID", OpenID: true, Issuer: s.op.Issuer(),
				Client: authsvc.Client{ID: "app", Secret: clientSecret}},
			&authsvc.Email{From: "Acme <no-reply@acme.test>", Send: deliver},
			&authsvc.Credentials{Name: "Password", Authorize: func(_ context.Context, f map[string]string) (authsvc.User, error) {
				if f["username"] != "ada" || f["password"] != "right" {
					return authsvc.User{}, authsvc.ErrAccessDenied
				}
				return authsvc.User{ID: "ada-id", Name: "Ada", Email: "ada@acme.test"}, nil
			}},
		},
	}
}

// serve answers requests on ln and counts them.
func (s *site) serve(ln net.Listener, auth http.Handler) {
	path := strings.TrimPrefix(s.base, s.origin)
	s.mux.Handle(path, auth)
	s.mux.Handle(path+"/", auth)
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { writePage(w, "<title>Acme</title><h1>Acme</h1>") })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen[r.Method+" "+r.URL.Path]++
		s.mu.Unlock()
		// The mux would clean the engine's paths, so these requests bypass it.
		if r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") {
			auth.ServeHTTP(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	}))
	server.Listener.Close()
	server.Listener = ln
	server.Start()
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), chromium.Patience)
		defer cancel()
		if err := s.auth.Close(ctx); err != nil {
			s.t.Error(err)
		}
		if s.t.Failed() {
			s.t.Logf("log of the service:\n%s", s.logs)
		}
	})
}

// writePage writes an HTML document of the application.
func writePage(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">` + body))
}

// count returns how often a route was called, such as "GET /api/auth/session".
func (s *site) count(route string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[route]
}

// mailTo waits for a mail to an address and returns the link in it.
func (s *site) mailTo(address string) string { s.t.Helper(); return s.takeMail(address).Link() }

// undoTo returns the link in the newest notice that undoes a change.
func (s *site) undoTo(address string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), chromium.Patience)
	defer cancel()
	undoes := func(link string) bool { return strings.Contains(link, "/account/undo?token=") }
	m, err := s.mail.Wait(ctx, func(m mailbox.Message) bool { return m.To[0] == address && slices.ContainsFunc(m.Links, undoes) })
	if err != nil {
		s.t.Fatalf("no notice to %s: %v", address, err)
	}
	return m.Links[slices.IndexFunc(m.Links, undoes)]
}

// codeTo waits for a mail to an address and returns the code in it.
func (s *site) codeTo(address string) string { s.t.Helper(); return s.takeMail(address).Code }

// takeMail returns the newest sign-in mail to an address and removes it.
func (s *site) takeMail(address string) mailbox.Message {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), chromium.Patience)
	defer cancel()
	m, err := s.mail.Wait(ctx, func(m mailbox.Message) bool {
		return len(m.To) == 1 && m.To[0] == address && strings.Contains(m.Link(), "token=")
	})
	if err != nil {
		s.t.Fatalf("no mail to %s: %v", address, err)
	}
	if err := s.mail.Delete(m.ID); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// signIn signs a tab in at the provider as one of its people.
func (s *site) signIn(b *chromium.Tab, person, callbackURL string) {
	s.t.Helper()
	b.Open(s.base + "/signin?callbackUrl=" + url.QueryEscape(callbackURL))
	b.Click(".p-op button")
	s.choose(b, person)
	b.At(s.origin + callbackURL)
}

// choose clicks a person on the provider's page.
func (s *site) choose(b *chromium.Tab, person string) {
	s.t.Helper()
	b.At(s.op.Issuer())
	b.Click(`button[name=person][value="` + person + `"]`)
}

// email returns the address of the tab's session, read outside its pages.
func (s *site) email(b *chromium.Tab) string {
	s.t.Helper()
	v := newVisitor(s.t, s.auth, s.base)
	v.cookies = b.Cookies(s.base)
	address, _ := v.user()["email"].(string)
	return address
}

// eventually waits until a condition of the test is true.
func (s *site) eventually(ok func() bool, otherwise string) {
	s.t.Helper()
	for end := time.Now().Add(chromium.Patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal(otherwise)
		}
	}
}
