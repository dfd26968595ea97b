package verify

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/text/pages"
)

// redirectHeaders lists all headers that the engine sends.
var redirectHeaders = map[string]bool{"X-Content-Type-Options": true, "Referrer-Policy": true, "Cross-Origin-Resource-Policy": true, "Cache-Control": true,
	"Pragma": true, "Expires": true, "Set-Cookie": true, "Location": true, "Content-Type": true, "Content-Security-Policy": true, "X-Frame-Options": true,
	"Cross-Origin-Opener-Policy": true, "Permissions-Policy": true, "Date": true, "Content-Length": true, "Connection": true, "Transfer-Encoding": true}

// redirect03 sends each value encoded and literally, over a socket.
func redirect03(t *T) {
	w := t.EnterOffline(nil)
	wire := redirectWire(t, w)
	b := w.Browser()
	token := b.CSRF()
	for _, v := range []string{"/\r\nSet-Cookie: x=y", "/%0d%0aSet-Cookie:x=y", "/嘊嘍Set-Cookie:x=y", "/\nX-Injected: y", "/\rX-Injected: y", "/\u0085X-Injected: y", "/\u2028X-Injected: y",
		"/\r\n\r\n<script>alert(1)</script>", "/x; Domain=evil.test", "\r\nX-Injected: y", "https://app.test\r\nX-Injected: y", "/%E5%98%8A%E5%98%8DX-Injected:y"} {
		escaped := url.QueryEscape(v)
		for name, request := range map[string]string{
			"sign-in page":    redirectHead("GET", b, "/api/auth/signin?callbackUrl="+escaped+"&error="+escaped, "app.test", ""),
			"sign-out page":   redirectHead("GET", b, "/api/auth/signout?callbackUrl="+escaped, "app.test", ""),
			"error page":      redirectHead("GET", b, "/api/auth/error?error="+escaped+"&request="+escaped, "app.test", ""),
			"error word":      redirectHead("GET", b, "/api/auth/error/"+url.PathEscape(v), "app.test", ""),
			"callback":        redirectHead("GET", b, "/api/auth/callback/email?token=x&email=x&callbackUrl="+escaped, "app.test", ""),
			"as it is":        redirectHead("GET", b, "/api/auth/signin?callbackUrl="+v, "app.test", ""),
			"sign-out":        redirectPost(b, "/api/auth/signout", "app.test", "", url.Values{"csrfToken": {token}, "callbackUrl": {v}}),
			"sign-out, raw":   redirectPost(b, "/api/auth/signout?callbackUrl="+v, "app.test", "", url.Values{"csrfToken": {token}}),
			"sign-in by mail": redirectPost(b, "/api/auth/signin/email", "app.test", "", url.Values{"csrfToken": {token}, "email": {"a@b.test"}, "callbackUrl": {v}}),
		} {
			a := wire(request)
			for header, lines := range a.Header {
				for _, line := range lines {
					if !redirectHeaders[header] && a.StatusCode != 400 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || strings.HasPrefix(line, "x=") {
						t.Errorf("%s, %q: header %s: %q", name, v, header, line)
					}
				}
			}
			if a.StatusCode >= 500 || strings.Contains(a.Text, "<script>alert") {
				t.Errorf("%s, %q: %d", name, v, a.StatusCode)
			}
		}
	}
	if a := wire(redirectPost(b, "/api/auth/signout", "app.test", "", url.Values{"csrfToken": {token}, "callbackUrl": {"/x%0Ay"}})); a.Location() != arena.Origin+"/x%0Ay" {
		t.Errorf("twin: %d %s", a.StatusCode, a.Location())
	}
}

func redirect04(t *T) {
	w := t.EnterOffline(nil)
	wire := redirectWire(t, w)
	slowest := time.Duration(0)
	for _, v := range []string{"%zz", "http://[", "http://[::1", strings.Repeat("a", 1<<20), "/" + strings.Repeat("a", 1<<14), "\x00", "%00", "%ed%a0%80", "\xed\xa0\x80", "\xff",
		strings.Repeat("%", 2000), "https://" + strings.Repeat("[", 1000), "https://app.test:99999", "https://app.test:x", "https://" + strings.Repeat("a.", 900), strings.Repeat("%2f", 600)} {
		b := w.Browser()
		fastest := time.Hour // of three, because other checks run at the same time
		for range 3 {
			began := time.Now()
			a := wire(redirectHead("GET", b, "/api/auth/signin?callbackUrl="+v, "app.test", ""))
			if ok := a.StatusCode == 200 || a.StatusCode == 400 || a.StatusCode == 431; !ok {
				t.Errorf("%.40q: %d", v, a.StatusCode)
			}
			fastest = min(fastest, time.Since(began))
		}
		body := url.Values{"csrfToken": {b.CSRF()}, "callbackUrl": {v}}.Encode()
		quickest := time.Hour
		for range 3 {
			began := time.Now()
			a := b.Clone().Raw("/api/auth/signout", "application/x-www-form-urlencoded", body)
			if ok := a.Location() == arena.Origin || strings.HasPrefix(a.Location(), arena.Origin+"/") || a.StatusCode == 400 || a.StatusCode == 413; !ok {
				t.Errorf("%.40q: %d %s", v, a.StatusCode, a.Location())
			}
			quickest = min(quickest, time.Since(began))
		}
		slowest = max(slowest, fastest, quickest)
	}
	if t.Figure("%v at most", slowest.Round(time.Millisecond)); measures() && slowest > 50*time.Millisecond {
		t.Errorf("%v", slowest)
	}
	if a := wire(redirectHead("GET", w.Browser(), "/api/auth/signin?callbackUrl=%2Fx", "app.test", "")); a.StatusCode != 200 || !strings.Contains(a.Text, arena.Origin+"/x") {
		t.Errorf("twin: %d", a.StatusCode)
	}
}

// redirectLinks returns the addresses in a page: links, and hidden fields that are
// posted.
func redirectLinks(t *T, page string) (links []string, scripts int) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "script" {
			scripts++
		}
		name := ""
		for _, a := range n.Attr {
			if a.Key == "name" {
				name = a.Val
			}
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "href", a.Key == "src", a.Key == "action", a.Key == "formaction", a.Key == "srcdoc", a.Key == "value" && name == "callbackUrl":
				links = append(links, a.Val)
			case strings.HasPrefix(a.Key, "on"):
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			}
		}
	}
	return links, scripts
}

// ownScripts returns how many of a page's scripts are exactly ours.
func ownScripts(page string) (n int) {
	seen := map[string]bool{}
	for _, script := range pages.Scripts() {
		if !seen[script] {
			seen[script] = true
			n += strings.Count(page, ">"+script+"</script>")
		}
	}
	return n
}

// redirect05 covers the handler: it checks the parsed page.
func redirect05(t *T) {
	w := t.Enter(nil)
	in := w.Browser()
	in.SignIn(w.OP, "ada")
	refuse, _ := redirectVectors(t)
	hostile := append(redirectEvery(refuse, 25), `"><script>alert(1)</script>`, "javascript:alert(1)", "/\"><img src=x onerror=alert(1)>", "/' onfocus=alert(1) autofocus x='",
		"data:text/html,<script>alert(1)</script>", "/</script><script>alert(1)</script>", "https://app.test/\"><svg onload=alert(1)>", "JaVaScRiPt:alert(1)", "/{{.CSRFToken}}", "vbscript:x")
	for _, v := range hostile {
		for _, b := range []*arena.Browser{w.Browser(), in.Clone()} {
			for _, path := range []string{"signin", "signin/op", "signout", "error", "verify-request"} {
				a := b.Get("/api/auth/" + path + "?callbackUrl=" + url.QueryEscape(v))
				links, scripts := redirectLinks(t, a.Text)
				for _, to := range links {
					if !redirectHarmless(to) {
						t.Errorf("%s: %q stands in the page as %q", path, v, to)
					}
				}
				if a.StatusCode != 200 || scripts != ownScripts(a.Text) || len(links) < 3 {
					t.Errorf("%s: %q: %d, %d scripts, %d addresses", path, v, a.StatusCode, scripts, len(links))
				}
			}
		}
	}
	links, _ := redirectLinks(t, in.Get("/api/auth/signin?callbackUrl=/in").Text)
	if !strings.Contains(strings.Join(links, " "), arena.Origin+"/in") {
		t.Errorf("twin: %q", links)
	}
}

// redirect10 sends every parameter to every route with an address on another site.
func redirect10(t *T) {
	w := t.Enter(func(c *authsvc.Config) {
		cookiesKinds(c)
		c.Providers[0].(*authsvc.OAuth).LogoutAtProvider = true
	})
	params := []string{"callbackUrl", "callbackURL", "callback_url", "redirect", "redirectTo", "redirect_uri", "url", "returnTo", "return_to", "next", "error", "error_uri", "error_description",
		"code", "state", "iss", "id_token", "oauth_token", "oauth_callback", "provider", "email", "token", "post_logout_redirect_uri", "request", "csrf", "login_hint", "prompt", "issuer", "request_uri", "ui_locales"}
	paths := []string{"", "/signin", "/signin/op", "/signin/plain", "/signin/old", "/signin/apple", "/signin/email", "/callback/op", "/callback/plain", "/callback/old", "/callback/apple", "/callback/email",
		"/callback/credentials", "/signout", "/signout/provider", "/signout/return", "/session", "/csrf", "/providers", "/error", "/error/AccessDenied", "/verify-request", "/_log", "/client.js", "/account", "/account/profile", "/account/unlink", "/account/signout", "/account/undo", "/account/export", "/account.js", "/confirm", "/backchannel-logout/op"}
	paths = withDescribed(t, paths)
	in := w.Browser()
	in.SignIn(w.OP, "ada")
	requests, away, stride := 0, 0, t.Stride("parameters", 5, 1, 1)
	for i, path := range paths {
		for _, p := range redirectEvery(params[i%stride:], stride) {
			for _, v := range []string{"https://evil.test/x", "//evil.test"} {
				q := url.Values{p: {v}}
				for _, b := range []*arena.Browser{w.Browser(), in.Clone()} {
					if b.CSRF(); path == "/signin/old" && v != "//evil.test" {
						continue // each requests a token from the provider
					}
					asGet := b.Clone().Get("/api/auth" + path + "?" + q.Encode())
					asForm := b.Clone().Form("/api/auth"+path+"?"+q.Encode(), with(q, "csrfToken", b.CSRF()))
					for _, a := range []*browser.Answer{asGet, asForm} {
						requests++
						to := a.Location()
						if to == "" || to == arena.Origin || strings.HasPrefix(to, arena.Origin+"/") {
							continue
						}
						if away++; !redirectConfigured(w, to) {
							t.Errorf("%s with %s=%s leads to %s", path, p, v, to)
						}
					}
				}
			}
		}
	}
	if t.Figure("%d requests, %d of them sent to a configured provider", requests, away); away == 0 {
		t.Error("twin: nothing leads to a provider")
	}
}

// redirectConfigured reports whether the address is an endpoint of the provider
// without a parameter that leads to another site.
func redirectConfigured(w *arena.World, to string) bool {
	for _, path := range []string{"/authorize?", "/oauth2/authorize?", "/oauth1/authorize?"} {
		if query, ok := strings.CutPrefix(to, w.OP.Issuer()+path); ok {
			q, err := url.ParseQuery(query)
			back := q.Get("redirect_uri")
			return err == nil && (back == "" || strings.HasPrefix(back, arena.Origin+"/api/auth/callback/")) && q.Get("request_uri") == ""
		}
	}
	return false
}

// redirect11 checks that no redirect makes a browser repost the body.
func redirect11(t *T) {
	w := t.Enter(cookiesKinds)
	found := 0
	for _, signedIn := range []bool{false, true} {
		for _, token := range []bool{true, false} {
			for _, path := range []string{"/signin/op", "/signin/plain", "/signin/old", "/signin/apple", "/signin/email", "/signout", "/callback/credentials", "/callback/email", "/callback/apple", "/callback/op", "/session"} {
				b := w.Browser()
				if signedIn {
					b.SignIn(w.OP, "ada")
				}
				form := url.Values{"email": {"a@b.test"}, "username": {"ada"}, "password": {"secret-password"}, "callbackUrl": {"/x"}}
				if token {
					form.Set("csrfToken", b.CSRF())
				}
				a := b.Form("/api/auth"+path, form)
				if a.StatusCode >= 300 && a.StatusCode < 400 {
					if found++; a.StatusCode != http.StatusFound && a.StatusCode != http.StatusSeeOther {
						t.Errorf("%s: %d", path, a.StatusCode)
					}
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("twin: only %d redirects", found)
	}
}

func redirect12(t *T) {
	w := t.Enter(nil)
	texts := []string{`x"><script>alert(1)</script>`, "<img src=x onerror=alert(1)>", "javascript:alert(1)", strings.Repeat("alert", 200), "alert\r\nX-Injected: y", "AccessDenied alert", "Configuration"}
	for _, text := range texts {
		b := w.Browser()
		state := arena.MustURL(t, b.Begin("op")).Query().Get("state")
		q := url.Values{"state": {state}, "error": {text}, "error_description": {"<script>alert(2)</script>"}, "error_uri": {"javascript:alert(3)"}, "error_uri2": {"https://evil.test"}}
		a := w.MustRefuse(t, func() *browser.Answer { return b.Get("/api/auth/callback/op?" + q.Encode()) })
		if !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/error?error=OAuthCallback&request=") {
			t.Errorf("%q: %s", text, a.Location())
		}
		for hops := 0; a.StatusCode == http.StatusFound && hops < 3; hops++ {
			a = b.Get(a.Location())
		}
		if a.StatusCode != 200 || strings.Contains(a.Text, "alert(") || strings.Contains(a.Text, "alertalert") || strings.Contains(a.Text, "evil.test") {
			t.Errorf("%q: %d, reflected: %s", text, a.StatusCode, a.Text)
		}
	}
	for line := range strings.Lines(w.Logs.String()) {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("a line of the log that is not ours: %q", line)
		}
	}
	b := w.Browser()
	if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
	denied := w.Browser()
	if a := denied.Get(denied.Approve(w.OP, denied.Begin("op"), "")); !strings.Contains(a.Location(), "error=AccessDenied") {
		t.Errorf("twin: a person who does not consent: %s", a.Location())
	}
}

// redirect15 checks that all unknown error codes give the same page.
func redirect15(t *T) {
	w := t.EnterOffline(nil)
	words := []string{strings.Repeat("Lies ", 2000), strings.Repeat("Lies", 10), "<script>alert(1)</script>", "Dial us: 555", "Dial%20us", "__proto__", "constructor", "toString", "Default", "Nope", "AccessDenied ", "Accessdenied\x00", "%00", "\u200bAccessDenied"}
	if t.Mode == modeNone { // in the other modes, codes ignore case
		words = append(words, "accessdenied")
	}
	want := ""
	for _, word := range words {
		for _, request := range []string{"", "&request=" + url.QueryEscape("call 555-0100"), "&request=" + strings.Repeat("f", 4000)} {
			a := w.Browser().Get("/api/auth/error?error=" + url.QueryEscape(word) + request)
			if want == "" {
				want = a.Text
			}
			if a.StatusCode != 200 || a.Text != want || strings.Contains(a.Text, "Lies") || strings.Contains(a.Text, "Dial") || strings.Contains(a.Text, "555") {
				t.Errorf("%.40q: %d %.300s", word, a.StatusCode, a.Text)
			}
		}
		a := w.Browser().Get("/api/auth/signin?error=" + url.QueryEscape(word))
		if strings.Contains(a.Text, "Lies") || strings.Contains(a.Text, "alert(1)") || strings.Contains(a.Text, "Dial") || strings.Contains(a.Text, "__proto__") {
			t.Errorf("the sign-in page shows %.40q", word)
		}
	}
	if a := w.Browser().Get("/api/auth/error?error=AccessDenied"); a.StatusCode != 403 || a.Text == want {
		t.Errorf("twin: a word of ours: %d", a.StatusCode)
	}
}

// redirect08 checks that the right-most hop that is not a trusted proxy counts, for
// limits and in the audit log.
func redirect08(t *T) {
	for name, cell := range map[string]struct {
		peer  string
		chain func(i int) []string
		want  string
	}{
		"no proxy":                   {"203.0.113.7:1", func(int) []string { return nil }, "203.0.113.7"},
		"untrusted peer":             {"203.0.113.7:1", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d", i)} }, "203.0.113.7"},
		"untrusted peer, long chain": {"203.0.113.7:1", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d, 10.0.0.2", i)} }, "203.0.113.7"},
		"trusted peer":               {"10.0.0.1:1", func(int) []string { return []string{"198.51.100.9"} }, "198.51.100.9"},
		"forged in front":            {"10.0.0.1:1", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d, 198.51.100.9", i)} }, "198.51.100.9"},
		"two proxies":                {"10.0.0.1:1", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d, 198.51.100.9, 10.0.0.2", i)} }, "198.51.100.9"},
		"two lines":                  {"10.0.0.1:1", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d", i), "198.51.100.9, 10.0.0.2"} }, "198.51.100.9"},
		"forged as a proxy":          {"10.0.0.1:1", func(i int) []string { return []string{fmt.Sprintf("10.0.9.%d, 198.51.100.9", i)} }, "198.51.100.9"},
		"garbage in front":           {"10.0.0.1:1", func(i int) []string { return []string{fmt.Sprintf("evil-%d, 198.51.100.9", i)} }, "198.51.100.9"},
		"IPv4 in IPv6":               {"[::ffff:10.0.0.1]:1", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d, ::ffff:198.51.100.9", i)} }, "198.51.100.9"},
	} {
		t.Run(name, func(t *T) {
			var clients []string
			w := t.EnterOffline(func(c *authsvc.Config) {
				c.RateLimit.Disabled, c.RateLimit.SignIn = false, authsvc.Rate{N: 10, Per: time.Hour}
				c.TrustedProxies = redirectProxies()
				c.Events.Audit = redirectClients(&clients)
			})
			passed := 0
			for i := range 30 {
				b := w.Browser()
				b.IP = cell.peer
				b.Header["X-Forwarded-For"] = cell.chain(i)
				if a := redirectGuess(b, i); a.StatusCode == 302 {
					passed++
				}
			}
			if passed != 10 {
				t.Errorf("%d passed", passed)
			}
			for _, c := range clients {
				if c != cell.want {
					t.Errorf("the log names %s, want %s", c, cell.want)
				}
			}
			if len(clients) != 2 { // the first password and the first one over the limit; further ones are only counted
				t.Errorf("the log names clients %d times", len(clients))
			}
			other := w.Browser()
			other.IP = "10.0.0.1:1"
			other.Header.Set("X-Forwarded-For", "198.51.100.77")
			if a := redirectGuess(other, 99); a.StatusCode != 302 || !slices.Contains(clients, "198.51.100.77") {
				t.Errorf("twin: another client behind the proxy: %d, %q", a.StatusCode, clients)
			}
		})
	}
}

// redirectGuess tries a password, each time at another account.
func redirectGuess(b *arena.Browser, i int) *browser.Answer {
	return b.Post("/api/auth/callback/credentials", "username", fmt.Sprint("somebody", i), "password", "wrong")
}

// redirect02 compares the service's decisions with another URL parser: it parses each
// accepted input relative to the service, and the redirect target.
func redirect02(t *T) {
	refuse, allow := redirectVectors(t)
	w := t.EnterOffline(func(c *authsvc.Config) { c.AllowedRedirects = []string{redirectPartner} })
	b := w.Browser()
	token := b.CSRF()
	var inputs, outputs []string
	for _, v := range redirectMutants(append(refuse, allow...), t.Scale("mutants", 3000, 60_000, 3_000_000)) {
		a := b.Clone().Form("/api/auth/signout", url.Values{"csrfToken": {token}, "callbackUrl": {v}})
		if to := a.Location(); to != "" && to != arena.Origin {
			inputs, outputs = append(inputs, v), append(outputs, to)
		}
	}
	theirs := redirectNode(t, append(inputs, outputs...))
	for i, v := range inputs {
		in, out := theirs[i], theirs[len(inputs)+i]
		if in != out || out != arena.Origin && out != redirectPartner {
			t.Errorf("%q leads to %q; for the other parser these are of %q and %q", v, outputs[i], in, out)
		}
	}
	if t.Figure("%d of them accepted", len(inputs)); len(inputs) < 100 {
		t.Error("twin: hardly anything is accepted")
	}
}
