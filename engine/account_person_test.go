package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

// TestWaysIn checks that the last known way to sign in can be removed, by the user and
// by UnlinkAccount, if the application knows another. It cannot if the callback knows
// none, fails or panics.
func TestWaysIn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ways      func(context.Context, authsvc.User) (int, error)
		removable bool
	}{
		"no callback":        {nil, false},
		"none":               {func(context.Context, authsvc.User) (int, error) { return 0, nil }, false},
		"one":                {func(context.Context, authsvc.User) (int, error) { return 1, nil }, true},
		"a failing callback": {func(context.Context, authsvc.User) (int, error) { return 1, errors.New("away") }, false},
		"a panic":            {func(context.Context, authsvc.User) (int, error) { panic("away") }, false},
	} {
		strategies(t, func(c *authsvc.Config) {
			c.Providers = c.Providers[:1] // no links
			c.Callbacks.WaysIn = tt.ways
		}, func(t *testing.T, w *arena.World) {
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			a := readAccount(t, b)
			if len(a.Accounts) != 1 || a.Accounts[0].Removable != tt.removable {
				t.Fatalf("%s: %+v", name, a.Accounts)
			}
			err := w.UnlinkAccount(t.Context(), a.User.ID, "op", "ada", nil)
			if (err == nil) != tt.removable {
				t.Errorf("%s: %v", name, err)
			}
			if left := readAccount(t, b).Accounts; (len(left) == 0) != tt.removable {
				t.Errorf("%s: then %+v", name, left)
			}
		})
	}
}

// TestPlace checks that users and the application see the place of a network, cleaned,
// and none if the callback panics.
func TestPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place func(netip.Prefix) string
		want  string
	}{
		"no callback": {nil, ""},
		"a name": {func(p netip.Prefix) string {
			if p != netip.MustParsePrefix("203.0.113.0/24") {
				return "elsewhere"
			}
			return "Ber\x00lin\u202e"
		}, "Berlin"},
		"a panic": {func(netip.Prefix) string { panic("no map") }, ""},
	} {
		strategies(t, func(c *authsvc.Config) { c.Callbacks.Place = tt.place }, func(t *testing.T, w *arena.World) {
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			id := readAccount(t, b).User.ID
			list, err := w.Sessions(t.Context(), id)
			if err != nil || len(list) != 1 || list[0].Place != tt.want {
				t.Errorf("%s: %+v, %v", name, list, err)
			}
			if page := b.Get("/api/auth/account").Text; strings.Contains(page, "Berlin") != (tt.want != "") {
				t.Errorf("%s: %s", name, page)
			}
			b.Header.Set("Accept", "application/json")
			want := `"place":null`
			if tt.want != "" {
				want = `"place":"` + tt.want + `"`
			}
			if a := b.Get("/api/auth/account"); !strings.Contains(a.Text, want) {
				t.Errorf("%s: %s", name, a.Text)
			}
		})
	}
}

// TestPerson checks that the application receives the data of the account page, and an
// error for an unknown user.
func TestPerson(t *testing.T) {
	t.Parallel()
	strategies(t, changesEmail, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		w.Browser().SignIn(w.OP, "ada")
		a := readAccount(t, b)
		v, err := w.Service.Person(t.Context(), a.User.ID)
		if err != nil {
			t.Fatal(err)
		}
		if v.User.Email != a.User.Email || len(v.Sessions) != 2 || len(v.Accounts) != 1 || len(v.Providers) != len(a.Providers) {
			t.Errorf("%+v", v)
		}
		if one, page := v.Accounts[0], a.Accounts[0]; one.ID != page.ID || one.Name != page.Name || one.Provider != "op" || one.Removable != page.Removable {
			t.Errorf("%+v, the page has %+v", one, page)
		}
		if v.EmailChange != nil {
			t.Errorf("a change of address: %+v", v.EmailChange)
		}
		if err := w.RequestEmailChange(t.Context(), a.User.ID, "new@example.com"); err != nil {
			t.Fatal(err)
		}
		v, err = w.Service.Person(t.Context(), a.User.ID)
		if err != nil {
			t.Fatal(err)
		}
		page := readAccount(t, b).Pending.Email
		if c := v.EmailChange; c == nil || page == nil || c.ID != page.ID || c.Address != "new@example.com" || c.NewProved || c.OldProved || c.NotBefore.UTC().Format("2006-01-02T15:04:05.000Z") != page.NotBefore {
			t.Errorf("%+v, the page has %+v", c, page)
		}
		if _, err := w.Service.Person(t.Context(), "u-none"); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("an unknown user: %v", err)
		}
	})
}

// TestOwnAccountPages checks that browsers are redirected to the application's pages,
// with a message and the user's methods. Scripts get JSON, and no one gets there
// without signing in.
func TestOwnAccountPages(t *testing.T) {
	t.Parallel()
	strategies(t, func(c *authsvc.Config) { c.Pages.Account, c.Pages.Confirm = "/me", "/sure?x=1" }, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		for _, path := range []string{"/api/auth/account", "/api/auth/confirm"} {
			if a := b.Get(path); !strings.Contains(a.Location(), "/api/auth/signin?") {
				t.Errorf("no session at %s: %s", path, a.Location())
			}
		}
		b.SignIn(w.OP, "ada")
		for path, want := range map[string]string{
			"/api/auth/account":                                     "/me",
			"/api/auth/account?done=renamed":                        "/me?done=renamed",
			"/api/auth/account?error=LastMethod":                    "/me?error=LastMethod",
			"/api/auth/account?error=%3Cscript%3E":                  "/me?error=Default",
			"/api/auth/confirm?callbackUrl=%2Fmoney":                "/sure?x=1&callbackUrl=https%3A%2F%2Fapp.test%2Fmoney&ways=op%2Cemail",
			"/api/auth/confirm?callbackUrl=https%3A%2F%2Fevil.test": "/sure?x=1&callbackUrl=https%3A%2F%2Fapp.test&ways=op%2Cemail",
			"/api/auth/confirm?callbackUrl=%2Fsure%3Fcall%23x":      "/sure?x=1&callbackUrl=https%3A%2F%2Fapp.test%2Fapi%2Fauth%2Faccount&ways=op%2Cemail", // it would ask again
			"/api/auth/confirm?callbackUrl=%2Fsurely":               "/sure?x=1&callbackUrl=https%3A%2F%2Fapp.test%2Fsurely&ways=op%2Cemail",
			"/api/auth/confirm?callbackUrl=%2F&error=OAuthCallback": "/sure?x=1&callbackUrl=https%3A%2F%2Fapp.test%2F&ways=op%2Cemail&error=OAuthCallback",
		} {
			if a := b.Get(path); a.StatusCode != http.StatusFound || a.Location() != arena.Origin+want {
				t.Errorf("%s: %d %s, want %s", path, a.StatusCode, a.Location(), want)
			}
		}
		if a := readAccount(t, b); a.User.Email != "ada@example.com" {
			t.Errorf("a script: %+v", a)
		}
		if a := b.Post("/api/auth/account/profile", "name", "Ada L."); !strings.HasSuffix(a.Location(), "/api/auth/account?done=renamed") {
			t.Errorf("a change: %s", a.Location())
		}
	})
}

// TestAccountOfAnUnstoredUser checks that GET account tells how the session of a user
// began who is in no list of sessions, because the application keeps its users elsewhere.
func TestAccountOfAnUnstoredUser(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT })
	b := w.Browser()
	b.Login("ada")
	b.Header.Set("Accept", "application/json")
	if a := b.Get("/api/auth/account"); !strings.Contains(a.Text, `"acr":"1fa","amr":["app"]`) || !strings.Contains(a.Text, `"sessions":[]`) {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}
