package engine_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// initiates lets the first provider begin sign-ins.
func initiates(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).InitiateLogin = true }

// TestInitiatedLogin checks when a sign-in starts that the provider began, and when the
// person sees the ordinary page.
func TestInitiatedLogin(t *testing.T) {
	t.Parallel()
	const issuer = "https://op.test"
	for name, tt := range map[string]struct {
		off    bool
		query  string
		header []string
		starts bool
	}{
		"from the provider":     {query: "iss=" + issuer, header: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-User", "?1"}, starts: true},
		"an older browser":      {query: "iss=" + issuer, starts: true},
		"not configured":        {off: true, query: "iss=" + issuer},
		"no issuer":             {query: "login_hint=ada"},
		"empty issuer":          {query: "iss="},
		"another issuer":        {query: "iss=https://evil.test"},
		"a slash more":          {query: "iss=" + issuer + "/"},
		"another case":          {query: "iss=https://OP.test"},
		"two issuers":           {query: "iss=" + issuer + "&iss=" + issuer},
		"in a frame":            {query: "iss=" + issuer, header: []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}},
		"by a script":           {query: "iss=" + issuer, header: []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}},
		"as a picture":          {query: "iss=" + issuer, header: []string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}},
		"ahead of time":         {query: "iss=" + issuer, header: []string{"Sec-Purpose", "prefetch"}},
		"proof of identity":     {query: "iss=" + issuer + "&again=true"},
		"with an ordinary hint": {query: "iss=" + issuer + "&callbackUrl=/x", starts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tune := initiates
			if tt.off {
				tune = nil
			}
			w := arena.EnterInMemory(t, tune)
			b := w.Browser()
			r := httptest.NewRequest("GET", arena.Origin+"/api/auth/signin/op?"+tt.query, nil)
			for i := 0; i+1 < len(tt.header); i += 2 {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
			a := b.Do(r)
			if started := strings.HasPrefix(a.Location(), issuer+"/authorize?") && len(txCookies(b)) == 1; started != tt.starts || !started && (a.StatusCode != 200 || len(txCookies(b)) > 0) {
				t.Errorf("%d, to %s, with %d attempts", a.StatusCode, a.Location(), len(txCookies(b)))
			}
			if tt.starts {
				if a := b.Get(b.Approve(w.OP, a.Location(), "ada")); a.Location() != arena.Origin {
					t.Errorf("the sign-in ends at %s", a.Location())
				}
			}
		})
	}
}

// TestInitiatedParams checks that target_link_uri has the checks of a callbackUrl, and
// that login_hint is the only parameter that reaches the provider.
func TestInitiatedParams(t *testing.T) {
	t.Parallel()
	w := arena.EnterInMemory(t, func(c *authsvc.Config) {
		initiates(c)
		c.AllowedRedirects = []string{"https://www.app.test"}
	})
	for target, want := range map[string]string{
		"":                              arena.Origin,
		"/orders?a=b":                   arena.Origin + "/orders?a=b",
		arena.Origin + "/orders":        arena.Origin + "/orders",
		"https://www.app.test/a":        "https://www.app.test/a",
		"https://evil.test/":            arena.Origin,
		"//evil.test/":                  arena.Origin,
		"javascript:alert(1)":           arena.Origin,
		"https://app.test@evil.test":    arena.Origin,
		"/" + strings.Repeat("a", 3000): arena.Origin,
	} {
		b := w.Browser()
		b.Get("/api/auth/signin?callbackUrl=/earlier") // leaves the cookie
		q := url.Values{"iss": {"https://op.test"}, "callbackUrl": {"/ignored"}}
		if target != "" {
			q.Set("target_link_uri", target)
		}
		to := b.Get("/api/auth/signin/op?" + q.Encode()).Location()
		if a := b.Get(b.Approve(w.OP, to, "ada")); a.Location() != want {
			t.Errorf("%.40s leads to %s, want %s", target, a.Location(), want)
		}
	}
	for hint, want := range map[string]string{"ada@op.test": "ada@op.test", strings.Repeat("a", 512): strings.Repeat("a", 512), strings.Repeat("a", 513): ""} {
		q := url.Values{"iss": {"https://op.test"}, "login_hint": {hint}}
		for _, name := range []string{"prompt", "max_age", "acr_values", "ui_locales", "hd", "domain_hint", "screen_hint", "scope", "redirect_uri", "request"} {
			q.Set(name, "7")
		}
		got := arena.MustURL(t, w.Browser().Get("/api/auth/signin/op?"+q.Encode()).Location()).Query()
		if got.Get("login_hint") != want || got.Get("state") == "" || got.Get("nonce") == "" || got.Get("code_challenge") == "" {
			t.Errorf("login_hint of %d bytes: %v", len(hint), got)
		}
		for name, v := range got {
			if v[0] == "7" {
				t.Errorf("%s is passed on", name)
			}
		}
	}
}

// TestInitiatedWhileSignedIn checks that a site cannot switch the account of a person
// who is signed in, or add one, in any mode.
func TestInitiatedWhileSignedIn(t *testing.T) {
	t.Parallel()
	inEveryMode(t, initiates, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.SignInByMail(w, "ann@app.test")
		a := b.Get("/api/auth/signin/op?iss=https://op.test&target_link_uri=/orders")
		if a.StatusCode != 200 || len(txCookies(b)) > 0 || b.Email() != "ann@app.test" || !strings.Contains(a.Text, arena.Origin+"/orders") {
			t.Errorf("%d, to %s, with %d attempts, as %s", a.StatusCode, a.Location(), len(txCookies(b)), b.Email())
		}
		b.Post("/api/auth/signout")
		if to := b.Get("/api/auth/signin/op?iss=https://op.test").Location(); !strings.HasPrefix(to, "https://op.test/authorize?") {
			t.Errorf("after the sign-out: %s", to)
		}
	})
}

// TestInitiatedElsewhere checks that another browser cannot finish such a sign-in, and
// that its starts are limited.
func TestInitiatedElsewhere(t *testing.T) {
	t.Parallel()
	w := arena.EnterInMemory(t, func(c *authsvc.Config) {
		initiates(c)
		c.RateLimit = authsvc.RateLimit{SignIn: authsvc.Rate{N: 2, Per: time.Hour}}
	})
	const address = "/api/auth/signin/op?iss=https://op.test"
	start := func(b *arena.Browser) string { return b.Get(address).Location() }
	one := w.Browser()
	back := one.Approve(w.OP, start(one), "ada")
	if a := w.Browser().Get(back); !strings.Contains(a.Location(), "error=OAuthCallback") {
		t.Errorf("another browser finishes the sign-in: %s", a.Location())
	}
	if to := start(one); !strings.HasPrefix(to, "https://op.test/") {
		t.Errorf("the second start: %s", to)
	}
	if a := one.Get(address); a.StatusCode != 429 || len(txCookies(one)) > 2 {
		t.Errorf("the third start: %d, to %s", a.StatusCode, a.Location())
	}
}

// TestInitiatedNeedsIssuer checks the refusal of a provider without an issuer.
func TestInitiatedNeedsIssuer(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string]string{"": "Providers[0].InitiateLogin", "https://odd.test": ""} {
		_, err := engine.New(oddConfig(newOdd(nil), oddClient(func(p *authsvc.OAuth) { p.Issuer, p.InitiateLogin = issuer, true }), &arena.LogBuffer{}))
		got := ""
		for _, e := range authsvc.ConfigErrors(err) {
			got += e.Field
		}
		if got != want {
			t.Errorf("issuer %q: mistakes at %q", issuer, got)
		}
	}
}
