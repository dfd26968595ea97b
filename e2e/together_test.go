package e2e

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

// TestTogether runs complete NextAuth.js and complete authsvc on one database with
// database sessions, and switches between them.
func TestTogether(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, w place) {
		s, js := w.open(t), w.theirs(t)
		for _, d := range dialects() {
			t.Run(d.lib, func(t *testing.T) {
				ours, mails := d.together(t, s)
				theirLink(t, d, ours, &nextAuth{T: t, lib: d.lib, process: js, cookies: map[string]string{}})
				ourLink(t, d, ours, &nextAuth{T: t, lib: d.lib, process: js, cookies: map[string]string{}}, mails)
			})
			// The store remembers the mode in which it was last used.
			if err := s.SetMeta(t.Context(), "compat", string(authsvc.AuthJSV5)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// together returns a visitor of an engine on the shared store, and the mails that it
// sends.
func (d dialect) together(t *testing.T, s adapter.Adapter) (*visitor, chan authsvc.Message) {
	t.Helper()
	sent := make(chan authsvc.Message, 4)
	service, err := engine.New(authsvc.Config{
		URL: "http://localhost:3000/api/auth", Secrets: []string{secretA}, Compat: d.compat, Adapter: s,
		Session: authsvc.SessionOptions{Strategy: "database"},
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Providers: []authsvc.Provider{&authsvc.Email{From: "no-reply@app.test",
			Send: func(_ context.Context, m authsvc.Message) error {
				if !arena.IsNotice(m) {
					sent <- m
				}
				return nil
			}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), chromium.Patience)
		defer cancel()
		if err := service.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return newVisitor(t, service, "http://localhost:3000/api/auth"), sent
}

// A nextAuth is a visitor of the complete NextAuth.js in the Node process.
type nextAuth struct {
	*testing.T
	lib     string
	process *theirs
	cookies map[string]string
}

type nextAnswer struct {
	Status   int
	Location string
	Body     any
	Cookies  map[string]string
	Links    []string
}

func (n *nextAuth) do(method, address string, form map[string]string) nextAnswer {
	n.Helper()
	request := map[string]any{"lib": n.lib, "method": method, "url": address, "cookies": n.cookies, "secret": secretA}
	if form != nil {
		request["form"] = form
	}
	var a nextAnswer
	if err := n.process.call(&a, "request", request); err != nil {
		n.Fatal(err)
	}
	for name, value := range a.Cookies {
		n.cookies[name] = value
		if value == "" {
			delete(n.cookies, name)
		}
	}
	return a
}

const nextBase = "http://localhost:3000/api/auth"

// post sends a form with the CSRF token.
func (n *nextAuth) post(path string, form map[string]string) nextAnswer {
	n.Helper()
	csrf, _ := n.do(http.MethodGet, nextBase+"/csrf", nil).Body.(map[string]any)
	form["csrfToken"], _ = csrf["csrfToken"].(string)
	return n.do(http.MethodPost, nextBase+path, form)
}

// email returns the address in GET session, or "" without a session.
func (n *nextAuth) email() string {
	n.Helper()
	session, _ := n.do(http.MethodGet, nextBase+"/session", nil).Body.(map[string]any)
	user, _ := session["user"].(map[string]any)
	email, _ := user["email"].(string)
	return email
}

// theirLink redeems at authsvc a link that NextAuth.js has sent. NextAuth.js then
// reads the session and ends it.
func theirLink(t *testing.T, d dialect, ours *visitor, next *nextAuth) {
	address := "their-link-" + d.lib + "@app.test"
	a := next.post("/signin/email", map[string]string{"email": address})
	if len(a.Links) != 1 {
		t.Fatalf("NextAuth.js sent %d links: %d %s", len(a.Links), a.Status, a.Location)
	}
	link, err := url.Parse(a.Links[0])
	if err != nil {
		t.Fatal(err)
	}
	form := []string{"token", link.Query().Get("token"), "email", address, "callbackUrl", "http://localhost:3000/"}
	if res := ours.post("/callback/email", form...); res.StatusCode != http.StatusFound || ours.cookies[d.session] == "" {
		t.Fatalf("authsvc does not redeem it: %d %s", res.StatusCode, res.Header.Get("Location"))
	}
	if got := ours.user()["email"]; got != address {
		t.Errorf("authsvc: user %v", got)
	}
	if a := next.do(http.MethodGet, a.Links[0], nil); next.cookies[d.session] != "" {
		t.Errorf("the link works again: %d %s", a.Status, a.Location)
	}
	d.handOver(ours.cookies, next.cookies)
	if got := next.email(); got != address {
		t.Errorf("NextAuth.js: user %q", got)
	}
	cookie := ours.cookies[d.session]
	next.post("/signout", map[string]string{})
	ours.cookies[d.session] = cookie
	if got := ours.user(); got != nil {
		t.Errorf("still signed in after signing out of NextAuth.js: %v", got)
	}
	clear(ours.cookies)
	clear(next.cookies)
}

// ourLink does the same in the other direction.
func ourLink(t *testing.T, d dialect, ours *visitor, next *nextAuth, mails chan authsvc.Message) {
	address := "our-link-" + d.lib + "@app.test"
	if res := ours.post("/signin/email", "email", address); res.StatusCode != http.StatusFound {
		t.Fatalf("signin/email: %d", res.StatusCode)
	}
	var link *url.URL
	select {
	case m := <-mails:
		link = linkOf(t, m.Text)
	case <-time.After(chromium.Patience):
		t.Fatal("no mail")
	}
	if a := next.do(http.MethodGet, link.String(), nil); next.cookies[d.session] == "" {
		t.Fatalf("NextAuth.js does not redeem it: %d %s", a.Status, a.Location)
	}
	if got := next.email(); got != address {
		t.Errorf("NextAuth.js: user %q", got)
	}
	d.handOver(next.cookies, ours.cookies)
	if got := ours.user()["email"]; got != address {
		t.Errorf("authsvc: user %v", got)
	}
	cookie := next.cookies[d.session]
	if res := ours.post("/signout"); res.StatusCode != http.StatusFound || ours.cookies[d.session] != "" {
		t.Errorf("signout: %d", res.StatusCode)
	}
	next.cookies[d.session] = cookie
	if got := next.email(); got != "" {
		t.Errorf("still signed in after signing out of authsvc: %q", got)
	}
	clear(ours.cookies)
	clear(next.cookies)
}

// handOver passes the session to the other side.
func (d dialect) handOver(from, to map[string]string) {
	clear(to)
	maps.Copy(to, map[string]string{d.session: from[d.session]})
}
