package engine_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/quiet"
)

// leaving makes an arena whose provider also ends its own session.
func leaving(t *testing.T, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	w := arena.Enter(t, func(c *authsvc.Config) {
		c.Providers[0].(*authsvc.OAuth).LogoutAtProvider = true
		if tune != nil {
			tune(c)
		}
	})
	w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) { m["end_session_endpoint"] = w.OP.Issuer() + "/end?x=1" }})
	return w
}

func TestSignOutAtProvider(t *testing.T) {
	t.Parallel()
	impersonal := func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).Scope = "openid" }
	for name, c := range map[string]struct {
		tune   func(*authsvc.Config)
		method string
		hint   bool
	}{
		"database":          {nil, "POST", true},
		"jwt":               {func(c *authsvc.Config) { c.Session.Strategy = "jwt" }, "POST", true},
		"not personal":      {impersonal, "GET", true},
		"not personal, jwt": {func(c *authsvc.Config) { impersonal(c); c.Session.Strategy = "jwt" }, "GET", true},
		"no storage":        {func(c *authsvc.Config) { c.Adapter = nil; c.Providers = c.Providers[:1] }, "GET", false},
		"dropped":           {func(c *authsvc.Config) { c.ProviderTokens = "drop" }, "GET", false},
		"compat v4":         {func(c *authsvc.Config) { c.Compat = authsvc.NextAuthV4 }, "POST", true},
		"compat v5":         {func(c *authsvc.Config) { c.Compat, c.Session.Strategy = authsvc.AuthJSV5, "jwt" }, "POST", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := leaving(t, c.tune)
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			if w.Person(t, b) == "" {
				t.Fatalf("no session\n%s", w.Logs)
			}
			// This is the request of next-auth/react.
			a := b.Post("/api/auth/signout", "callbackUrl", "/bye?x=1", "json", "true")
			if a.StatusCode != 200 || w.Person(t, b) != "" {
				t.Fatalf("%d, still %q", a.StatusCode, w.Person(t, b))
			}
			leaving := b.Leave(a.URL(t))
			q := leaving.Sent
			if leaving.Method != c.method || !strings.HasPrefix(leaving.To.String(), w.OP.Issuer()+"/end?") || leaving.To.Query().Get("x") != "1" || q.Get("client_id") != "app" ||
				q.Get("post_logout_redirect_uri") != arena.Origin+"/api/auth/signout/return" || q.Get("state") == "" {
				t.Errorf("%+v", leaving)
			}
			if hint := strings.Count(q.Get("id_token_hint"), ".") == 2; hint != c.hint || q.Has("id_token_hint") != c.hint {
				t.Errorf("id token: %v\n%s", hint, w.Logs)
			}
			back := "/api/auth/signout/return?state=" + url.QueryEscape(q.Get("state"))
			if a := b.Get(back); a.Location() != arena.Origin+"/bye?x=1" {
				t.Errorf("back at %s\n%s", a.Location(), w.Logs)
			}
			if a := b.Get(back); a.Location() != arena.Origin {
				t.Errorf("a second return leads to %s", a.Location())
			}
		})
	}
}

// signOutTo signs out and returns where that leads.
func signOutTo(b *arena.Browser) string {
	return b.Post("/api/auth/signout", "callbackUrl", "/bye").Location()
}

// TestSignOutWithoutProvider checks that a sign-out is unchanged if the provider has no
// part in it.
func TestSignOutWithoutProvider(t *testing.T) {
	t.Parallel()
	t.Run("twin", func(t *testing.T) {
		t.Parallel()
		w := leaving(t, nil)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if to := b.Leave(signOutTo(b)).To; !strings.HasPrefix(to.String(), w.OP.Issuer()) {
			t.Errorf("%s", to)
		}
	})
	t.Run("not wanted", func(t *testing.T) {
		t.Parallel()
		w := leaving(t, func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).LogoutAtProvider = false })
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if to := signOutTo(b); to != arena.Origin+"/bye" {
			t.Errorf("%s", to)
		}
	})
	t.Run("another way in", func(t *testing.T) {
		t.Parallel()
		w := leaving(t, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
		b := w.Browser()
		b.Login("ada")
		if to := signOutTo(b); to != arena.Origin+"/bye" {
			t.Errorf("%s", to)
		}
	})
	t.Run("no session", func(t *testing.T) {
		t.Parallel()
		w := leaving(t, nil)
		if to := signOutTo(w.Browser()); to != arena.Origin+"/bye" {
			t.Errorf("%s", to)
		}
	})
	t.Run("no endpoint", signOutWithoutEndpoint)
	t.Run("provider down", signOutProviderDown)
	t.Run("misconfigured", signOutMisconfigured)
}

func signOutWithoutEndpoint(t *testing.T) {
	t.Parallel()
	w := leaving(t, nil)
	w.OP.SetFault(idp.Fault{})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if to := signOutTo(b); to != arena.Origin+"/bye" || b.Email() != "" || !strings.Contains(w.Logs.String(), "cannot continue the sign-out at the provider") {
		t.Errorf("%s\n%s", to, w.Logs)
	}
}

func signOutProviderDown(t *testing.T) {
	t.Parallel()
	w := leaving(t, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	other := w.Config // a replica that has not asked the provider anything yet
	s, err := engine.New(other)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	w.OP.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointDiscovery: time.Minute}})
	b.H = s
	began := time.Now()
	if to := signOutTo(b); to != arena.Origin+"/bye" || b.Email() != "" || time.Since(began) > quiet.Limit(8*time.Second) {
		t.Errorf("%s after %v", to, time.Since(began))
	}
}

func signOutMisconfigured(t *testing.T) {
	t.Parallel()
	o := newOdd(nil)
	_, err := engine.New(oddConfig(o, oddClient(func(p *authsvc.OAuth) { p.LogoutAtProvider = true }), &arena.LogBuffer{}))
	if err == nil || !strings.Contains(err.Error(), "Endpoints.EndSession is missing") {
		t.Errorf("%v", err)
	}
	startOdd(t, o, func(p *authsvc.OAuth) { p.LogoutAtProvider, p.Endpoints.EndSession = true, "https://odd.test/end" })
}
