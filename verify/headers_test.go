package verify

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var headersChecks = checks{
	"01": {title: "Content-Security-Policy of every page", run: headers01},
	"02": {title: "sniffing and types", run: headers02},
	"03": {title: "caching", run: headers03},
	"04": {title: "HSTS, COOP, CORP, Permissions-Policy", once: true, run: headers04},
	"06": {title: "GET providers discloses only what it must", run: headers06},
	"07": {title: "third-party content", run: headers07},
	"09": {title: "page variables set by the query", run: headers09},
}

// headersKinds adds providers of every kind that has pages.
func headersKinds(c *authsvc.Config) {
	cookiesKinds(c)
	op := c.Providers[0].(*authsvc.OAuth)
	op.LogoutAtProvider, op.Endpoints.EndSession = true, op.Issuer+"/end"
}

// headersPages opens every reachable built-in page and returns them by name.
func headersPages(t *T, w *arena.World) map[string]*browser.Answer {
	t.Helper()
	out, in, other, left := w.Browser(), w.Browser(), w.Browser(), w.Browser()
	in.SignIn(w.OP, "ada")
	left.SignIn(w.OP, "ada")
	out.Post("/api/auth/signin/email", "email", "m@app.test")
	answer, err := w.OP.Approve(out.Begin("apple"), "katherine")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]*browser.Answer{
		"verify-request":   out.Get("/api/auth/verify-request"),
		"confirm":          other.Get(arena.Link(t, w.Mail.Next(t))),
		"repost":           w.Browser().Form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "cross-site"),
		"signout-provider": left.Get(left.Post("/api/auth/signout").Location()),
		"cross-site":       out.Clone().Form("/api/auth/signout", url.Values{"csrfToken": {"x"}}, "Sec-Fetch-Site", "cross-site"),
		"signin":           out.Get("/api/auth/signin"), "signin in": in.Get("/api/auth/signin"), "signin of a provider": out.Get("/api/auth/signin/op"),
		"signin csrf": out.Get("/api/auth/signin?csrf=true"), "signin error": out.Get("/api/auth/signin?error=OAuthCallback"),
		"signout": out.Get("/api/auth/signout"), "signout in": in.Get("/api/auth/signout"), "signout csrf": in.Get("/api/auth/signout?csrf=true"),
	}
	for _, code := range []string{"Configuration", "AccessDenied", "Verification", "RateLimited", "Default"} {
		pages["error "+code] = out.Get("/api/auth/error?error=" + code)
	}
	for name, a := range pages {
		if a.Header.Get("Content-Type") != "text/html; charset=utf-8" || len(a.Text) < 300 {
			t.Errorf("%s is not a page: %d %s", name, a.StatusCode, a.Header.Get("Content-Type"))
		}
	}
	return pages
}

// headersPolicy returns a Content-Security-Policy by directive.
func headersPolicy(a *browser.Answer) map[string]string {
	policy := map[string]string{}
	for part := range strings.SplitSeq(a.Header.Get("Content-Security-Policy"), "; ") {
		name, value, _ := strings.Cut(part, " ")
		policy[name] = value
	}
	return policy
}

// headers01 checks the policies. Pages whose form may lead to an identity provider or
// an application elsewhere have no form-action: Chromium applies it to each redirect
// that answers the form.
func headers01(t *T) {
	w := t.Enter(headersKinds)
	leads, submitted := []string{"signin", "signout", "verify-request", "confirm", "repost", "signout-provider"}, []string{"repost", "signout-provider"}
	scripted := append([]string{"signin", "verify-request"}, submitted...)
	for name, a := range headersPages(t, w) {
		p := headersPolicy(a)
		page, _, _ := strings.Cut(name, " ")
		for directive, want := range map[string]string{"default-src": "'none'", "base-uri": "'none'", "frame-ancestors": "'none'", "style-src": "'self'", "img-src": "'self' data:"} {
			if p[directive] != want {
				t.Errorf("%s: %s is %q", name, directive, p[directive])
			}
		}
		if got, open := p["form-action"], slices.Contains(leads, page); open && got != "" || !open && got != "'self'" {
			t.Errorf("%s: form-action %q", name, got)
		}
		_, scripts := redirectLinks(t, a.Text)
		script, most := p["script-src"], 0
		if slices.Contains(scripted, page) {
			most = 1
		}
		least := 0
		if slices.Contains(submitted, page) {
			least = 1
		}
		if scripts < least || scripts > most || (script != "") != (most == 1) || script != "" && (!strings.HasPrefix(script, "'sha256-") || strings.Contains(script, " ")) {
			t.Errorf("%s: %d scripts, script-src %q", name, scripts, script)
		}
		if got := p["connect-src"]; page == "verify-request" && got != "'self'" || page != "verify-request" && got != "" {
			t.Errorf("%s: connect-src %q", name, got)
		}
		if all := a.Header.Get("Content-Security-Policy"); strings.Contains(all, "unsafe") || strings.Contains(all, "*") || strings.Contains(all, "http") || len(a.Header["Content-Security-Policy"]) != 1 {
			t.Errorf("%s: %q", name, all)
		}
		if a.Header.Get("X-Frame-Options") != "DENY" || strings.Contains(a.Text, " style=") || strings.Contains(a.Text, "<style") {
			t.Errorf("%s: may be framed, or has styles that the policy forbids", name)
		}
	}
}

// A headersSeen is an answer and its request.
type headersSeen struct {
	what string
	*browser.Answer
}

var describedPath = regexp.MustCompile(`(?m)^  /api/auth(/[^{}:]*):$`)

// withDescribed adds the paths that docs/openapi.yaml has without parameters.
func withDescribed(t *T, paths []string) []string {
	t.Helper()
	raw, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	described := describedPath.FindAllSubmatch(raw, -1)
	if len(described) < 30 {
		t.Fatalf("%d paths are described", len(described))
	}
	for _, path := range described {
		if !slices.Contains(paths, string(path[1])) {
			paths = append(paths, string(path[1]))
		}
	}
	return paths
}

// headersEvery requests every route with every method, signed in and not, with valid
// and invalid input.
func headersEvery(t *T, w *arena.World) (list []headersSeen) {
	t.Helper()
	paths := []string{"", "/signin", "/signin/op", "/signin/email", "/callback/op", "/callback/op?state=x&code=y", "/callback/email", "/callback/credentials", "/callback/apple", "/signout", "/signout/provider", "/signout/return", "/session", "/csrf", "/providers",
		"/account", "/account/profile", "/account/unlink", "/account/signout", "/account/undo", "/account/delete", "/account/delete?done=scheduled", "/account/keep", "/account/keep?done=kept", "/account/export", "/account.js", "/confirm", "/error", "/error?error=AccessDenied", "/error/Callback", "/verify-request", "/_log", "/client.js", "/nope", "/signin/nope", "/backchannel-logout/op"}
	paths = withDescribed(t, paths)
	out, in := w.Browser(), w.Browser()
	in.SignIn(w.OP, "ada")
	for who, b := range map[string]*arena.Browser{"nobody": out, "ada": in} {
		token := b.CSRF()
		for _, path := range paths {
			full := "/api/auth" + path
			keep := func(what string, a *browser.Answer) {
				list = append(list, headersSeen{who + " " + what + " " + path, a})
			}
			keep("GET", b.Clone().Get(full))
			keep("POST", b.Clone().Form(full, url.Values{"csrfToken": {token}}))
			keep("POST of a script", b.Clone().Form(full, url.Values{"csrfToken": {token}, "json": {"true"}, "username": {"nobody"}, "password": {"x"}}))
			keep("POST without token", b.Clone().Form(full, url.Values{}))
			keep("POST of text", b.Clone().Raw(full, "text/plain", "x"))
			keep("POST across sites", b.Clone().Form(full, url.Values{"csrfToken": {token}}, "Sec-Fetch-Site", "cross-site"))
			for _, method := range []string{"HEAD", "PUT", "OPTIONS"} {
				r := httptest.NewRequest("GET", arena.Origin+full, nil)
				r.Method = method
				keep(method, b.Clone().Do(r))
			}
		}
	}
	for _, a := range headersPages(t, w) {
		list = append(list, headersSeen{"page", a})
	}
	links, _ := redirectLinks(t, out.Get("/api/auth/signin").Text)
	style := links[slices.IndexFunc(links, func(s string) bool { return strings.HasSuffix(s, ".css") })]
	list = append(list, headersSeen{"style", out.Get(style)})
	t.Figure("%d answers", len(list))
	return list
}

func headers02(t *T) {
	w := t.Enter(headersKinds)
	types := map[string]int{}
	for _, a := range headersEvery(t, w) {
		kind := a.Header.Get("Content-Type")
		types[kind]++
		want := ""
		switch {
		case a.Text == "":
		case strings.HasPrefix(a.Text, "<!doctype html>"):
			want = "text/html; charset=utf-8"
		case json.Valid([]byte(a.Text)):
			want = "application/json; charset=utf-8"
		case a.what == "style":
			want = "text/css; charset=utf-8"
		case strings.HasSuffix(a.what, "GET /client.js"), strings.HasSuffix(a.what, "GET /account.js"):
			want = "text/javascript; charset=utf-8"
		default:
			want = "text/plain; charset=utf-8"
		}
		if kind != want || !slices.Equal(a.Header["X-Content-Type-Options"], []string{"nosniff"}) {
			t.Errorf("%s: %d, type %q, want %q, %q", a.what, a.StatusCode, kind, want, a.Header["X-Content-Type-Options"])
		}
	}
	if len(types) != 6 { // including the type of empty answers
		t.Errorf("twin: types %v", types)
	}
}

// headersShared reports whether an answer is the same for all users.
func headersShared(what string) bool {
	return what == "style" || strings.HasSuffix(what, "GET /client.js") || strings.HasSuffix(what, "GET /account.js")
}

func headers03(t *T) {
	w := t.Enter(headersKinds)
	shared := 0
	for _, a := range headersEvery(t, w) {
		if headersShared(a.what) {
			if shared++; len(a.Header["Set-Cookie"]) != 0 || !strings.HasPrefix(a.Header.Get("Cache-Control"), "public") {
				t.Errorf("twin: %s: %v", a.what, a.Header)
			}
			continue
		}
		if !slices.Equal(a.Header["Cache-Control"], []string{"private, no-cache, no-store"}) || a.Header.Get("Pragma") != "no-cache" || a.Header.Get("ETag") != "" || a.Header.Get("Last-Modified") != "" {
			t.Errorf("%s: %d %q", a.what, a.StatusCode, a.Header["Cache-Control"])
		}
	}
	if shared == 0 {
		t.Error("twin: nothing may be kept")
	}
}

// headers04 checks HSTS. It is an option, because only the operator knows whether a
// host serves everything over https.
func headers04(t *T) {
	for _, hsts := range []time.Duration{0, 365 * 24 * time.Hour} {
		w := t.Enter(func(c *authsvc.Config) {
			headersKinds(c)
			c.HSTS = hsts
		})
		want := map[bool][]string{true: {"max-age=31536000"}}[hsts > 0]
		for _, a := range headersEvery(t, w) {
			if !slices.Equal(a.Header["Strict-Transport-Security"], want) {
				t.Errorf("%s: HSTS %q", a.what, a.Header["Strict-Transport-Security"])
			}
			if a.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s: CORP %q", a.what, a.Header["Cross-Origin-Resource-Policy"])
			}
			if page := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"); page && (a.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" || !strings.Contains(a.Header.Get("Permissions-Policy"), "camera=()")) {
				t.Errorf("%s: COOP %q, Permissions-Policy %q", a.what, a.Header["Cross-Origin-Opener-Policy"], a.Header["Permissions-Policy"])
			}
		}
	}
	w := t.Enter(func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://www.app.test"} })
	b := w.Browser()
	for from, want := range map[string]string{"https://www.app.test": "same-site", "https://evil.test": "same-origin"} {
		b.Header.Set("Origin", from)
		if got := b.Get("/api/auth/session").Header.Get("Cross-Origin-Resource-Policy"); got != want {
			t.Errorf("twin: CORP for %s is %q", from, got)
		}
	}
}

func headers06(t *T) {
	w := t.Enter(headersKinds)
	a := w.Browser().Get("/api/auth/providers")
	var list map[string]map[string]any
	if err := json.Unmarshal([]byte(a.Text), &list); err != nil || len(list) != 6 {
		t.Fatalf("%v: %s", err, a.Text)
	}
	want := []string{"callbackUrl", "id", "name", "signinUrl", "type"}
	for id, p := range list {
		names := slices.Sorted(func(yield func(string) bool) {
			for n := range p {
				if !yield(n) {
					return
				}
			}
		})
		if !slices.Equal(names, want) || p["id"] != id || p["signinUrl"] != arena.Origin+"/api/auth/signin/"+id || p["callbackUrl"] != arena.Origin+"/api/auth/callback/"+id {
			t.Errorf("%s: %v", id, p)
		}
	}
	for _, secret := range []string{arena.ClientSecret, arena.Secret, w.OP.Issuer(), `"app"`, "authorize", "scope", "no-reply"} {
		if strings.Contains(a.Text, secret) {
			t.Errorf("it tells %q", secret)
		}
	}
}

// headers07 checks that pages refer only to the service's own addresses, except for
// the target of one form.
func headers07(t *T) {
	w := t.Enter(headersKinds)
	own, style := 0, ""
	for name, a := range headersPages(t, w) {
		links, _ := redirectLinks(t, a.Text)
		for _, to := range links {
			if name == "signout-provider" && to == w.OP.Issuer()+"/end" {
				continue
			}
			if own++; to != arena.Origin && !strings.HasPrefix(to, arena.Origin+"/") {
				t.Errorf("%s: %s", name, to)
			}
			if strings.HasSuffix(to, ".css") {
				style = to
			}
		}
	}
	sheet := w.Browser().Get(style)
	if sheet.StatusCode != http.StatusOK || strings.Contains(sheet.Text, "@import") || strings.Contains(sheet.Text, "url(http") || strings.Contains(sheet.Text, "url(//") || strings.Contains(sheet.Text, "@font-face") {
		t.Errorf("%s: %d", style, sheet.StatusCode)
	}
	if own < 40 {
		t.Errorf("twin: only %d addresses", own)
	}
}

// headers09 checks that the sign-in page reads from the query only an error code, an
// allowed callbackUrl and, as in NextAuth.js, an email address for the field.
func headers09(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	const evil = "csrfToken=EVIL&CSRFToken=EVIL&callbackUrl=https://evil.test&CallbackURL=https://evil.test/EVIL&theme=EVIL&theme.logo=https://evil.test&theme[brandColor]=EVIL&providers=EVIL&providers[evil][name]=EVIL&" +
		"Providers=EVIL&title=EVIL&Site=EVIL&logo=https://evil.test&Base=https://evil.test&action=https://evil.test&SignedIn=EVIL&signinUrl=https://evil.test&error_description=EVIL&message=EVIL&RequestID=EVIL&request=EVIL&__proto__[x]=EVIL&url=https://evil.test&buttonText=EVIL"
	for _, path := range []string{"signin", "signin/op", "signout", "error", "verify-request"} {
		a := b.Get("/api/auth/" + path + "?" + evil)
		if a.StatusCode != 200 || strings.Contains(a.Text, "EVIL") || strings.Contains(a.Text, "evil.test") {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.Text)
		}
	}
	page := b.Get("/api/auth/signin?" + evil).Text
	plain := b.Get("/api/auth/signin").Text
	if page != plain || !strings.Contains(page, `name="csrfToken" value="`+b.CSRF()+`"`) {
		t.Errorf("the page is another, or its token is not the real one: %s", page)
	}
	if page = b.Get("/api/auth/signin?callbackUrl=/in&error=OAuthCallback").Text; page == plain || !strings.Contains(page, `value="`+arena.Origin+`/in"`) {
		t.Errorf("twin: %s", page)
	}
}
