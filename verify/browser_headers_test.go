package verify

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/chromedp/kb"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
	"authsvc/internal/text/pages"
)

// polyglot breaks out of most places in HTML, and leaves a mark if it runs.
const polyglot = "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk=window.hit=1 )//\r\n//</stYle/</titLe/</teXtarEa/</scRipt/--!>" +
	"\"'><img src=x onerror=window.hit=1><svg onload=window.hit=1>{{7*7}}<a href=javascript:window.hit=1>x</a>"

// clean fails if the page contains any part of an injection other than as text.
func clean(t *T, b *chromium.Tab, where string) {
	t.Helper()
	own, err := json.Marshal(slices.Collect(maps.Values(pages.Scripts())))
	if err != nil {
		t.Fatal(err)
	}
	found := chromium.Eval[[]string](b, `document.contentType !== "text/html" ? [] : [
		...[window.hit].filter(Boolean).map(() => "it ran"),
		...[...document.querySelectorAll("*")].filter((e) => e.tagName === "SCRIPT" && (e.src || !`+string(own)+`.includes(e.textContent)) || e.tagName === "STYLE" ||
			(e.tagName === "IMG" && e.getAttribute("src") === "x") ||
			[...e.attributes].some((a) => a.name.startsWith("on") || a.name === "style" ||
				["href", "src", "action", "formaction"].includes(a.name) && !/^(https?:|\/|data:image|#)/i.test(a.value)))
			.map((e) => e.outerHTML.slice(0, 200)),
	]`)
	for _, f := range append(found, b.Trouble()...) {
		t.Errorf("%s: %s", where, f)
	}
	if u := b.URL(); !strings.HasPrefix(u, arena.Origin+"/") {
		t.Errorf("%s led to %s", where, u)
	}
}

// everyPage returns the addresses of all HTML pages for a person with a link.
func (s *stage) everyPage() []string {
	s.t.Helper()
	s.Browser().Post("/api/auth/signin/email", "email", "grace@app.test")
	return []string{base + "/signin", base + "/signin?error=Callback", base + "/signin/op", base + "/signout", base + "/error", base + "/error?error=Configuration",
		base + "/error/AccessDenied", base + "/verify-request", arena.Link(s.t, s.Mail.Next(s.t))}
}

// policyHolds injects content past the templates as an attacker would. The browser
// must run and load none of it, and the page must work.
func policyHolds(t *T) {
	s := t.stage(nil)
	b := s.tab()
	for _, signedIn := range []bool{false, true} {
		if signedIn {
			s.signIn(b, "op", "ada") // the pages' forms work under their policies
		}
		for _, page := range s.everyPage() {
			b.Open(page)
			b.Quiet()
			policy := s.jar(b).Get(b.URL()).Header.Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "style-src 'self'"} {
				if !slices.Contains(strings.Split(policy, "; "), want) {
					t.Errorf("%s: %q lacks %s", page, policy, want)
				}
			}
			if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
				t.Errorf("%s: %s", page, policy)
			}
			injected(t, b, page)
		}
	}
	s.signOut(b)
	s.signIn(b, "apple", "alan") // the only page with its own script
}

func injected(t *T, b *chromium.Tab, page string) {
	t.Helper()
	chromium.Eval[bool](b, `new Promise((done) => {
		const add = (tag, o) => document.body.append(Object.assign(document.createElement(tag), o))
		add("script", {textContent: "window.hit = 1"})
		add("script", {src: "`+evilSite+`/x.js"})
		add("img", {src: "`+evilSite+`/x.png"})
		add("iframe", {src: "`+evilSite+`/"})
		add("object", {data: "`+evilSite+`/"})
		add("style", {textContent: "body { --hit: 1 }"})
		document.head.append(Object.assign(document.createElement("base"), {href: "`+evilSite+`/"}))
		fetch("`+evilSite+`/").catch(() => {})
		setTimeout(() => done(true), 100)
	})`)
	if chromium.Eval[bool](b, `!!window.hit || getComputedStyle(document.body).getPropertyValue("--hit") !== "" || document.baseURI.startsWith("`+evilSite+`")`) {
		t.Errorf("%s: the policy lets injected content through", page)
	}
	if got := len(b.Trouble()); got < 7 {
		t.Errorf("%s: only %d violations were reported: was anything tried?", page, got)
	}
}

// scriptSweep puts the polyglot into every parameter of every page, and into the
// names that pages show.
func scriptSweep(t *T) {
	s := t.stage(func(c *authsvc.Config) {
		c.Theme.SiteName = "Acme" + polyglot
		c.Theme.ButtonText = "" // colours are checked at startup: TestTheme
		c.Providers[0].(*authsvc.OAuth).Name = "Example" + polyglot
	})
	if _, err := s.OP.AddPerson(idp.Person{Sub: "mallory", Name: `Mallory"'><img src=x onerror=window.hit=1>`}); err != nil {
		t.Fatal(err)
	}
	for _, colour := range []string{polyglot, "red;}body{--hit:1", "url(https://evil.test/x)", "expression(1)"} {
		c := s.Config
		c.Theme.BrandColor = colour
		if _, err := engine.New(c); err == nil {
			t.Errorf("colour %.30q is taken", colour)
		}
		c = s.Config
		c.Theme.Logo = "javascript:" + colour
		if _, err := engine.New(c); err == nil {
			t.Errorf("logo %.30q is taken", c.Theme.Logo)
		}
	}
	b := s.tab()
	sweep(t, b)
	s.signIn(b, "op", "mallory")
	for _, path := range []string{"/signin", "/signout"} {
		b.Open(base + path)
		b.Shows("Mallory")
		clean(t, b, "a person's name at "+path)
	}
	sweep(t, b)
}

func sweep(t *T, b *chromium.Tab) {
	t.Helper()
	q := url.Values{}
	for _, name := range []string{"error", "callbackUrl", "csrf", "email", "request", "provider", "type", "ui_locales", "token", "code",
		"state", "error_description", "iss", "csrfToken", "theme", "providers", "link", "repost", "hd", "login_hint"} {
		q.Set(name, polyglot)
	}
	link := url.Values{"token": {strings.Repeat("A", 43)}, "email": {"ada@acme.test"}, "callbackUrl": {polyglot}, "ui_locales": {polyglot}}
	odd := url.Values{"token": {strings.Repeat("A", 40) + "<b>"}, "email": {`"><b>@acme.test`}}
	for _, p := range []string{"/signin?" + q.Encode(), "/signin/op?" + q.Encode(), "/signout?" + q.Encode(), "/error?" + q.Encode(),
		"/error/" + url.PathEscape("<svg onload=1>"), "/verify-request?" + q.Encode(), "/callback/op?" + q.Encode(),
		"/callback/email?" + q.Encode(), "/callback/email?" + link.Encode(), "/callback/email?" + odd.Encode(),
		"/session?" + q.Encode(), "/csrf?" + q.Encode(), "/providers?" + q.Encode(), "/nowhere/" + url.PathEscape("<svg onload=1>")} {
		b.Open(base + p)
		clean(t, b, p[:min(len(p), 24)])
	}
}

// noThirdParties counts the resources that every page loads.
func noThirdParties(t *T) {
	s := t.stage(nil)
	b := s.tab()
	for _, page := range s.everyPage() {
		b.Open(page)
		b.Quiet()
		if got := b.Loaded(); len(got) < 2 || len(chromium.Foreign(got, arena.Origin)) > 0 {
			t.Errorf("%s loads %v", page, got) // the page itself and its style sheet
		}
	}
	s.signIn(b, "op", "ada")
	onlyOwn(t, b, arena.Origin, s.OP.Issuer())
	if asked := s.net.Asked(); len(asked) > 0 {
		t.Errorf("the browser asked for %v", asked)
	}
	b.Open(arena.Origin + "/home") // twin: loaded resources are noticed
	b.Script(`fetch("https://elsewhere.test/").catch(() => {})`, new(any))
	s.eventually(func() bool { return slices.Contains(s.net.Asked(), "https://elsewhere.test") }, "nothing was seen of a request elsewhere")
}

// withoutScripts signs in and out with the keyboard while JavaScript is off.
func withoutScripts(t *T) {
	s := t.stage(nil)
	b := s.tab()
	b.Scripts(false)
	b.Open(base + "/signin?callbackUrl=/home")
	press(b, ".p-op button")
	b.At(s.OP.Issuer())
	press(b, "button[value=ada]")
	b.At(arena.Origin + "/home")
	s.is(b, "ada@example.com")
	b.Open(base + "/signout?callbackUrl=/bye")
	press(b, "#submitButton")
	b.At(arena.Origin + "/bye")
	s.is(b, "")
	b.Open(base + "/signin?callbackUrl=/home")
	reach(b, "input[name=email]")
	b.Write("joan@app.test")
	press(b, "#submitButton")
	b.At(base + "/verify-request")
	b.Open(arena.Link(t, s.Mail.Next(t)))
	b.At(arena.Origin + "/home")
	s.is(b, "joan@app.test")
	s.signOut(b)

	s.begin(b, "apple", "/home") // two more clicks than with scripts
	press(b, "button[value=alan]")
	b.Wait(`document.querySelector("noscript button")`)
	press(b, "noscript button")
	b.At(base + "/callback/apple")
	press(b, ".card button")
	b.At(arena.Origin + "/home")
	if s.email(b) == "" {
		t.Error("form_post does not sign in")
	}
}

// reach presses Tab until a matching element has the focus.
func reach(b *chromium.Tab, css string) {
	b.T.Helper()
	b.Wait(`document.readyState === "complete" && document.querySelector(` + chromium.Quote(css) + `)`)
	for range 60 {
		if chromium.Eval[bool](b, `document.activeElement.matches(`+chromium.Quote(css)+`)`) {
			return
		}
		b.Key(kb.Tab)
	}
	b.T.Fatalf("%s: Tab does not reach %s", b.URL(), css)
}

func press(b *chromium.Tab, css string) {
	b.T.Helper()
	reach(b, css)
	b.Key(kb.Enter)
}
