package engine_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// TestScriptsGetJSON: a script gets {url} whatever is wrong with its request, and also
// instead of the notice after a first proof. Others get text or the page.
func TestScriptsGetJSON(t *testing.T) {
	t.Parallel()
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4} {
		w := arena.Start(t, func(c *authsvc.Config) { c.Compat, c.FirstProof = mode, "strict" })
		const form = "application/x-www-form-urlencoded"
		for name, c := range map[string]struct{ path, contentType, body string }{
			"unknown":      {"/api/auth/nothing", form, "x=y"},
			"provider":     {"/api/auth/signin/nobody", form, "x=y"},
			"method":       {"/api/auth/csrf", form, "x=y"},
			"given twice":  {"/api/auth/signout", form, "x=y&x=z"},
			"encoding":     {"/api/auth/signout", form, "x=%zz"},
			"OAuth's POST": {"/api/auth/callback/op", form, "x=y"},
		} {
			b := w.Browser()
			plain := b.Raw(c.path, c.contentType, c.body)
			script := b.Raw(c.path, c.contentType, c.body+"&json=true")
			header := b.Raw(c.path, c.contentType, c.body, "X-Auth-Return-Redirect", "1")
			if plain.StatusCode < 400 || !strings.HasPrefix(plain.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("%s %s: twin: %d %s", mode, name, plain.StatusCode, plain.Header.Get("Content-Type"))
			}
			for _, a := range []*browser.Answer{script, header} {
				if a.StatusCode != plain.StatusCode || a.Header.Get("Allow") != plain.Header.Get("Allow") || !strings.HasPrefix(a.URL(t), arena.Origin+"/") {
					t.Errorf("%s %s: %d %q", mode, name, a.StatusCode, a.Text)
				}
			}
		}
		for i, fields := range [][]string{nil, {"json", "true"}} {
			sub := []string{"one", "two"}[i]
			if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub, Email: sub + "@people.test"}); err != nil {
				t.Fatal(err)
			}
			w.Browser().SignIn(w.OP, sub) // not verified at the provider
			user, err := w.Store.GetUserByAccount(t.Context(), "op", sub)
			if err != nil || !user.EmailVerified.IsZero() {
				t.Fatalf("%s: %+v, %v", sub, user, err)
			}
			b := w.Browser()
			b.Post("/api/auth/signin/email", "email", user.Email)
			a := b.Post("/api/auth/callback/email", append(formOf(t, arena.Link(t, w.Mail.Next(t))), fields...)...)
			if json := fields != nil; json != strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") || json && a.URL(t) != arena.Origin {
				t.Errorf("%s notice: %d %.100s", mode, a.StatusCode, a.Text)
			}
		}
	}
}

// TestFormPostGETEndsAttempt: a GET is refused at a provider that answers by form_post,
// and it ends the attempt.
func TestFormPostGETEndsAttempt(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).ResponseMode = "form_post" })
	b := w.Browser()
	state := arena.MustURL(t, b.Begin("op")).Query().Get("state")
	b.Begin("op")
	a := b.Get("/api/auth/callback/op?code=x&state=" + state)
	if left := len(txCookies(b)); left != 1 || !strings.Contains(a.Location(), "error=OAuthCallback") {
		t.Errorf("%d attempts left, back at %s", left, a.Location())
	}
}

// TestPageAddresses: a page that leads back to itself is refused, and so is one that is
// neither a path nor an address.
func TestPageAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages authsvc.Pages
		key   string
	}{
		"sign-in":             {authsvc.Pages{SignIn: "/api/auth/signin"}, "Pages.SignIn"},
		"sign-in, absolute":   {authsvc.Pages{SignIn: "HTTPS://APP.test:443/api/auth/signin?x=1"}, "Pages.SignIn"},
		"sign-in of provider": {authsvc.Pages{SignIn: "/api/auth/signin/op"}, "Pages.SignIn"},
		"sign-in, the base":   {authsvc.Pages{SignIn: "/api/auth"}, "Pages.SignIn"},
		"sign-out":            {authsvc.Pages{SignOut: "/api/auth/signout"}, "Pages.SignOut"},
		"error":               {authsvc.Pages{Error: "/api/auth/error/AccessDenied"}, "Pages.Error"},
		"verify-request":      {authsvc.Pages{VerifyRequest: "/api/auth/verify-request"}, "Pages.VerifyRequest"},
		"account":             {authsvc.Pages{Account: "/api/auth/account"}, "Pages.Account"},
		"account, a part":     {authsvc.Pages{Account: "/api/auth/account/email"}, "Pages.Account"},
		"confirm":             {authsvc.Pages{Confirm: "/api/auth/confirm?x=1"}, "Pages.Confirm"},
		"confirm, a host":     {authsvc.Pages{Confirm: "//evil.example/sure"}, "Pages.Confirm"},
		"another host":        {authsvc.Pages{Error: "//evil.example"}, "Pages.Error"},
		"another, a slash":    {authsvc.Pages{NewUser: "/\\evil.example"}, "Pages.NewUser"},
		"twin, own pages":     {authsvc.Pages{SignIn: "/signin", SignOut: "/api/auths", Error: "/api/auth/signin", VerifyRequest: "https://www.app.test/api/auth/verify-request", NewUser: "/", Account: "/me", Confirm: "/sure"}, ""},
	} {
		config := arena.EnterOffline(t, nil).Config
		config.Pages = c.pages
		s, err := engine.New(config)
		list := authsvc.ConfigErrors(err)
		if c.key == "" && err == nil {
			s.Close(t.Context())
			continue
		}
		if len(list) != 1 || list[0].Field != c.key {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAuthorizationHostChangeWarns: the log warns about a service that sends people
// elsewhere than before. If an issuer changes, the service does not start.
func TestAuthorizationHostChangeWarns(t *testing.T) {
	t.Parallel()
	store := memory.New()
	plain := func(host string) func(*authsvc.Config) {
		return func(c *authsvc.Config) {
			c.Adapter = store
			op := c.Providers[0].(*authsvc.OAuth)
			op.ID, op.OpenID, op.Endpoints.Token, op.Endpoints.UserInfo, op.Fields = "plain", false, op.Issuer+"/oauth2/token", op.Issuer+"/oauth2/user", authsvc.Fields{ID: "id"}
			op.Endpoints.Authorization, op.Issuer = host+"/oauth2/authorize", ""
			if host == "" {
				op.Endpoints.Authorization = strings.TrimSuffix(op.Endpoints.Token, "token") + "authorize"
			}
		}
	}
	w := arena.Start(t, plain(""))
	b := w.Browser()
	if a := b.Get(b.Approve(w.OP, b.Begin("plain"), "ada")); a.StatusCode != http.StatusFound || b.Email() == "" {
		t.Fatalf("%d %s\n%s", a.StatusCode, a.Location(), w.Logs)
	}
	moved := arena.Start(t, plain("https://elsewhere.test"))
	if !strings.Contains(moved.Logs.String(), "provider=plain") {
		t.Errorf("no warning in\n%s", moved.Logs)
	}
	config := w.Config
	issuer := *w.Config.Providers[0].(*authsvc.OAuth)
	issuer.Issuer = "https://elsewhere.test"
	config.Providers = []authsvc.Provider{&issuer}
	if _, err := engine.New(config); err == nil || !strings.Contains(err.Error(), "Providers[0]") {
		t.Errorf("another issuer: %v", err)
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url  string
		hsts time.Duration
		want string
		key  string // of the mistake
	}{
		"off":               {guestOrigin, 0, "", ""},
		"on":                {guestOrigin, 8760 * time.Hour, "max-age=31536000", ""},
		"under a second":    {guestOrigin, time.Millisecond, "", "HSTS"},
		"negative":          {guestOrigin, -time.Hour, "", "HSTS"},
		"over http":         {"http://localhost:3000", time.Hour, "", "HSTS"},
		"off is fine there": {"http://localhost:3000", 0, "", ""},
	} {
		c := authsvc.Config{URL: tt.url, HSTS: tt.hsts, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"},
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
				return authsvc.User{}, authsvc.ErrAccessDenied
			}}}}
		s, err := engine.New(c)
		if list := authsvc.ConfigErrors(err); tt.key != "" {
			if len(list) != 1 || list[0].Field != tt.key {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		g := &guest{t: t, h: s, ip: "203.0.113.9:1", cookies: map[string]string{}}
		for path, html := range map[string]bool{"signin": true, "error?error=AccessDenied": true, "session": false, "client.js": false} {
			h := g.get(tt.url + "/api/auth/" + path).Header
			if got := h.Get("Strict-Transport-Security"); got != tt.want {
				t.Errorf("%s, %s: %q", name, path, got)
			}
			if got := h.Get("Cross-Origin-Opener-Policy") == "same-origin" && strings.Contains(h.Get("Permissions-Policy"), "camera=()"); got != html {
				t.Errorf("%s, %s: %v", name, path, h)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
