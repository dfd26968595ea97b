package counts_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/mail"
)

// A world is a service with the default settings on a counted store, with a mail
// server and an identity provider.
type world struct {
	*arena.World
	t     *testing.T
	tally *tally
	box   *mailbox.Server
}

func newWorld(t *testing.T, s *tally) *world {
	t.Helper()
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	send, err := mail.SMTP("smtp://"+box.Addr(), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{World: arena.EnterInMemory(t, nil), t: t, tally: s, box: box}
	w.end()
	c := &w.Config
	// MongoDB counts an event within a limit by one command if another event came a
	// moment ago, otherwise by two. For the total of mails there has always just been
	// one, however slow the machine is; for a client there has been none.
	c.Adapter, c.RateLimit = s, authsvc.RateLimit{EmailTotal: authsvc.Rate{N: 1000, Per: 1000 * time.Hour}}
	c.Outbound.DangerousTransport.(arena.Wire)["renews.test"] = http.HandlerFunc(renews)
	c.Providers = []authsvc.Provider{c.Providers[0], &authsvc.Email{From: "Acme <no-reply@app.test>", Send: send}, &authsvc.OAuth{
		ID: "renews", Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret}, Fields: authsvc.Fields{ID: "id"},
		Endpoints: authsvc.Endpoints{Authorization: "https://renews.test/authorize", Token: "https://renews.test/token", UserInfo: "https://renews.test/me"}}}
	c.Gate = authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: arena.Origin}}}
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	return w
}

// renews is a provider that returns a new token for every refresh token.
func renews(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"access_token":"a","refresh_token":"b","token_type":"Bearer","expires_in":3600}`)
}

// end closes the service with all its background work.
func (w *world) end() {
	w.t.Helper()
	if err := w.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// measure creates a service for one flow. It returns the flow's cost until the mails
// are sent and the service is closed.
func (w *world) measure(f flow, p *person) (figures, string) {
	w.t.Helper()
	c := w.Config
	if f.tune != nil {
		f.tune(&c)
	}
	var err error
	if w.Service, err = engine.New(c); err != nil {
		w.t.Fatal(err)
	}
	connections := w.box.Conversations()
	w.tally.begin()
	f.run(w, p)
	w.tally.sent(w.t)
	w.end()
	w.tally.sent(w.t)
	got, calls := w.tally.end()
	if got.smtp = w.box.Conversations() - connections; !f.mails && got.smtp+got.mailBytes == 0 {
		got.smtp, got.mailBytes = none, none
	}
	return got, calls
}

// A person signs in once by email and once with the provider, each in a new browser.
type person struct {
	address string // of the mailbox
	sub     string // at the provider
	mail    *arena.Browser
	oidc    *arena.Browser
}

// person returns a new person. All addresses have the same length.
func (w *world) person(n int) *person {
	w.t.Helper()
	p := &person{address: fmt.Sprintf("mail%04d@example.com", n), sub: fmt.Sprintf("sub-%04d", n), mail: w.browser(), oidc: w.browser()}
	if _, err := w.OP.AddPerson(idp.Person{Sub: p.sub, Name: "Ada Lovelace", Email: fmt.Sprintf("oidc%04d@example.com", n), EmailVerified: true}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// from gives the person a client address for the n-th flow that no client had before.
func (p *person) from(person, n int) {
	p.mail.IP = fmt.Sprintf("198.51.%d.%d:4711", 100+person, 100+n)
	p.oidc.IP = p.mail.IP
}

func (w *world) browser() *arena.Browser {
	b := w.Browser()
	b.H = w
	b.Header.Set("Accept-Language", "en")
	b.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	return b
}

// ServeHTTP sends requests that are not for the service to the gate.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/auth/") {
		w.Service.ServeHTTP(rw, r)
		return
	}
	w.Guard(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "the program") })).ServeHTTP(rw, r)
}

// signInByMail requests a link, waits for the mail and opens the link.
func (w *world) signInByMail(p *person) {
	w.t.Helper()
	if err := w.box.Clear(); err != nil {
		w.t.Fatal(err)
	}
	if a := p.mail.Post("/api/auth/signin/email", "email", p.address); !strings.Contains(a.Location(), "/verify-request") {
		w.t.Fatalf("signin/email: %d %s %s", a.StatusCode, a.Location(), a.Text)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	link, err := w.box.LinkTo(ctx, p.address)
	if err != nil {
		w.t.Fatalf("no mail: %v\n%s", err, w.Logs)
	}
	w.tally.sent(w.t) // no person is quick enough to find the mail still queued
	w.in(p.mail, p.mail.Get(link).Location())
}

// in fails unless a browser has just signed in.
func (w *world) in(b *arena.Browser, location string) {
	w.t.Helper()
	if location != arena.Origin || b.Cookies[arena.SessionName] == "" {
		w.t.Fatalf("a sign-in leads to %q\n%s", location, w.Logs)
	}
}

// session reads the session.
func (w *world) session(b *arena.Browser) {
	w.t.Helper()
	if b.Email() == "" {
		w.t.Fatalf("not signed in\n%s", w.Logs)
	}
}

// signOut ends the session.
func (w *world) signOut(b *arena.Browser) {
	w.t.Helper()
	if a := b.Post("/api/auth/signout"); b.Cookies[arena.SessionName] != "" {
		w.t.Fatalf("signout: %d %s", a.StatusCode, a.Text)
	}
}

// pass requests a page from the gate.
func (w *world) pass(b *arena.Browser) {
	w.t.Helper()
	if a := b.Get("/page"); a.Text != "the program" {
		w.t.Fatalf("the gate: %d %s", a.StatusCode, a.Text)
	}
}

// ask makes a proxy's check request for a page.
func (w *world) ask(b *arena.Browser) {
	w.t.Helper()
	proxy := *b
	proxy.IP = "127.0.0.1:4711"
	r := httptest.NewRequest(http.MethodGet, arena.Origin+"/api/auth/gate/auth-request", nil)
	r.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Host": {"app.test"}, "X-Forwarded-Uri": {"/page"}, "X-Forwarded-For": {strings.TrimSuffix(b.IP, ":4711")}}
	if a := proxy.Do(r); a.StatusCode != http.StatusOK {
		w.t.Fatalf("gate/auth-request: %d %s", a.StatusCode, a.Text)
	}
}

// refresh requests a provider's token that has expired.
func (w *world) refresh(p *person) {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodGet, arena.Origin, nil)
	r.AddCookie(&http.Cookie{Name: arena.SessionName, Value: p.oidc.Cookies[arena.SessionName]})
	s, err := w.Session(r)
	if err != nil || s == nil {
		w.t.Fatal(s, err)
	}
	a := authsvc.Account{ID: "a-" + p.sub, UserID: s.UserID, Type: "oauth", Provider: "renews", ProviderAccountID: p.sub, AccessToken: "old", RefreshToken: "old", ExpiresAt: 1}
	u, err := w.tally.GetUser(w.t.Context(), s.UserID)
	if err == nil {
		_, err = w.tally.LinkAccount(w.t.Context(), a, u.Epoch)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.tally.begin()
	if got, err := w.AccessToken(w.t.Context(), s.UserID, "renews", nil); got != "a" || err != nil {
		w.t.Fatal(got, err)
	}
}
