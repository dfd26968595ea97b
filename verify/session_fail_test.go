package verify

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

func session25(t *T) {
	t.Strategies(func(t *T, strategy string) {
		t.Run("store error", func(t *T) { sessionBubble(t, func(t *T) { session25Error(t, strategy) }) })
		t.Run("guard", func(t *T) { session25Guard(t, strategy) })
		t.Run("no configuration", func(t *T) { session25Unconfigured(t, strategy) })
	})
	t.Run("store hangs", func(t *T) { sessionBubble(t, session25Hang) })
}

// sessionExists returns a browser of a route guarded by "session exists", and a count
// of the requests that reached it.
func sessionExists(t *T, w *arena.World, b *arena.Browser) (*arena.Browser, *int) {
	reached := new(int)
	guarded := b.Clone()
	guarded.H = w.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if s, err := w.Session(r); err != nil || s == nil || s.UserID != "ada-id" {
			t.Errorf("the route sees %v, %v", s, err)
		}
		*reached++
	}))
	return guarded, reached
}

func session25Error(t *T, strategy string) {
	stale := &arena.StaleStore{}
	w := t.EnterOffline(func(c *authsvc.Config) {
		sessionShort(strategy)(c)
		stale.Ledger = arena.NewLedger(c.Adapter)
		c.Adapter = stale
	})
	b := w.Browser()
	b.Login("ada")
	guarded, reached := sessionExists(t, w, b)
	if guarded.Get("/private"); *reached != 1 {
		t.Fatal("twin: the session does not pass")
	}
	stale.Broken.Store(true)
	w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	time.Sleep(33 * time.Second) // longer than the copy of the revocations is valid
	if a := guarded.Get("/private"); a.StatusCode != http.StatusServiceUnavailable || *reached != 1 {
		t.Errorf("guarded: %d, reached %d", a.StatusCode, *reached)
	}
	a := b.Get("/api/auth/session")
	if a.StatusCode != http.StatusServiceUnavailable || a.Text != "{}" || b.Cookies[w.SessionCookie()] == "" {
		t.Errorf("GET session: %d %s", a.StatusCode, a.Text)
	}
	sessionNil(t, w, b, t.Context())
	stale.Broken.Store(false)
	w.Ledger.BreakAt(nil)
	time.Sleep(3 * time.Second)
	if b.Email() != "ada@app.test" {
		t.Error("twin: the session is lost after the store is back")
	}
}

// sessionNil checks that the library's own call returns an error and no session.
func sessionNil(t *T, w *arena.World, b *arena.Browser, ctx context.Context) {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, "GET", arena.Origin+"/", nil)
	r.AddCookie(&http.Cookie{Name: w.SessionCookie(), Value: b.Cookies[w.SessionCookie()]})
	if s, err := w.Session(r); s != nil || err == nil {
		t.Errorf("Session: %v, %v", s, err)
	}
}

// sessionHanging is a store whose reads return only when the caller gives up.
type sessionHanging struct {
	adapter.Adapter
	hangs bool
}

func (s *sessionHanging) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, authsvc.User, error) {
	if s.hangs {
		<-ctx.Done()
		return adapter.SessionRecord{}, authsvc.User{ID: "ada-id"}, ctx.Err()
	}
	return s.Adapter.GetSession(ctx, token, digest)
}

func session25Hang(t *T) {
	store := &sessionHanging{}
	w := t.EnterOffline(func(c *authsvc.Config) {
		c.Session.Strategy = "database"
		store.Adapter = c.Adapter
		c.Adapter = store
	})
	b := w.Browser()
	b.Login("ada")
	guarded, reached := sessionExists(t, w, b)
	ask := func(c *arena.Browser, path string) *browser.Answer {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return c.Do(httptest.NewRequestWithContext(ctx, "GET", c.Abs(path), nil))
	}
	if ask(guarded, "/private"); *reached != 1 {
		t.Fatal("twin: the session does not pass")
	}
	store.hangs = true
	if a := ask(guarded, "/private"); a.StatusCode != http.StatusServiceUnavailable || *reached != 1 {
		t.Errorf("guarded: %d, reached %d", a.StatusCode, *reached)
	}
	if a := ask(b.Clone(), "/api/auth/session"); a.StatusCode != http.StatusServiceUnavailable || a.Text != "{}" {
		t.Errorf("GET session: %d %s", a.StatusCode, a.Text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	sessionNil(t, w, b, ctx)
}

func session25Guard(t *T, strategy string) {
	w := t.EnterOffline(sessionShort(strategy))
	h := w.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "private") }))
	b := w.Browser()
	b.H = h
	for _, cookie := range []string{"", "x", "null", "{}", "true", strings.Repeat("x", 43), strings.Repeat("a.", 20)} {
		b.Cookies[w.SessionCookie()] = cookie
		r := httptest.NewRequest("GET", arena.Origin+"/private?a=b", nil)
		r.Header.Set("Accept", "text/html")
		if a := b.Clone().Do(r); a.StatusCode != http.StatusFound || a.Location() != arena.Origin+"/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fprivate%3Fa%3Db" {
			t.Errorf("page: %d %s", a.StatusCode, a.Location())
		}
		if a := b.Clone().Get("/private"); a.StatusCode != http.StatusUnauthorized || strings.Contains(a.Text, "private") {
			t.Errorf("script: %d %s", a.StatusCode, a.Text)
		}
	}
	in := w.Browser()
	in.Login("ada")
	in.H = h
	if a := in.Get("/private"); a.Text != "private" || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("twin: %d %s %v", a.StatusCode, a.Text, a.Header)
	}
}

// session25Unconfigured checks that with a missing secret, or any other mistake,
// there is no service that a guard could use.
func session25Unconfigured(t *T, strategy string) {
	w := t.EnterOffline(sessionStrategy(strategy))
	for name, spoil := range map[string]func(*authsvc.Config){
		"no secret":     func(c *authsvc.Config) { c.Secrets = nil },
		"empty secret":  func(c *authsvc.Config) { c.Secrets = []string{""} },
		"no address":    func(c *authsvc.Config) { c.URL = "" },
		"no providers":  func(c *authsvc.Config) { c.Providers = nil },
		"bad strategy":  func(c *authsvc.Config) { c.Session.Strategy = "cookie" },
		"bad lifetimes": func(c *authsvc.Config) { c.Session.MaxAge, c.Session.AbsoluteMaxAge = time.Hour, time.Minute },
	} {
		c := w.Config
		spoil(&c)
		s, err := engine.New(c)
		if s != nil || len(authsvc.ConfigErrors(err)) == 0 {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	twin, err := engine.New(w.Config)
	if err != nil {
		t.Fatalf("twin: %v", err)
	}
	twin.Close(t.Context())
}

// session27 writes data to a socket that no client library would send.
func session27(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.EnterOffline(sessionStrategy(strategy))
		mux := http.NewServeMux()
		mux.Handle("/api/auth/", w)
		mux.Handle("/private", w.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "private") })))
		server := httptest.NewServer(mux)
		defer server.Close()
		s, mega := w.SessionCookie(), strings.Repeat("x", 900<<10)
		headers := map[string]string{
			"bearer %ZZ": "Authorization: Bearer %ZZ", "empty": "Authorization:", "bearer only": "Authorization: Bearer", "large": "Authorization: Bearer " + mega,
			"two lines": "Authorization: Bearer a\r\nAuthorization: Bearer b", "bytes": "Authorization: Bearer \xff\xfe", "comma": "Authorization: Bearer a, Basic b",
			"cookie escapes": "Cookie: " + s + "=%ZZ; " + w.CSRFCookie() + "=%", "no equals": "Cookie: " + s + "\r\nCookie: ;;;=;==", "cookie bytes": "Cookie: " + s + "=\xff\xfe\x01",
			"large cookie": "Cookie: " + s + "=" + mega, "dots": "Cookie: " + s + "=" + strings.Repeat(".", 900<<10), "quotes": `Cookie: ` + s + `="; x="`,
			"chunks": "Cookie: " + s + ".0=a; " + s + ".4294967296=b; " + s + ".-1=c; " + s + ".00=d", "too large": "Authorization: Bearer " + mega + mega,
		}
		paths := []string{"/api/auth/session", "/api/auth/signin", "/api/auth/signout", "/api/auth/csrf", "/private",
			"/api/auth/callback/email?token=" + strings.Repeat("x", 43) + "&email=a@b.test"}
		for name, header := range headers {
			for _, path := range paths {
				code, body, err := sessionExchange(server.Listener.Addr().String(), path, header)
				if err != nil || code >= 500 || code == 200 && strings.Contains(body, "private") && path == "/private" {
					t.Errorf("%s at %s: %d %.100s, %v", name, path, code, body, err)
				}
			}
		}
		if strings.Contains(w.Logs.String(), "panic") {
			t.Error("something panicked")
		}
		b := w.Browser()
		b.Login("ada")
		if code, body, err := sessionExchange(server.Listener.Addr().String(), "/private", "Authorization: Bearer %ZZ\r\nCookie: "+s+"="+b.Cookies[s]); code != 200 || body != "private" {
			t.Errorf("twin: %d %s, %v", code, body, err)
		}
		t.Figure("%d headers at %d routes", len(headers), len(paths))
	})
}

// sessionExchange sends one request with literal header lines.
func sessionExchange(addr, path, header string) (int, string, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return 0, "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	_, wrote := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n%s\r\n\r\n", path, header)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		if wrote != nil { // the server refused and closed before it had everything
			return http.StatusRequestHeaderFieldsTooLarge, "", nil
		}
		return 0, "", errors.Join(err, wrote)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}
