package verify

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var cookiesChecks = checks{
	"01": {title: "weak attributes", run: cookies01},
	"02": {title: "CSRF cookie shared with sibling hosts", run: cookies02},
	"03": {title: "duplicate session names", run: cookies03},
	"04": {title: "planted CSRF pair", run: cookies04},
	"05": {title: "names that look alike", run: cookies05},
	"06": {title: "cookie names of http, sent over https", run: cookies06},
	"07": {title: "a session too large for a cookie", run: cookies07},
	"08": {title: "chunks out of order", run: cookies08},
	"09": {title: "hostile chunk sets", run: cookies09, alone: true},
	"10": {title: "stale chunks after a session shrank", run: cookies10},
	"11": {title: "the largest session through real proxies", once: true, run: cookies11},
	"12": {title: "cookie bomb", once: true, run: cookies12, alone: true},
	"13": {title: "CSRF cookie evicted by others", run: cookies13},
	"14": {title: "late transaction", run: cookies14},
	"15": {title: "leftover transaction cookies", run: cookies15},
	"16": {title: "attributes injected through a value", run: cookies16},
	"17": {title: "sign-out clears every cookie of the session", run: cookies17},
}

// cookiesKinds adds a provider of each kind that uses the identity provider: OAuth 2
// "plain", OAuth 1.0a "old" and form_post "apple".
func cookiesKinds(c *authsvc.Config) {
	op := c.Providers[0].(*authsvc.OAuth)
	apple := *op
	apple.ID, apple.ResponseMode = "apple", "form_post"
	c.Providers = append(c.Providers, &apple,
		&authsvc.OAuth{ID: "plain", Name: "Plain", Client: op.Client, Endpoints: authsvc.Endpoints{
			Authorization: op.Issuer + "/oauth2/authorize",
			Token:         op.Issuer + "/oauth2/token",
			UserInfo:      op.Issuer + "/oauth2/user",
		},
			Fields: authsvc.Fields{ID: "id"}},
		&authsvc.OAuth1{ID: "old", Name: "Old", Client: op.Client, RequestTokenURL: op.Issuer + "/oauth1/initiate",
			AuthorizationURL: op.Issuer + "/oauth1/authorize", AccessTokenURL: op.Issuer + "/oauth1/token",
			UserInfoURL: op.Issuer + "/oauth1/user", Fields: authsvc.Fields{ID: "token.user_id"}})
}

// cookiesEvery requests every route with valid and invalid input and collects the
// Set-Cookie lines.
func cookiesEvery(t *T, w *arena.World) []string {
	var lines []string
	b := w.Browser()
	keep := func(a *browser.Answer) *browser.Answer { lines = append(lines, a.Header["Set-Cookie"]...); return a }
	for _, path := range []string{"", "/signin", "/signin?callbackUrl=/x", "/signin/op", "/signout", "/session", "/csrf", "/providers", "/error", "/error/Callback", "/verify-request", "/nope",
		"/callback/op?state=x&code=y", "/callback/op?error=x", "/callback/old?oauth_token=x", "/callback/email?token=" + strings.Repeat("x", 43) + "&email=a@b.test"} {
		keep(b.Get("/api/auth" + path))
	}
	keep(b.Post("/api/auth/signin/email", "email", "bad"))
	keep(b.Post("/api/auth/signin/email", "email", "mail@app.test"))
	keep(b.Get(arena.Link(t, w.Mail.Next(t))))
	keep(b.Post("/api/auth/signout"))
	keep(b.Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong"))
	for provider, who := range map[string]string{"op": "ada", "plain": "grace", "old": "alan"} {
		start := keep(b.Post("/api/auth/signin/" + provider))
		keep(b.Get(b.Approve(w.OP, start.Location(), "")))
		start = keep(b.Post("/api/auth/signin/" + provider))
		if a := keep(b.Get(b.Approve(w.OP, start.Location(), who))); a.Location() != arena.Origin+"/x" {
			t.Errorf("twin: %s: %s", provider, a.Location())
		}
		keep(b.Get("/api/auth/session"))
		keep(b.Post("/api/auth/signout"))
	}
	start := keep(b.Post("/api/auth/signin/apple"))
	answer, err := w.OP.Approve(start.Location(), "katherine")
	if err != nil {
		t.Fatal(err)
	}
	keep(w.Browser().Form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "cross-site"))
	answer.Params.Set("repost", "1")
	if a := keep(b.Form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "same-origin")); a.Location() != arena.Origin+"/x" {
		t.Errorf("twin: apple: %s", a.Location())
	}
	keep(b.Login("ada"))
	keep(b.Post("/api/auth/session", "data", "x"))
	keep(b.Post("/api/auth/signout", "csrfToken", "wrong"))
	keep(b.Post("/api/auth/signout"))
	b.Cookies[w.SessionCookie()] = "garbage-garbage-garbage"
	keep(b.Get("/api/auth/session"))
	return lines
}

// cookiesAttributes returns the attributes of a Set-Cookie line without its times,
// sorted.
func cookiesAttributes(line string) []string {
	_, rest, _ := strings.Cut(line, "; ")
	list := slices.DeleteFunc(strings.Split(rest, "; "), func(a string) bool {
		return strings.HasPrefix(a, "Expires=") || a == "Max-Age=0"
	})
	slices.Sort(list)
	return list
}

// cookies01 covers every kind of provider. The compat modes use the other library's
// cookie names; of those, only the CSRF cookie has __Host-.
func cookies01(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for _, domain := range []string{"", "app.test"} {
			w := t.Enter(func(c *authsvc.Config) {
				c.Session.Strategy, c.Cookies.Domain = authsvc.Strategy(strategy), domain
				cookiesKinds(c)
			})
			seen := map[string]bool{}
			for _, line := range cookiesEvery(t, w) {
				name, _, _ := strings.Cut(line, "=")
				seen[name] = true
				shared := strings.Contains(name, "session") || strings.Contains(name, "callback-url")
				want, prefix := []string{"HttpOnly", "Path=/", "SameSite=Lax", "Secure"}, "__Host-"
				if shared && domain != "" {
					want = append([]string{"Domain=" + domain}, want...)
				}
				if shared && (domain != "" || t.Mode != modeNone) {
					prefix = "__Secure-"
				}
				if got := cookiesAttributes(line); !slices.Equal(got, want) || !strings.HasPrefix(name, prefix) || len(line) > 4096 {
					t.Errorf("%s: %v, want %v and %s", line, got, want, prefix)
				}
			}
			if len(seen) < 10 || !seen[w.SessionCookie()] && domain == "" || !seen[w.CSRFCookie()] {
				t.Errorf("twin: only %v were set", seen)
			}
		}
	})
}

func cookies02(t *T) {
	w := t.Enter(func(c *authsvc.Config) { c.Cookies.Domain = "app.test" })
	b := w.Browser()
	a := b.Get("/api/auth/csrf")
	if lines := a.Header["Set-Cookie"]; len(lines) != 1 || !strings.HasPrefix(lines[0], "__Host-") || strings.Contains(lines[0], "Domain") {
		t.Errorf("%q", lines)
	}
	shared := false
	for _, c := range b.SignIn(w.OP, "grace").Cookies() {
		shared = shared || strings.Contains(c.Name, "session") && c.Domain == "app.test"
	}
	if !shared {
		t.Error("twin: the session is not shared")
	}
}

// cookies14 uses a jar that never drops cookies, so a late callback still sends them.
func cookies14(t *T) {
	for wait, late := range map[time.Duration]bool{15*time.Minute - time.Second: false, 15*time.Minute + time.Second: true} {
		synctest.Test(t.T, func(bubble *testing.T) {
			inner := *t
			inner.T = bubble
			w := inner.EnterOffline(func(c *authsvc.Config) { c.Providers = append(c.Providers, cookiesOffline()) })
			b := w.Browser()
			state := arena.MustURL(bubble, b.Begin("plain")).Query().Get("state")
			time.Sleep(wait)
			want := "error=AccessDenied" // the state is valid, so the provider's error counts
			if late {
				want = "error=OAuthCallback"
			}
			a := w.MustRefuse(bubble, func() *browser.Answer { return b.Get("/api/auth/callback/plain?error=access_denied&state=" + state) })
			if !strings.Contains(a.Location(), want) {
				bubble.Errorf("after %v: %s", wait, a.Location())
			}
		})
	}
}

// cookiesOffline returns a provider whose redirect needs no network.
func cookiesOffline() *authsvc.OAuth {
	return &authsvc.OAuth{ID: "plain", Name: "Plain", Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret},
		Endpoints: authsvc.Endpoints{
			Authorization: "https://id.test/authorize",
			Token:         "https://id.test/token",
			UserInfo:      "https://id.test/user",
		}}
}

func cookies15(t *T) {
	get := func(_ *arena.World, b *arena.Browser, callback string) *browser.Answer { return b.Get(callback) }
	for name, run := range map[string]func(w *arena.World, b *arena.Browser, callback string) *browser.Answer{
		"success":   get,
		"IdP error": get,
		"veto":      get,
		"bad state": func(_ *arena.World, b *arena.Browser, callback string) *browser.Answer {
			u := arena.MustURL(t, callback)
			q := u.Query()
			q.Set("state", q.Get("state")+"x")
			u.RawQuery = q.Encode()
			return b.Get(u.String())
		},
		"token 500": func(w *arena.World, b *arena.Browser, callback string) *browser.Answer {
			w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}})
			return b.Get(callback)
		},
	} {
		t.Run(name, func(t *T) {
			w := t.Enter(func(c *authsvc.Config) {
				if name == "veto" {
					c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "", authsvc.ErrAccessDenied }
				}
			})
			b := w.Browser()
			start, who := b.Begin("op"), "ada"
			if name == "IdP error" {
				who = ""
			}
			a := run(w, b, b.Approve(w.OP, start, who))
			// An unknown state matches no attempt; the live one stays.
			want := map[bool]int{true: 1}[name == "bad state"]
			if left := cookiesPending(b); left != want {
				t.Errorf("%d left after %d %s", left, a.StatusCode, a.Location())
			}
			if in := a.Location() == arena.Origin && b.Email() != ""; in != (name == "success") {
				t.Errorf("signed in: %v, %s", in, a.Location())
			}
			if name != "bad state" {
				return
			}
			if a := b.Get(b.Approve(w.OP, start, "ada")); a.Location() != arena.Origin || cookiesPending(b) != 0 {
				t.Errorf("twin: the true state: %s, %d left", a.Location(), cookiesPending(b))
			}
		})
	}
}

// cookiesPending counts the sign-in attempts in a jar.
func cookiesPending(b *arena.Browser) int {
	n := 0
	for name := range b.Cookies {
		if strings.Contains(name, ".tx.") {
			n++
		}
	}
	return n
}

// cookiesOctets matches the characters of the engine's cookie values.
var cookiesOctets = regexp.MustCompile(`^[A-Za-z0-9%_.+*-]*$`)

func cookies16(t *T) {
	w := t.EnterOffline(nil)
	values := []string{"/x; Domain=evil.test", "/x;Domain=evil.test", "/\r\nSet-Cookie: x=y", "/x\r\nSet-Cookie: x=y", "/a,b", `/a"b"`, "/é", "/嘊嘍Set-Cookie:x=y",
		"/x\u2028; Path=/evil", "/%0d%0aSet-Cookie:x=y", "/%3b%20Domain=evil.test", "/\x00; Secure", "/x\t; SameSite=None"}
	refuse, allow := redirectVectors(t)
	stride := t.Stride("vectors", 9, 1, 1)
	values = append(append(values, redirectEvery(allow, stride)...), redirectEvery(refuse, stride)...)
	clean := []string{"HttpOnly", "Path=/", "SameSite=Lax", "Secure"}
	for _, v := range values {
		for _, a := range []*browser.Answer{
			w.Browser().Get("/api/auth/signin?callbackUrl=" + url.QueryEscape(v)),
			w.Browser().Post("/api/auth/signout", "callbackUrl", v),
		} {
			for _, line := range a.Header["Set-Cookie"] {
				pair, _, _ := strings.Cut(line, ";")
				name, value, _ := strings.Cut(pair, "=")
				if got := cookiesAttributes(line); !slices.Equal(got, clean) || !cookiesOctets.MatchString(value) || !strings.HasPrefix(name, "__") {
					t.Errorf("%q: %q", v, line)
				}
			}
		}
	}
	t.Figure("%d values", len(values))
	b := w.Browser()
	const odd = "/x;Domain=y,z?a=é"
	if a := b.Get("/api/auth/signin?callbackUrl=" + url.QueryEscape(odd)); redirectKept(t, w, b) != arena.Origin+"/x;Domain=y,z?a=%C3%A9" {
		t.Errorf("twin: %q is kept as %q: %v", odd, redirectKept(t, w, b), a.Header["Set-Cookie"])
	}
}

// cookies17 uses sessions of one cookie and of several, for one host and shared.
func cookies17(t *T) {
	for _, domain := range []string{"", "app.test"} {
		for _, size := range []int{0, 9000} {
			t.Run(fmt.Sprintf("domain=%s size=%d", domain, size), func(t *T) {
				w := t.EnterOffline(func(c *authsvc.Config) {
					cookiesFat(&size)(c)
					c.Cookies.Domain = domain
				})
				b := w.Browser()
				set := map[string][]string{}
				for _, line := range b.Login("ada").Header["Set-Cookie"] {
					name, _, _ := strings.Cut(line, "=")
					set[name] = cookiesAttributes(line)
				}
				names := b.SessionCookies()
				if b.Email() == "" || (len(names) > 1) != (size > 0) {
					t.Fatalf("twin: no session, or of a wrong size: %v", names)
				}
				cleared := map[string]bool{}
				for _, line := range b.Post("/api/auth/signout").Header["Set-Cookie"] {
					name, value, _ := strings.Cut(line, "=")
					if strings.HasPrefix(value, "; Max-Age=0") && slices.Equal(cookiesAttributes(line), set[name]) {
						cleared[name] = true
					}
				}
				for _, name := range names {
					if !cleared[name] {
						t.Errorf("%s is not cleared as it was set", name)
					}
				}
				if left := b.SessionCookies(); len(left) != 0 || b.Email() != "" {
					t.Errorf("left after sign-out: %v", left)
				}
			})
		}
	}
}
