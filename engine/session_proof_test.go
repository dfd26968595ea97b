package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// TestSilentSignIn: a session is as fresh as the last proof that the provider reports.
// Being let through by the provider proves nothing.
func TestSilentSignIn(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) func(map[string]any) {
		return func(c map[string]any) { c["auth_time"] = time.Now().Add(-d).Unix() }
	}
	for name, c := range map[string]struct {
		token func(map[string]any)
		fresh bool
	}{
		"nothing said":    {func(c map[string]any) { delete(c, "auth_time") }, false},
		"three hours ago": {ago(3 * time.Hour), false},
		"a text":          {func(c map[string]any) { c["auth_time"] = "now" }, false},
		"zero":            {func(c map[string]any) { c["auth_time"] = 0 }, false},
		"a minute ago":    {ago(time.Minute), true},
		"just now":        {ago(0), true},
		"in 40 seconds":   {ago(-40 * time.Second), true},
		"in an hour":      {ago(-time.Hour), false}, // its clock is ahead
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothStrategies(t, func(t *testing.T, strategy authsvc.Strategy) {
				w := arena.Start(t, func(conf *authsvc.Config) {
					gatedWorld(conf)
					conf.Session.Strategy = strategy
					conf.Gate.Hosts[0].Rules[2].Allow.AnyOf[0].MaxAge = time.Hour
				})
				b := behind(w, http.HandlerFunc(echo))
				w.OP.SetFault(idp.Fault{IDToken: c.token})
				b.SignIn(w.OP, "ada")
				w.OP.SetFault(idp.Fault{})
				if s := currentSession(t, w, b); s.AuthTime.After(time.Now()) {
					t.Errorf("proved at %v", s.AuthTime)
				}
				if got := freshness(t, w, b); got != c.fresh {
					t.Fatalf("fresh: %s", got)
				}
				if c.fresh {
					return
				}
				// The way out: the provider asks the user, who comes back.
				b.Get(b.Approve(w.OP, confirmAt(t, b).String(), "ada"))
				if got := freshness(t, w, b); got != true {
					t.Errorf("asked and proved, fresh: %s", got)
				}
			})
		})
	}
}

// A freshnessOf names what was let through and what was not.
type freshnessOf string

// freshness returns true if everything that needs a fresh proof lets the user through,
// and false if nothing does and each part leads to confirm.
func freshness(t *testing.T, w *arena.World, b *arena.Browser) any {
	t.Helper()
	var through, led []string
	judge := func(what string, passed bool, to string) {
		switch {
		case passed:
			through = append(through, what)
		case strings.HasPrefix(to, arena.Origin+"/api/auth/confirm?callbackUrl="):
			led = append(led, what)
		default:
			led = append(led, what+" to "+to)
		}
	}
	a := b.Post("/api/auth/signin/op", "link", "true")
	judge("link", strings.HasPrefix(a.Location(), w.OP.Issuer()), a.Location())
	a = b.Get("/api/auth/account/export")
	judge("export", a.StatusCode == http.StatusOK, a.Location())
	a = navigate(b, "GET", "/fresh/")
	to := a.Location()
	if strings.Contains(to, "/gate/start") {
		to = navigate(b, "GET", strings.TrimPrefix(to, arena.Origin)).Location()
	}
	judge("gate", a.StatusCode == http.StatusOK, to)
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, arena.Origin+"/pay", nil)
	r.Header.Set("Accept", "text/html")
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	w.RequireFresh(time.Hour)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
	judge("RequireFresh", rec.Code == http.StatusOK, rec.Header().Get("Location"))
	switch {
	case len(led) == 0:
		return true
	case len(through) == 0 && !strings.Contains(fmt.Sprint(led), " to "):
		return false
	}
	return freshnessOf(fmt.Sprintf("%v let the person through, %v did not", through, led))
}

// TestProofOfEachWay: proving something here is a proof. An OAuth 2 provider is a proof
// only for users whom confirm has asked and who have no other way.
func TestProofOfEachWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tune   func(*authsvc.Config)
		signIn func(w *arena.World, b *arena.Browser)
		proved bool
	}{
		"a link":     {nil, func(w *arena.World, b *arena.Browser) { b.SignInByMail(w, "mail@app.test") }, true},
		"a password": {nil, func(_ *arena.World, b *arena.Browser) { b.Login("ada") }, true},
		"OpenID":     {nil, func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "grace") }, true},
		"OAuth 2":    {oauth2Only, func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "grace") }, false},
		"OAuth 2, asked": {oauth2Only, func(w *arena.World, b *arena.Browser) {
			b.SignIn(w.OP, "grace")
			b.Get(b.Approve(w.OP, confirmAt(t, b).String(), "grace"))
		}, true},
		"OpenID that says an old time and cannot be asked": {unaskable, longAgo, false},
		"the same, asked": {unaskable, func(w *arena.World, b *arena.Browser) {
			longAgo(w, b)
			b.Get(b.Approve(w.OP, confirmAt(t, b).String(), "grace"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothStrategies(t, func(t *testing.T, strategy authsvc.Strategy) {
				w := arena.Start(t, func(conf *authsvc.Config) {
					conf.Session.Strategy = strategy
					if c.tune != nil {
						c.tune(conf)
					}
				})
				if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada"}, nil); err != nil {
					t.Fatal(err)
				}
				unproved := func(c map[string]any) { c["email_verified"] = false } // a link would be another way
				w.OP.SetFault(idp.Fault{IDToken: unproved, UserInfo: unproved})
				b := w.Browser()
				begun := time.Now().Add(-time.Second)
				c.signIn(w, b)
				s := currentSession(t, w, b)
				if now := !s.AuthTime.Before(begun.Truncate(time.Second)); s.Began.Before(begun) || now != c.proved {
					t.Errorf("began %v, proved %v", s.Began, s.AuthTime)
				}
			})
		})
	}
}

func unaskable(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).NoAuthTime = true }

// longAgo signs in at a provider that reports, now and later, that the proof was long
// ago.
func longAgo(w *arena.World, b *arena.Browser) {
	said := func(c map[string]any) {
		c["email_verified"], c["auth_time"] = false, time.Now().Add(-30*24*time.Hour).Unix()
	}
	w.OP.SetFault(idp.Fault{IDToken: said, UserInfo: said})
	b.SignIn(w.OP, "grace")
}

// oauth2Only makes "op" an OAuth 2 provider, which does not report when people sign in.
func oauth2Only(c *authsvc.Config) {
	o := c.Providers[0].(*authsvc.OAuth)
	o.OpenID, o.Scope = false, "openid profile email"
	o.Endpoints = authsvc.Endpoints{Authorization: o.Issuer + "/authorize", Token: o.Issuer + "/token", UserInfo: o.Issuer + "/userinfo"}
	o.Issuer = ""
}

// TestAgainWithoutStorage: without storage, the sign-in page asks as confirm does with
// it.
func TestAgainWithoutStorage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter, c.Providers = nil, c.Providers[:1] })
	b := w.Browser()
	w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { delete(c, "auth_time") }})
	b.SignIn(w.OP, "ada")
	if s := currentSession(t, w, b); !s.AuthTime.IsZero() {
		t.Fatalf("proved at %v", s.AuthTime)
	}
	page := b.Get("/api/auth/signin?again=true&callbackUrl=/pay").Text
	if _, fields := formTo(t, page, "op"); fields.Get("again") != "true" {
		t.Errorf("the form does not ask again: %v", fields)
	}
	to := b.Begin("op", "again", "true", "callbackUrl", "/pay")
	if q := arena.MustURL(t, to).Query(); q.Get("prompt") != "login" || q.Get("max_age") != "0" {
		t.Errorf("the provider is not made to ask: %s", to)
	}
	if a := b.Get(b.Approve(w.OP, to, "ada")); !strings.Contains(a.Location(), "error=") {
		t.Errorf("it did not say that it asked: %s", a.Location())
	}
	w.OP.SetFault(idp.Fault{})
	b.Get(b.Approve(w.OP, b.Begin("op", "again", "true"), "ada"))
	if s := currentSession(t, w, b); s.AuthTime.IsZero() {
		t.Error("asked and proved, and nothing is known of it")
	}
}

func currentSession(t *testing.T, w *arena.World, b *arena.Browser) *authsvc.Session {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, arena.Origin+"/", nil)
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	s, err := w.Session(r)
	if err != nil || s == nil {
		t.Fatalf("session %v, %v", s, err)
	}
	return s
}

// TestAgainAsksWhereItCan: without storage, if one way asks people again, a way that
// lets them through without asking is not a proof and is not offered as one. If no way
// asks, such a way is enough.
func TestAgainAsksWhereItCan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		both   bool
		proved bool
	}{"beside a provider that can ask again": {both: true}, "alone": {proved: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) {
				asks := *c.Providers[0].(*authsvc.OAuth)
				asks.ID = "asks"
				oauth2Only(c)
				c.Adapter, c.Providers = nil, c.Providers[:1]
				if test.both {
					c.Providers = append(c.Providers, &asks)
				}
			})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			page := b.Get("/api/auth/signin?again=true").Text
			if got := strings.Contains(page, `/api/auth/signin/op"`); got != test.proved {
				t.Errorf("offered: %t, want %t\n%s", got, test.proved, page)
			}
			if got := strings.Contains(page, `/api/auth/signin/asks"`); got != test.both {
				t.Errorf("the one that asks is offered: %t, want %t", got, test.both)
			}
			b.Get(b.Approve(w.OP, b.Begin("op", "again", "true"), "ada"))
			if s := currentSession(t, w, b); !s.AuthTime.IsZero() != test.proved {
				t.Errorf("proved at %v, want a proof: %t", s.AuthTime, test.proved)
			}
		})
	}
}
