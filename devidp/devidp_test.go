package devidp_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/devidp"
	"authsvc/engine"
	"authsvc/internal/test/browser"
)

// run starts a program that uses devidp.
func run(t *testing.T, o devidp.Options, tune func(*authsvc.Config)) (b *browser.Browser, d *devidp.Server, c authsvc.Config) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewUnstartedServer(mux)
	server.Start()
	t.Cleanup(server.Close)
	c = authsvc.Config{URL: server.URL, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Adapter: memory.New(),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if tune != nil {
		tune(&c)
	}
	o.Addr, o.Logger = "127.0.0.1:0", c.Logger
	d, err := devidp.Start(&c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	auth, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := auth.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	mux.Handle("/api/auth/", auth)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "home") })
	return browser.New(server.URL, nil).Follow(), d, c
}

// choose clicks a person on the provider's page.
func choose(t *testing.T, b *browser.Browser, page *browser.Answer, name string) *browser.Answer {
	t.Helper()
	action := regexp.MustCompile(`<form[^>]* action="([^"]+)"`).FindStringSubmatch(page.Text)
	upTo, _, found := strings.Cut(page.Text, name)
	buttons := regexp.MustCompile(`name="person" value="([^"]+)"`).FindAllStringSubmatch(upTo, -1)
	if action == nil || !found || buttons == nil {
		t.Fatalf("no form, or no %s: %s", name, page.Text)
	}
	to, err := page.Request.URL.Parse(html.UnescapeString(action[1]))
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.Form(to.String(), url.Values{"person": {html.UnescapeString(buttons[len(buttons)-1][1])}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func must(t *testing.T, a *browser.Answer, err error) *browser.Answer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func email(t *testing.T, b *browser.Browser) string {
	t.Helper()
	e, err := b.Email()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSignIn: sign-in works as a person of the list, and with a mail from the inbox.
func TestSignIn(t *testing.T) {
	t.Parallel()
	real := &authsvc.Email{From: "Acme <no-reply@example.com>", Send: func(context.Context, authsvc.Message) error { panic("a mail to a person") }}
	b, d, c := run(t, devidp.Options{People: []devidp.Person{{ID: "marie", Name: "Marie Curie", Email: "marie@example.com", EmailVerified: true}}},
		func(c *authsvc.Config) { c.Providers = []authsvc.Provider{real} })
	if len(c.Providers) != 2 || c.Providers[0] == authsvc.Provider(real) || real.InboxURL != "" {
		t.Errorf("providers: %v; the caller's: %+v", len(c.Providers), real)
	}
	page, err := b.Post("/api/auth/signin/"+devidp.ProviderID, "callbackUrl", "/")
	if a := choose(t, b, must(t, page, err), "Marie Curie"); a.Text != "home" || email(t, b) != "marie@example.com" {
		t.Errorf("as a person: %s %s, signed in as %q", a.Request.URL, a.Text, email(t, b))
	}

	other := b.Fresh()
	page, err = other.Post("/api/auth/signin/email", "email", "new@example.com", "callbackUrl", "/")
	if a := must(t, page, err); !strings.Contains(a.Text, d.InboxURL()) {
		t.Errorf("the page does not lead to the inbox: %s", a.Text)
	}
	page, err = other.Get(d.InboxURL()) // waits for the mail
	link := regexp.MustCompile(`<a class="button primary" href="([^"]+)">Open the link`).FindStringSubmatch(must(t, page, err).Text)
	if link == nil {
		t.Fatalf("no mail: %s", page.Text)
	}
	page, err = other.Get(html.UnescapeString(link[1]))
	if a := must(t, page, err); a.Text != "home" || email(t, other) != "new@example.com" {
		t.Errorf("by mail: %s, signed in as %q", a.Request.URL, email(t, other))
	}
	page, err = other.Get(d.InboxURL())
	sheet := regexp.MustCompile(`href="(/dev\.[^"]+\.css)"`).FindStringSubmatch(must(t, page, err).Text)
	if sheet == nil {
		t.Fatalf("no style: %s", page.Text)
	}
	page, err = other.Get(d.Issuer() + sheet[1])
	if a := must(t, page, err); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, ".mailbox") || !strings.Contains(a.Text, ".card") {
		t.Errorf("the style: %d", a.StatusCode)
	}
}

// TestWithoutStore: without a store there is no mail to catch, and people can still
// sign in.
func TestWithoutStore(t *testing.T) {
	t.Parallel()
	b, _, c := run(t, devidp.Options{}, func(c *authsvc.Config) { c.Adapter = nil })
	if len(c.Providers) != 1 {
		t.Errorf("%d providers", len(c.Providers))
	}
	page, err := b.Post("/api/auth/signin/dev", "callbackUrl", "/")
	if choose(t, b, must(t, page, err), "Ada Lovelace"); email(t, b) != "ada@example.com" {
		t.Errorf("signed in as %q", email(t, b))
	}
}

// TestGuard: another name of this machine reaches nothing, and another site cannot
// empty the inbox.
func TestGuard(t *testing.T) {
	t.Parallel()
	_, d, _ := run(t, devidp.Options{}, nil)
	if err := d.Send(t.Context(), authsvc.Message{From: "a@x", To: "ada@example.com", Subject: "Hi <script>", Text: "text"}); err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, host, origin string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, d.Issuer()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	for _, path := range []string{"/inbox", "/", "/authorize", "/.well-known/openid-configuration"} {
		if code, _ := ask("GET", path, "evil.example", ""); code != http.StatusMisdirectedRequest {
			t.Errorf("%s of another host: %d", path, code)
		}
		if code, _ := ask("GET", path, "", ""); code == http.StatusMisdirectedRequest || code >= 500 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _ := ask("POST", "/inbox/clear", "", "https://evil.example"); code != http.StatusForbidden {
		t.Errorf("emptied from elsewhere: %d", code)
	}
	if _, text := ask("GET", "/inbox", "", ""); !strings.Contains(text, "Hi &lt;script&gt;") {
		t.Errorf("the inbox: %s", text)
	}
	if code, _ := ask("POST", "/inbox/clear", "", ""); code != http.StatusSeeOther {
		t.Errorf("emptied: %d", code)
	}
	if code, _ := ask("GET", "/inbox/1", "", ""); code != http.StatusNotFound {
		t.Errorf("a mail that is not there: %d", code)
	}
}

// TestRefuses: addresses beyond this machine are refused, with the fix. The loopback
// address is accepted.
func TestRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct{ url, addr, dir, want string }{
		{"https://app.example.com", "127.0.0.1:0", "", "do not deploy devidp"},
		{"http://192.0.2.1:3000", "127.0.0.1:0", "", "set the URL to http://localhost:3000 here"},
		{"http://localhost.evil.test:3000", "127.0.0.1:0", "", "not on this machine"},
		{"app.example.com", "127.0.0.1:0", "", "is not an address with http or https"},
		{"http://localhost:3000", "0.0.0.0:0", "", "write 127.0.0.1 and a port"},
		{"http://localhost:3000", ":3001", "", "write 127.0.0.1 and a port"},
		{"http://localhost:3000", "192.0.2.1:3001", "", "not a loopback address"},
		{"http://localhost:3000", taken.Addr().String(), "", "set Options.Addr to another port"},
		{"http://localhost:3000", "127.0.0.1:0", filepath.Join("devidp_test.go", "x"), "Options.Dir"},
		{"http://localhost:3000", "127.0.0.1:0", "", ""},
		{"https://app.localhost:3000/login", "[::1]:0", "", ""},
	} {
		config := authsvc.Config{URL: c.url}
		if strings.HasPrefix(c.addr, "[::1]") && !hasIPv6() {
			c.addr = "127.0.0.1:0"
		}
		d, err := devidp.Start(&config, devidp.Options{Addr: c.addr, Dir: c.dir})
		if err == nil {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Errorf("again: %v", err)
			}
		}
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %v", c.url, c.addr, err)
		}
		if public := strings.Contains(c.want, "machine") || strings.Contains(c.want, "loopback") || strings.Contains(c.want, "devidp") || strings.Contains(c.want, "here") || strings.Contains(c.want, "write"); errors.Is(err, devidp.ErrPublicURL) != public {
			t.Errorf("%s %s: ErrPublicURL: %v", c.url, c.addr, !public)
		}
		if (err != nil) != (len(config.Providers) == 0) {
			t.Errorf("%s: %d providers", c.url, len(config.Providers))
		}
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

// TestDir: people and mails survive a restart.
func TestDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dev")
	for i := range 2 {
		config := authsvc.Config{URL: "http://localhost:3000"}
		d, err := devidp.Start(&config, devidp.Options{Addr: "127.0.0.1:0", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := d.Send(t.Context(), authsvc.Message{From: "a@x", To: "ada@example.com", Subject: "Kept", Text: "text"}); err != nil {
				t.Fatal(err)
			}
		}
		client := http.Client{Timeout: time.Minute}
		res, err := client.Get(d.InboxURL())
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(text), "Kept") {
			t.Errorf("start %d: %s, %v", i, text, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAdd: Add with another configuration of the same service, and of another service.
func TestAdd(t *testing.T) {
	t.Parallel()
	_, d, c := run(t, devidp.Options{}, nil)
	next := authsvc.Config{URL: c.URL, Adapter: c.Adapter}
	if err := d.Add(&next); err != nil || len(next.Providers) != 2 {
		t.Errorf("the same: %v, %d providers", err, len(next.Providers))
	}
	for _, to := range []string{"http://localhost:1", "https://app.example.com", ""} {
		next := authsvc.Config{URL: to}
		if err := d.Add(&next); err == nil || len(next.Providers) != 0 {
			t.Errorf("%q: %v, %d providers", to, err, len(next.Providers))
		}
	}
}
