package dev_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"

	"authsvc/internal/dev"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/logbuffer"
)

// runShared starts dev for other machines. It returns the buffers of its output and its
// log.
func runShared(t *testing.T, port int, url string) (out, log *logbuffer.Buffer) {
	t.Helper()
	out, log = &logbuffer.Buffer{}, &logbuffer.Buffer{}
	start(t, out, dev.Options{Dir: t.TempDir(), Host: "127.0.0.1", Shared: true, Port: port, URL: url, Out: out, Log: slog.New(slog.NewTextHandler(log, nil))})
	return out, log
}

// start runs dev until the test ends.
func start(t *testing.T, out *logbuffer.Buffer, o dev.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- dev.Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("dev ended with %v", err)
		}
	})
	awaitWelcome(t, out, done)
}

var invitation = regexp.MustCompile(`(https?://\S+)/\?token=([A-Za-z0-9_-]{43})`)

// lastInvitation returns the newest address with a token.
func lastInvitation(t *testing.T, out *logbuffer.Buffer) (origin, token string) {
	t.Helper()
	all := invitation.FindAllStringSubmatch(out.String(), -1)
	if all == nil {
		t.Fatalf("no invitation in %s", out)
	}
	return all[len(all)-1][1], all[len(all)-1][2]
}

// ask sends a request to dev, and returns the answer without following redirects.
func ask(t *testing.T, client *http.Client, method, url, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// staying returns a client that keeps cookies and follows no redirects.
func staying(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// TestSharedNeedsTheToken: dev answers only browsers that have presented the token. A
// token works once and is never logged.
func TestSharedNeedsTheToken(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	out, log := runShared(t, port, "")
	origin, token := lastInvitation(t, out)
	at := fmt.Sprintf("http://localhost:%d", port)
	if origin != at {
		t.Errorf("the address is at %s, want %s", origin, at)
	}
	paths := []string{"/", "/inbox", "/inbox-state", "/inbox/x", "/inbox/x/html", "/favicon.ico", "/api/auth/session", "/api/auth/providers", "/api/auth/signin",
		"/api/auth/client.js", "/dev-id", "/dev-id/", "/dev-id/.well-known/openid-configuration", "/dev-id/authorize", "/nothing"}
	stranger, friend := staying(t), staying(t)
	for _, path := range append(paths, "/?token=", "/?token="+token[:42], "/?token="+token+"x", "/inbox?token="+token, "/api/auth/session?token="+token) {
		if res, body := ask(t, stranger, "GET", at+path, ""); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 || strings.Contains(body, token) {
			t.Errorf("%s without the token: %s %s", path, res.Status, body)
		}
	}
	for _, method := range []string{"POST", "HEAD"} {
		if res, _ := ask(t, stranger, method, at+"/?token="+token, ""); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s with the token: %s", method, res.Status)
		}
	}
	res, _ := ask(t, friend, "GET", at+"/?token="+token, "")
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" || res.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Fatalf("the token: %s to %q", res.Status, res.Header.Get("Location"))
	}
	if cookies := res.Cookies(); len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Value == token {
		t.Fatalf("cookies %v", cookies)
	}
	for _, path := range paths {
		if res, body := ask(t, friend, "GET", at+path, ""); res.StatusCode == http.StatusForbidden || strings.Contains(body, token) {
			t.Errorf("%s with the cookie: %s", path, res.Status)
		}
	}
	if res, _ := ask(t, stranger, "GET", at+"/?token="+token, ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("the token a second time: %s", res.Status)
	}
	if res, _ := ask(t, friend, "GET", at+"/?token="+token, ""); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the address again, from the browser that was let in: %s", res.Status)
	}
	_, second := lastInvitation(t, out)
	if res, _ := ask(t, stranger, "GET", at+"/?token="+second, ""); second == token || res.StatusCode != http.StatusSeeOther {
		t.Errorf("another browser with another token: %s", res.Status)
	}
	if strings.Contains(log.String(), token) || strings.Contains(log.String(), second) || strings.Count(out.String(), token) != 1 {
		t.Error("a token is in the log, or was printed twice")
	}
	r, err := http.NewRequest("GET", at+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", "authsvc-dev-gate=guess; authsvc-dev-gate=")
	forged, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	forged.Body.Close()
	if forged.StatusCode != http.StatusForbidden {
		t.Errorf("a made-up cookie: %s", forged.Status)
	}
}

// TestSharedSignsIn: both ways to sign in work at the single origin, even if a proxy
// changes the Host.
func TestSharedSignsIn(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	out, _ := runShared(t, port, "")
	_, token := lastInvitation(t, out)
	v := &visitor{t, browser.New(fmt.Sprintf("http://localhost:%d", port), nil).Follow()}
	v.get("/?token=" + token)
	if got := v.callbackOf("http://localhost:8000/"); got != v.Base {
		t.Errorf("a sign-in leads to %s, which is another machine for some browsers", got)
	}
	people := v.post("/api/auth/signin/dev", "callbackUrl", "/")
	if !strings.HasPrefix(people.Request.URL.Path, "/dev-id/") || people.Request.URL.Port() != fmt.Sprint(port) {
		t.Fatalf("people are at %s", people.Request.URL)
	}
	if a := v.choose(people, "Ada Lovelace"); a.Request.URL.Path != "/" || v.email() != "ada@example.com" {
		t.Fatalf("after choosing: %s %s", a.Request.URL, a.Text)
	}
	v.post("/api/auth/signout")
	v.post("/api/auth/signin/email", "email", "new@app.example", "callbackUrl", "/")
	if v.openMail(); v.email() != "new@app.example" {
		t.Errorf("after the link: %q", v.email())
	}
	client := staying(t)
	_, token = lastInvitation(t, out)
	ask(t, client, "GET", fmt.Sprintf("http://localhost:%d/?token=%s", port, token), "127.0.0.1:3000")
	if res, _ := ask(t, client, "GET", fmt.Sprintf("http://localhost:%d/inbox", port), "127.0.0.1:3000"); res.StatusCode != http.StatusOK {
		t.Errorf("another Host: %s", res.Status)
	}
}

// TestSharedAddress: behind https, the cookie is for https only.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	out, _ := runShared(t, port, "https://name-3000.app.example/")
	origin, token := lastInvitation(t, out)
	res, _ := ask(t, staying(t), "GET", fmt.Sprintf("http://127.0.0.1:%d/?token=%s", port, token), "")
	if cookies := res.Cookies(); origin != "https://name-3000.app.example" || len(cookies) != 1 || !cookies[0].Secure {
		t.Errorf("%s: %v", origin, cookies)
	}
	for url, host := range map[string]string{"http://app.example": "0.0.0.0", "https://app.example/path": "0.0.0.0", "https://u@app.example": "0.0.0.0", "ftp://x": "0.0.0.0", "": "app.example"} {
		o := dev.Options{Dir: t.TempDir(), Host: host, Shared: true, Port: freePorts(t), URL: url, Out: io.Discard, Log: slog.New(slog.DiscardHandler)}
		if err := dev.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%s at %s: %v", url, host, err)
		}
	}
}
