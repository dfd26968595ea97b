package e2e

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/idp"
)

// An evil is a server of the attacker. Its page / is whatever body says.
type evil struct {
	origin string
	body   string
}

// newEvil serves on 127.0.0.1, another site than the victim's localhost, or,
// as a sibling, on another port of localhost: another origin, the same site,
// which gets SameSite=Lax cookies sent along.
func newEvil(t *testing.T, sibling bool) *evil {
	t.Helper()
	e := &evil{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writePage(w, e.body) }))
	t.Cleanup(server.Close)
	e.origin = server.URL
	if sibling {
		e.origin = strings.Replace(e.origin, "127.0.0.1", "localhost", 1)
	}
	return e
}

// submits makes the page one that posts a form as soon as it is opened.
func (e *evil) submits(action string, fields ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, `<form method="post" action="%s">`, html.EscapeString(action))
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&b, `<input type="hidden" name="%s" value="%s">`, html.EscapeString(fields[i]), html.EscapeString(fields[i+1]))
	}
	e.body = b.String() + `</form><script>document.forms[0].submit()</script>`
}

// eachEvil runs a test with both kinds of attacker's origin.
func eachEvil(t *testing.T, test func(t *testing.T, e *evil)) {
	t.Helper()
	requested(t, "Node and Chromium")
	for name, sibling := range map[string]bool{"another site": false, "a sibling": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newEvil(t, sibling))
		})
	}
}

// stolen is the victim's CSRF token, as if the attacker had read it.
func (s *site) stolen(b *tab) string {
	s.t.Helper()
	b.open(s.origin)
	return eval[string](b, `fetch("`+s.base+`/csrf").then((r) => r.json()).then((v) => v.csrfToken)`)
}

// TestForgedForms posts to every route that changes something, from a page of
// the attacker that knows the victim's CSRF token. The same form on the own
// origin works.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	eachEvil(t, func(t *testing.T, e *evil) {
		s := newSite(t, nil)
		b := newTab(t)
		s.signIn(b, "ada", "/")
		attacker := newVisitor(t, s.auth, s.base)
		attacker.post("/signin/email", "email", "mallory@acme.test")
		link, err := url.Parse(s.mailTo("mallory@acme.test"))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []struct {
			path   string
			fields []string
		}{
			{"/signout", nil},
			{"/signin/email", []string{"email", "spam@acme.test"}},
			{"/signin/op", []string{"link", "true"}},
			{"/callback/credentials", []string{"username", "ada", "password", "right"}},
			{"/callback/email", []string{"token", link.Query().Get("token"), "email", "mallory@acme.test"}},
			{"/callback/op", []string{"code", "c", "state", "s"}},
			{"/session", []string{"data", "x"}},
		} {
			e.submits(s.base+form.path, append(form.fields, "csrfToken", s.stolen(b))...)
			asked := s.op.Calls(idp.EndpointAuthorize)
			b.open(e.origin)
			b.at(s.base)
			s.signedInAs(b, "ada@example.com")
			if n := s.op.Calls(idp.EndpointAuthorize); n != asked {
				t.Errorf("POST %s began a sign-in", form.path)
			}
		}
		// Mails leave in order: the only one is the one asked for last.
		attacker.post("/signin/email", "email", "last@acme.test")
		s.mailTo("last@acme.test")
		if left := s.mail.Messages(); len(left) > 0 {
			t.Errorf("a forged form sent a mail to %v", left[0].To)
		}

		e.submits(s.base+"/signout", "csrfToken", s.stolen(b))
		s.mux.HandleFunc("GET /own", func(w http.ResponseWriter, _ *http.Request) { writePage(w, e.body) })
		b.open(s.origin + "/own")
		s.eventually(func() bool { return s.email(b) == "" }, "the form does not sign out on its own origin either")
	})
}

// embed loads a URL in every way that a page can without a click.
func embed(target string) string {
	u := html.EscapeString(target)
	return `<title>Evil</title><link rel="prefetch" href="` + u + `"><link rel="prerender" href="` + u + `"><link rel="stylesheet" href="` + u + `">
<img src="` + u + `"><iframe src="` + u + `"></iframe><object data="` + u + `"></object><video src="` + u + `"></video>
<script src="` + u + `"></script><script type="module">
addEventListener("load", async () => {
	await fetch(` + quote(target) + `, {mode: "no-cors", credentials: "include"}).catch(() => {})
	document.title = "embedded"
})
</script>`
}

// TestEmbeddedAddresses loads the addresses that end or begin sessions from a
// page of the attacker, and then leads the victim there.
func TestEmbeddedAddresses(t *testing.T) {
	t.Parallel()
	eachEvil(t, func(t *testing.T, e *evil) {
		for _, signedIn := range []bool{true, false} {
			s := newSite(t, nil)
			b := newTab(t)
			who := ""
			if signedIn {
				s.signIn(b, "ada", "/")
				who = "ada@example.com"
			}
			attacker := newVisitor(t, s.auth, s.base)
			code := s.attackersCode(attacker)
			attacker.post("/signin/email", "email", "mallory@acme.test")
			link := s.mailTo("mallory@acme.test")
			asked := s.op.Calls(idp.EndpointToken)
			for _, target := range []string{s.base + "/signout", s.base + "/signin/op", code, link} {
				e.body = embed(target)
				b.open(e.origin)
				b.wait(`document.title === "embedded"`)
				s.signedInAs(b, who)
				b.open(target) // the victim follows a link
				s.signedInAs(b, who)
			}
			if n := s.op.Calls(idp.EndpointToken); n != asked {
				t.Errorf("the token endpoint was called %d times", n-asked)
			}
			if _, err := s.store.GetUserByAccount(t.Context(), "op", "grace"); !errors.Is(err, authsvc.ErrNotFound) {
				t.Errorf("the attacker's identity is linked: %v", err)
			}
			s.worksFor(attacker, code, link)
		}
	})
}

// attackersCode is a callback with the attacker's own code and state.
func (s *site) attackersCode(v *visitor) string {
	s.t.Helper()
	res := v.post("/signin/op")
	a, err := s.op.Approve(res.Header.Get("Location"), "grace")
	if err != nil {
		s.t.Fatal(err)
	}
	return a.URL()
}

// worksFor is the twin: in the browser that asked for them both addresses
// still sign in, so nothing of what the victim's browser did used them up.
func (s *site) worksFor(v *visitor, code, link string) {
	s.t.Helper()
	for address, want := range map[string]string{code: "grace@example.com", link: "mallory@acme.test"} {
		own := newVisitor(s.t, s.auth, s.base)
		for name, value := range v.cookies {
			own.cookies[name] = value
		}
		own.do(http.MethodGet, strings.TrimPrefix(address, s.base), nil)
		if got := own.user()["email"]; got != want {
			s.t.Errorf("%.60s… signs its owner in as %v", address, got)
		}
	}
}

// TestFraming frames every page: the frame stays blank.
func TestFraming(t *testing.T) {
	t.Parallel()
	eachEvil(t, func(t *testing.T, e *evil) {
		s := newSite(t, nil)
		s.mux.HandleFunc("GET /framed", func(w http.ResponseWriter, _ *http.Request) {
			writePage(w, `<script>parent.postMessage("framed", "*")</script>`)
		})
		b := newTab(t)
		s.signIn(b, "ada", "/")
		newVisitor(t, s.auth, s.base).post("/signin/email", "email", "mallory@acme.test")
		e.body = `<title>Evil</title><iframe id="frame"></iframe><script>
addEventListener("message", (m) => { document.title = m.data })
</script>`
		b.open(e.origin)
		frame := func(u string) {
			eval[bool](b, `new Promise((done) => { const f = document.getElementById("frame"); f.onload = () => done(true); f.src = `+quote(u)+` })`)
		}
		frame(s.origin + "/framed")
		b.wait(`document.title === "framed"`)
		b.trouble()
		for _, u := range []string{s.base + "/signin", s.base + "/signout", s.base + "/error?error=AccessDenied", s.base + "/verify-request",
			s.mailTo("mallory@acme.test")} {
			frame(u)
			s.eventually(func() bool {
				return slices.ContainsFunc(b.trouble(), func(p string) bool { return strings.Contains(p, "frame-ancestors") })
			}, "the browser was not told to leave the frame blank: "+u)
		}
	})
}

// TestTossedCookies plants a second session cookie from a sibling, with a
// longer path so that it is sent first.
func TestTossedCookies(t *testing.T) {
	t.Parallel()
	requested(t, "Node and Chromium")
	const name = "authsvc.session"
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(_ *site, c *authsvc.Config) { c.Session.Strategy = strategy })
			b := newTab(t)
			s.signIn(b, "ada", "/")
			attacker := newVisitor(t, s.auth, s.base)
			attacker.do(http.MethodGet, strings.TrimPrefix(s.attackersCode(attacker), s.base), nil)
			if attacker.user()["email"] != "grace@example.com" {
				t.Fatal("the attacker has no session to plant")
			}
			e := newEvil(t, true)
			b.open(e.origin)
			for _, planted := range []string{name, name + ".0"} {
				eval[string](b, `document.cookie = "`+planted+`=`+attacker.cookies[name]+`; path=/api/auth"`)
			}
			b.open(s.base + "/signin")
			if text := b.text(); strings.Contains(text, "grace") {
				t.Errorf("the sign-in page knows the attacker:\n%s", text)
			}
			b.open(s.origin)
			for range 2 { // the first answer clears up, and must not leave the planted one
				if got := eval[string](b, `fetch("/api/auth/session").then((r) => r.text())`); got != "{}" {
					t.Errorf("with contradicting session cookies the session is %s", got)
				}
			}
			s.signIn(b, "ada", "/")
			s.signedInAs(b, "ada@example.com")
		})
	}
}

// polyglot breaks out of most places in HTML, and leaves a mark if it runs.
const polyglot = "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk=window.hit=1 )//\r\n//</stYle/</titLe/</teXtarEa/</scRipt/--!>" +
	"\"'><img src=x onerror=window.hit=1><svg onload=window.hit=1>{{7*7}}<a href=javascript:window.hit=1>x</a>"

// clean fails if the page holds anything of the polyglot that is not text.
func clean(t *testing.T, b *tab, where string) {
	t.Helper()
	found := eval[[]string](b, `document.contentType !== "text/html" ? [] : [
		...[window.hit].filter(Boolean).map(() => "it ran"),
		...[...document.querySelectorAll("*")].filter((e) => e.tagName === "SCRIPT" || e.tagName === "STYLE" ||
			(e.tagName === "IMG" && e.getAttribute("src") === "x") ||
			[...e.attributes].some((a) => a.name.startsWith("on") || a.name === "style" ||
				["href", "src", "action", "formaction"].includes(a.name) && !/^(https?:|\/|data:image|#)/i.test(a.value)))
			.map((e) => e.outerHTML.slice(0, 200)),
	]`)
	for _, f := range found {
		t.Errorf("%s: %s", where, f)
	}
	for _, p := range b.trouble() {
		t.Errorf("%s: %s", where, p)
	}
}

// TestScriptInjection puts the polyglot into every parameter of every page,
// and into the names that pages show.
func TestScriptInjection(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(s *site, c *authsvc.Config) {
		c.Theme.SiteName = "Acme" + polyglot
		c.RateLimit.Disabled = true
		c.Providers[0].(*authsvc.OAuth).Name = "Example" + polyglot
		if _, err := s.op.AddPerson(idp.Person{Sub: "mallory", Name: `Mallory"'><img src=x onerror=window.hit=1>`}); err != nil {
			s.t.Fatal(err)
		}
	})
	b := newTab(t)
	sweep(t, s, b)
	s.signIn(b, "mallory", "/")
	for _, path := range []string{"/signin", "/signout"} {
		b.open(s.base + path)
		b.shows("Mallory")
		clean(t, b, "a person's name at "+path)
	}
	sweep(t, s, b)
}

func sweep(t *testing.T, s *site, b *tab) {
	t.Helper()
	q := url.Values{}
	for _, name := range []string{"error", "callbackUrl", "csrf", "email", "request", "provider", "type", "ui_locales", "token", "code",
		"state", "error_description", "iss", "csrfToken", "theme", "providers", "link", "repost", "hd", "login_hint"} {
		q.Set(name, polyglot)
	}
	link := url.Values{"token": {strings.Repeat("A", 43)}, "email": {"ada@acme.test"}, "callbackUrl": {polyglot}, "ui_locales": {polyglot}}
	odd := url.Values{"token": {strings.Repeat("A", 40) + "<b>"}, "email": {`"><b>@acme.test`}}
	paths := []string{"/signin?" + q.Encode(), "/signin/op?" + q.Encode(), "/signout?" + q.Encode(), "/error?" + q.Encode(),
		"/error/" + url.PathEscape("<svg onload=1>"), "/verify-request?" + q.Encode(), "/callback/op?" + q.Encode(),
		"/callback/email?" + q.Encode(), "/callback/email?" + link.Encode(), "/callback/email?" + odd.Encode(),
		"/session?" + q.Encode(), "/csrf?" + q.Encode(), "/providers?" + q.Encode(), "/nowhere/" + url.PathEscape("<svg onload=1>")}
	for _, p := range paths {
		b.open(s.base + p)
		clean(t, b, p[:min(len(p), 24)])
		if u := b.url(); !strings.HasPrefix(u, s.origin) {
			t.Errorf("%.24s led to %s", p, u)
		}
	}
}

// TestPolicyHolds injects what an attacker would, past the templates: the
// browser runs and loads none of it.
func TestPolicyHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	e := newEvil(t, false)
	b := newTab(t)
	for _, path := range []string{"/signin", "/signout", "/error", "/verify-request"} {
		b.open(s.base + path)
		b.quiet()
		b.loaded()
		eval[bool](b, `new Promise((done) => {
			const add = (tag, o) => document.body.append(Object.assign(document.createElement(tag), o))
			add("script", {textContent: "window.hit = 1"})
			add("script", {src: "`+e.origin+`/x.js"})
			add("img", {src: "`+e.origin+`/x.png"})
			add("iframe", {src: "`+e.origin+`/"})
			add("style", {textContent: "body { --hit: 1 }"})
			document.head.append(Object.assign(document.createElement("base"), {href: "`+e.origin+`/"}))
			fetch("`+e.origin+`/").catch(() => {})
			setTimeout(() => done(true), 100)
		})`)
		if eval[bool](b, `!!window.hit || getComputedStyle(document.body).getPropertyValue("--hit") !== "" || document.baseURI.startsWith("`+e.origin+`")`) {
			t.Errorf("%s: the policy lets injected content through", path)
		}
		if got := len(b.trouble()); got < 6 {
			t.Errorf("%s: only %d violations were reported: was anything tried?", path, got)
		}
	}
}
