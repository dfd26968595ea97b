package engine_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// withIDP adds an OpenID provider "op" to the credentials.
func withIDP(t *testing.T, tune func(*authsvc.Config, *authsvc.OAuth)) (*idp.Server, *engine.Service, func(string) *guest) {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "a-secret", RedirectURIs: []string{guestOrigin + "/api/auth/callback/op"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	s, at := guests(t, func(c *authsvc.Config) {
		o := &authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: "a-secret"}}
		c.Providers = append(c.Providers, o)
		if tune != nil {
			tune(c, o)
		}
	})
	return op, s, at
}

func TestRequireFresh(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"jwt", "database"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				for _, name := range []string{"ada", "eve"} {
					if _, err := store.CreateUser(t.Context(), authsvc.User{ID: "id of " + name}, nil); err != nil {
						t.Fatal(err)
					}
				}
				s, at := guests(t, func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = store, authsvc.Strategy(strategy) })
				inside := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					v, err := s.Session(r)
					fmt.Fprint(w, v.UserID, " by ", v.Provider, err)
				})
				g := at("203.0.113.9:1")
				ask := func(h http.Handler, accept string) *reply {
					g.h = h
					defer func() { g.h = s }()
					r := httptest.NewRequest(http.MethodGet, guestOrigin+"/pay?to=bob", nil)
					r.Header.Set("Accept", accept)
					return g.do(r)
				}
				fresh, plain := s.RequireFresh(5*time.Minute)(inside), s.Require(inside)
				if r := ask(fresh, "application/json"); r.StatusCode != http.StatusUnauthorized {
					t.Errorf("no session: %d", r.StatusCode)
				}
				g.login("ada", "right")
				time.Sleep(5 * time.Minute)
				if r := ask(fresh, "text/html"); r.text != "id of ada by credentials<nil>" {
					t.Errorf("after five minutes: %d %q", r.StatusCode, r.text)
				}
				time.Sleep(time.Second)
				r := ask(fresh, "text/html")
				if back := guestOrigin + "/pay?to=bob"; r.StatusCode != http.StatusFound ||
					!strings.HasPrefix(r.Header.Get("Location"), guestOrigin+"/api/auth/confirm?") || !strings.Contains(r.Header.Get("Location"), url.QueryEscape(back)) {
					t.Errorf("stale, a person: %d %s", r.StatusCode, r.Header.Get("Location"))
				}
				if r := ask(fresh, "application/json"); r.StatusCode != http.StatusUnauthorized || !strings.Contains(r.text, "again") {
					t.Errorf("stale, a script: %d %q", r.StatusCode, r.text)
				}
				if r := ask(plain, "text/html"); r.StatusCode != http.StatusOK {
					t.Errorf("twin, Require: %d", r.StatusCode)
				}
				if g.login("ada", "wrong"); ask(fresh, "application/json").StatusCode != http.StatusUnauthorized {
					t.Error("a wrong password made it fresh")
				}
				if g.login("ada", "right"); ask(fresh, "text/html").StatusCode != http.StatusOK {
					t.Error("twin: signed in again")
				}
			})
		})
	}
}

// The age of a session is measured by the clock that its times were written with.
func TestRequireFreshUsesStoreClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-20 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store := &clocked{Adapter: memory.New()}
			store.ahead.Store(int64(ahead))
			s, at := guests(t, func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = store, "jwt" })
			g := at("203.0.113.9:1")
			g.login("ada", "right")
			inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
			g.h = s.RequireFresh(10 * time.Second)(inside)
			if r := g.get("/"); r.StatusCode != http.StatusTeapot {
				t.Errorf("%s ahead, at once: %d", ahead, r.StatusCode)
			}
			time.Sleep(11 * time.Second)
			if r := g.get("/"); r.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s ahead, after 11 s: %d", ahead, r.StatusCode)
			}
		})
	}
}

// The page that RequireFresh leads to must help: its forms prove again who the user is,
// and then the guarded page opens. That page used to be the sign-in page, whose only
// primary button led back to the guarded page, in a circle.
func TestRequireFreshConfirmPage(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"op", "credentials"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, nil)
			if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Email: "ada@app.test"}, nil); err != nil {
				t.Fatal(err)
			}
			guarded := w.RequireFresh(5 * time.Minute)(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "paid") }))
			b := w.Browser()
			b.H = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/api/auth") {
					w.ServeHTTP(rw, r)
				} else {
					guarded.ServeHTTP(rw, r)
				}
			})
			b.Header.Set("Accept", "text/html")
			if way == "op" {
				b.SignIn(w.OP, "ada")
			} else {
				b.Login("ada")
			}
			if a := b.Get("/pay?to=bob"); a.Text != "paid" {
				t.Fatalf("just signed in: %d %s", a.StatusCode, a.Location())
			}
			id := w.Person(t, b)
			makeOld(t, w, id)
			stale := b.Get("/pay?to=bob")
			page := b.Get(stale.Location())
			if page.StatusCode != http.StatusOK || !strings.Contains(page.Text, "Confirm it’s you") || strings.Contains(page.Text, `name="link"`) ||
				strings.Contains(page.Text, `href="`+arena.Origin+`/pay?to=bob"`) {
				t.Fatalf("%d from %s: %s", page.StatusCode, stale.Location(), page.Text)
			}
			action, fields := formTo(t, page.Text, map[string]string{"op": "confirm", "credentials": "callback/credentials"}[way])
			fields.Set("username", "ada")
			fields.Set("password", "right")
			a := b.Form(action, fields)
			if way == "op" {
				a = b.Get(b.Approve(w.OP, a.Location(), "ada"))
			}
			if a := b.Get(a.Location()); a.Text != "paid" || w.Person(t, b) != id {
				t.Errorf("signed in again: %d %q %s", a.StatusCode, a.Text, a.Location())
			}
			makeOld(t, w, id)
			if page := b.Get("/api/auth/signin?callbackUrl=%2Fpay"); !strings.Contains(page.Text, `href="`+arena.Origin+`/pay"`) {
				t.Errorf("twin: a user who need not sign in again can continue: %s", page.Text)
			}
			visitor := w.Browser()
			visitor.H, visitor.Header = b.H, b.Header
			if to := visitor.Get("/pay").Location(); to != arena.Origin+"/api/auth/signin?callbackUrl="+url.QueryEscape(arena.Origin+"/pay") {
				t.Errorf("without a session, it leads to %s", to)
			}
		})
	}
}

// makeOld makes the sessions of a user begin an hour ago.
func makeOld(t testing.TB, w *arena.World, userID string) {
	t.Helper()
	list, err := w.Store.ListSessions(t.Context(), userID)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, r := range list {
		r.AuthTime = time.Now().Add(-time.Hour)
		if err := w.Store.UpdateSession(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// formTo returns the target of the form of a way to sign in, and its hidden fields.
func formTo(t *testing.T, page, way string) (action string, fields url.Values) {
	t.Helper()
	fields = url.Values{}
	for _, form := range regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)".*?</form>`).FindAllStringSubmatch(page, -1) {
		if !strings.HasSuffix(form[1], "/"+way) {
			continue
		}
		for _, in := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(form[0], -1) {
			fields.Set(in[1], html.UnescapeString(in[2]))
		}
		return form[1], fields
	}
	t.Fatalf("no form for %s: %s", way, page)
	return "", nil
}

// A sign-in page of the application's own receives again=true, too.
func TestRequireFreshCustomSignInPage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Pages.SignIn = "/login" })
	for from, want := range map[string]bool{"?again=true": true, "": false, "?again=1": false, "?again=%22%3E": false} {
		if to := w.Browser().Get("/api/auth/signin" + from).Location(); strings.HasSuffix(to, "&again=true") != want || strings.Contains(to, "again") != want {
			t.Errorf("%q: %s", from, to)
		}
	}
}

// A session that another program began says nothing about the last proof, although it
// gets a start when it is first seen.
func TestRequireFreshForeignSession(t *testing.T) {
	t.Parallel()
	store := memory.New()
	u, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, at := guests(t, func(c *authsvc.Config) { c.Adapter, c.Compat = store, authsvc.NextAuthV4 })
	const token = "a-token-of-the-other-program"
	if _, err := store.CreateSession(t.Context(), adapter.SessionRecord{ID: "s", SessionToken: token, Digest: "d", UserID: u.ID, Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	g := at("203.0.113.9:1")
	g.cookies["__Secure-next-auth.session-token"] = token
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "in") })
	if g.h = s.RequireFresh(time.Hour)(inside); g.get("/").StatusCode != http.StatusUnauthorized {
		t.Error("it counts as fresh")
	}
	if g.h = s.Require(inside); g.get("/").text != "in" {
		t.Error("twin: it is not a session at all")
	}
}
