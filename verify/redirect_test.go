package verify

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var redirectChecks = checks{
	"01": {title: "open redirect corpus", run: redirect01},
	"02": {title: "parser disagreement", once: true, run: redirect02, needs: []need{program("node")}},
	"03": {title: "response splitting", run: redirect03},
	"04": {title: "malformed URL hangs", run: redirect04, alone: true},
	"05": {title: "URL reflected into a page", run: redirect05},
	"06": {title: "Host poisoning", run: redirect06},
	"07": {title: "protocol spoof", run: redirect07},
	"08": {title: "spoofed client address, also behind real proxies", once: true, run: func(t *T) { redirect08(t); t.Run("proxies", redirect08Proxies) }},
	"09": {title: "credentials leak onward", run: redirect09},
	"10": {title: "covert redirect", run: redirect10},
	"11": {title: "body posted again", run: redirect11},
	"12": {title: "hostile error of a provider", run: redirect12},
	"13": {title: "redirect loop", run: redirect13},
	"15": {title: "error page abused", run: redirect15},
	"16": {title: "loose list of origins", run: redirect16},
	"17": {title: "router confusion", run: redirect17},
}

// redirectPartner is the other origin that the vectors may lead to.
const redirectPartner = "https://partner.test:8444"

// redirectVectors reads the vectors of the callback address fuzz target.
func redirectVectors(t *T) (refuse, allow []string) {
	t.Helper()
	f, err := os.Open("../engine/testdata/redirects.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, literal, _ := strings.Cut(lines.Text(), " ")
		if word == "#" {
			continue
		}
		v, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if word == "allow" {
			allow = append(allow, v)
		} else {
			refuse = append(refuse, v)
		}
	}
	if len(refuse)+len(allow) < 400 {
		t.Fatalf("only %d vectors", len(refuse)+len(allow))
	}
	return refuse, allow
}

// redirectHarmless reports whether the address leads a browser to an allowed origin:
// it is absolute, begins with the origin in canonical spelling, and contains nothing
// that parsers read differently.
func redirectHarmless(to string) bool {
	for _, o := range []string{arena.Origin, redirectPartner} {
		if rest, ok := strings.CutPrefix(to, o); ok {
			return (rest == "" || strings.IndexByte("/?#", rest[0]) >= 0) &&
				!strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\"<>'`, r) })
		}
	}
	return false
}

// redirectCookie returns the name of a world's callback-url cookie.
func redirectCookie(w *arena.World) string {
	s := w.SessionCookie()
	return s[:strings.LastIndexByte(s, '.')] + ".callback-url"
}

// redirectKept returns the address in that cookie.
func redirectKept(t *T, w *arena.World, b *arena.Browser) string {
	t.Helper()
	to, err := url.QueryUnescape(b.Cookies[redirectCookie(w)])
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// A redirectWay is a place that takes a callbackUrl. lead returns the redirect
// target, or "" if the whole request was refused.
type redirectWay struct {
	lead func(t *T, w *arena.World, b *arena.Browser, v string) string

	strategy string // "": the default
	slow     bool   // a whole sign-in
}

var redirectWays = map[string]redirectWay{
	"sign-out form": {lead: func(_ *T, _ *arena.World, b *arena.Browser, v string) string {
		return b.Post("/api/auth/signout", "callbackUrl", v).Location()
	}},
	"sign-out script": {lead: func(t *T, _ *arena.World, b *arena.Browser, v string) string {
		return redirectScripted(t, b.Post("/api/auth/signout", "callbackUrl", v, "json", "true"))
	}},
	"sign-out JSON": {lead: func(t *T, _ *arena.World, b *arena.Browser, v string) string {
		body, err := json.Marshal(map[string]any{"csrfToken": b.CSRF(), "callbackUrl": v, "json": "true"})
		if err != nil {
			t.Fatal(err)
		}
		return redirectScripted(t, b.Raw("/api/auth/signout", "application/json", string(body)))
	}},
	"sign-out query": {lead: func(_ *T, _ *arena.World, b *arena.Browser, v string) string {
		return b.Post("/api/auth/signout?callbackUrl=" + url.QueryEscape(v)).Location()
	}},
	"sign-in page": {lead: func(t *T, w *arena.World, b *arena.Browser, v string) string {
		b.Get("/api/auth/signin?callbackUrl=" + url.QueryEscape(v))
		return redirectKept(t, w, b)
	}},
	"sign-out page": {lead: func(t *T, w *arena.World, b *arena.Browser, v string) string {
		b.Get("/api/auth/signout?callbackUrl=" + url.QueryEscape(v))
		return redirectKept(t, w, b)
	}},
	"cookie": {lead: func(_ *T, w *arena.World, b *arena.Browser, v string) string {
		b.Cookies[redirectCookie(w)] = url.QueryEscape(v)
		return b.Post("/api/auth/signout").Location()
	}},
	"credentials": {strategy: "jwt", lead: func(_ *T, _ *arena.World, b *arena.Browser, v string) string {
		return b.Login("ada", "callbackUrl", v).Location()
	}},
	"start at a provider": {lead: func(t *T, w *arena.World, b *arena.Browser, v string) string {
		b.Post("/api/auth/signin/plain", "callbackUrl", v)
		return redirectKept(t, w, b)
	}},
	"link request": {lead: func(t *T, w *arena.World, b *arena.Browser, v string) string {
		b.Post("/api/auth/signin/email", "email", "x@app.test", "callbackUrl", v)
		return redirectKept(t, w, b)
	}},
	"mail link": {slow: true, lead: func(t *T, w *arena.World, b *arena.Browser, v string) string {
		b.Post("/api/auth/signin/email", "email", "x@app.test")
		u := arena.MustURL(t, arena.Link(t, w.Mail.Next(t)))
		q := u.Query()
		q.Set("callbackUrl", v)
		u.RawQuery = q.Encode()
		a := b.Get(u.String())
		if b.Email() != "x@app.test" {
			t.Fatalf("no sign-in: %s", a.Location())
		}
		return a.Location()
	}},
}

// redirectScripted returns the address in an answer to a script.
func redirectScripted(t *T, a *browser.Answer) string {
	t.Helper()
	if a.StatusCode == http.StatusBadRequest {
		return ""
	}
	return a.URL(t)
}

// redirectEvery returns every nth element of a list.
func redirectEvery(list []string, n int) []string {
	var some []string
	for i := 0; i < len(list); i += n {
		some = append(some, list[i])
	}
	return some
}

func redirect01(t *T) {
	refuse, allow := redirectVectors(t)
	t.Figure("%d vectors", len(refuse)+len(allow))
	stride := t.Stride("vectors in 11 ways", 9, 1, 1)
	slow := t.Stride("vectors in ways with a whole sign-in", 60, 12, 1)
	for name, way := range redirectWays {
		t.Run(name, func(t *T) {
			n := stride
			if way.slow {
				n = slow
			}
			w := t.EnterOffline(func(c *authsvc.Config) {
				c.AllowedRedirects, c.Session.Strategy = []string{redirectPartner}, authsvc.Strategy(way.strategy)
				c.Providers = append(c.Providers, cookiesOffline())
			})
			redirectTry(t, redirectEvery(refuse, n), redirectEvery(allow, n), func(v string) string { return way.lead(t, w, w.Browser(), v) })
		})
	}
	t.Run("OpenID", func(t *T) {
		w := t.Enter(func(c *authsvc.Config) { c.AllowedRedirects = []string{redirectPartner} })
		redirectTry(t, redirectEvery(refuse, slow), redirectEvery(allow, slow), func(v string) string {
			b := w.Browser()
			a := b.Post("/api/auth/signin/op", "callbackUrl", v)
			if a.StatusCode == http.StatusBadRequest {
				return ""
			}
			return b.Get(b.Approve(w.OP, a.Location(), "ada")).Location()
		})
	})
}

// redirectTry checks that refused values lead to the origin and allowed ones to an
// allowed origin. Requests that are not UTF-8 may be refused completely.
func redirectTry(t *T, refuse, allow []string, lead func(v string) string) {
	t.Helper()
	for _, v := range refuse {
		if to := lead(v); to != arena.Origin && (to != "" || utf8.ValidString(v)) {
			t.Errorf("%q leads to %q", v, to)
		}
	}
	for _, v := range allow {
		to := lead(v)
		if !redirectHarmless(to) {
			t.Errorf("%q leads to %q", v, to)
		}
		if to == arena.Origin && !strings.HasPrefix(strings.ToLower(v), arena.Origin) {
			t.Errorf("twin: %q is refused", v)
		}
	}
}

func redirect16(t *T) {
	w := t.EnterOffline(func(c *authsvc.Config) { c.AllowedRedirects = []string{"https://a.test"} })
	b := w.Browser()
	for _, v := range []string{"http://a.test", "https://a.test:8443", "https://a.test:80", "https://xa.test", "https://a.test.evil", "https://a.testx", "https://b.a.test",
		"https://a.test@evil.test", "https://a.test.", "https://a-test", "https://aXtest", "https://a.tes", "//a.test", "wss://a.test", "https:a.test", "https://evil.test/https://a.test"} {
		if to := b.Post("/api/auth/signout", "callbackUrl", v).Location(); to != arena.Origin {
			t.Errorf("%s leads to %s", v, to)
		}
	}
	for _, v := range []string{"https://a.test/x", "https://A.test:443/x", "HTTPS://a.test/x"} {
		if to := b.Post("/api/auth/signout", "callbackUrl", v).Location(); to != "https://a.test/x" {
			t.Errorf("twin: %s leads to %s", v, to)
		}
	}
}

// redirectOnward lists texts that no redirect may pass on to the application.
var redirectOnward = []string{"code=", "state=", "token", "email", "example.com", "%40", "@"}

// redirect09 checks that the last address of a sign-in contains only the
// application's own data. Pages with a form send strict-origin, which has neither
// path nor query: with no-referrer, Chromium would post "Origin: null".
func redirect09(t *T) {
	w := t.Enter(func(c *authsvc.Config) { cookiesKinds(c) })
	see := func(a *browser.Answer) *browser.Answer {
		t.Helper()
		policy := a.Header.Get("Referrer-Policy")
		page := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
		if policy != "no-referrer" && !(page && policy == "strict-origin") {
			t.Errorf("Referrer-Policy %q of %d %s", policy, a.StatusCode, a.Header.Get("Content-Type"))
		}
		return a
	}
	final := func(name string, a *browser.Answer) {
		t.Helper()
		to := see(a).Location()
		if to != arena.Origin+"/in" || slices.ContainsFunc(redirectOnward, func(s string) bool { return strings.Contains(to, s) }) {
			t.Errorf("%s ends at %q", name, to)
		}
	}
	for provider, who := range map[string]string{"op": "ada", "plain": "grace", "old": "alan"} {
		b := w.Browser()
		see(b.Get("/api/auth/signin?callbackUrl=/in"))
		start := see(b.Post("/api/auth/signin/"+provider, "callbackUrl", "/in"))
		final(provider, b.Get(b.Approve(w.OP, start.Location(), who)))
		see(b.Get("/api/auth/signout"))
		final("sign-out", b.Post("/api/auth/signout", "callbackUrl", "/in"))
	}
	b, other := w.Browser(), w.Browser()
	see(b.Post("/api/auth/signin/email", "email", "m@app.test", "callbackUrl", "/in"))
	see(b.Get("/api/auth/verify-request"))
	link := arena.Link(t, w.Mail.Next(t))
	page := see(other.Get(link))
	if page.StatusCode != 200 || !strings.Contains(page.Text, `name="token"`) {
		t.Errorf("no page that asks: %d", page.StatusCode)
	}
	final("mail", b.Get(link))
	b.Post("/api/auth/signin/email", "email", "m@app.test", "callbackUrl", "/in")
	q := arena.MustURL(t, arena.Link(t, w.Mail.Next(t))).Query()
	final("mail elsewhere", other.Post("/api/auth/callback/email", "email", q.Get("email"), "token", q.Get("token"), "callbackUrl", q.Get("callbackUrl")))
	for _, path := range []string{"/error", "/error?error=AccessDenied", "/session", "/csrf", "/providers", "/nope", "/client.js"} {
		see(other.Get("/api/auth" + path))
	}
}

// redirect13 follows a sign-in whose target is the start of a sign-in.
func redirect13(t *T) {
	w := t.Enter(nil)
	for _, v := range []string{"/api/auth/signin", "/api/auth", "/api/auth/signout", "/api/auth/callback/op", "/api/auth/callback/email", "/api/auth/error", "/api/auth/error?error=Callback",
		"/api/auth/signin?callbackUrl=/api/auth/signin", "/api/auth/error/Signin", "/api/auth/verify-request", "/api/auth/signin/op", "/in"} {
		b := w.Browser()
		a := b.SignIn(w.OP, "ada", "callbackUrl", v)
		hops := 0
		for ; a.StatusCode == http.StatusFound && a.Location() != arena.Origin+"/in" && hops < 10; hops++ {
			a = b.Get(a.Location())
		}
		if hops > 5 || a.StatusCode >= 500 {
			t.Errorf("%s: %d after %d hops", v, a.StatusCode, hops)
		}
		if b.Email() != "ada@example.com" {
			t.Errorf("twin: %s: no one is signed in at the end", v)
		}
	}
}
