package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/chromium"
)

// A plain is a page without a framework that imports client.js.
type plain struct {
	*site
	page string // its URL
	path string // of the engine's routes, such as /api/auth
	// stored makes credentials sign in only stored users (strategy database).
	stored bool
}

// plainPage serves a page whose script exposes the client's functions as window.auth
// and shows the session as it changes.
func plainPage(module, configure string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, `<title>Plain</title><p id="changed"></p><script type="module">
import * as auth from "`+module+`"
`+configure+`
auth.onSessionChange((s) => { document.getElementById("changed").textContent = s ? s.user.email : "nobody" })
window.auth = auth
</script>`)
	}
}

// plainSite serves a page at /app of the engine's own origin.
func plainSite(t *testing.T, strategy, basePath string) *plain {
	t.Helper()
	p := &plain{path: "/api/auth", stored: strategy == "database"}
	p.site = newSite(t, func(s *site, c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		if basePath != "" {
			c.URL, p.path = s.origin+basePath, basePath
		}
		takeNames(s, c)
	})
	p.mux.HandleFunc("GET /app", plainPage(p.path+"/client.js", ""))
	p.mux.HandleFunc("GET /bye", plainPage(p.path+"/client.js", ""))
	p.page = p.origin + "/app"
	return p
}

// acrossSite serves the page, with a copy of client.js, from another port: another
// origin on the same site.
func acrossSite(t *testing.T, strategy string) *plain {
	t.Helper()
	p := &plain{path: "/api/auth", stored: strategy == "database"}
	mux := http.NewServeMux()
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	own := strings.Replace(pages.URL, "127.0.0.1", "localhost", 1)
	p.site = newSite(t, func(s *site, c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		c.TrustedOrigins = []string{own}
		takeNames(s, c)
	})
	mux.HandleFunc("GET /client.js", func(w http.ResponseWriter, _ *http.Request) {
		res, body := newVisitor(t, p.auth, p.base).do(http.MethodGet, "/client.js", nil)
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		io.WriteString(w, body)
	})
	body := plainPage("/client.js", `auth.configure({baseUrl: "`+p.base+`"})`)
	mux.HandleFunc("GET /app", body)
	mux.HandleFunc("GET /bye", body)
	p.page = own + "/app"
	return p
}

// TestClient tests all functions of client.js.
func TestClient(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	for name, open := range map[string]func(*testing.T) *plain{
		"default path":                        func(t *testing.T) *plain { return plainSite(t, "database", "") },
		"custom path":                         func(t *testing.T) *plain { return plainSite(t, "jwt", "/my/auth") },
		"another origin":                      func(t *testing.T) *plain { return acrossSite(t, "database") },
		"another origin, sessions in cookies": func(t *testing.T) *plain { return acrossSite(t, "jwt") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			b := newTab(t)
			p.visit(b)
			p.lists(b)
			p.provider(b)
			p.update(b)
			p.links(b)
			p.passwords(b)
			p.tabs(b)
			b.Quiet()
		})
	}
}

// visit opens the page and waits for its script.
func (p *plain) visit(b *chromium.Tab) {
	p.t.Helper()
	b.Open(p.page)
	b.Wait(`window.auth`)
}

// person returns the address of the session that the client reads, or "".
func (p *plain) person(b *chromium.Tab) string {
	p.t.Helper()
	b.Wait(`window.auth`)
	return chromium.Eval[string](b, `auth.getSession().then((s) => s?.user?.email ?? "")`)
}

func (p *plain) lists(b *chromium.Tab) {
	p.t.Helper()
	providers := chromium.Eval[map[string]map[string]string](b, `auth.getProviders()`)
	if got := providers["op"]; len(providers) != 3 || got["signinUrl"] != p.base+"/signin/op" || got["type"] != "oauth" {
		p.t.Errorf("providers %v", providers)
	}
	first, second := chromium.Eval[string](b, `auth.getCsrfToken()`), chromium.Eval[string](b, `auth.getCsrfToken()`)
	if len(first) < 40 || first != second {
		p.t.Errorf("csrf tokens %q and %q", first, second)
	}
	if got := p.person(b); got != "" {
		p.t.Errorf("session before sign-in: %q", got)
	}
	chromium.Eval[*string](b, `void auth.signIn()`)
	b.At(p.base + "/signin?callbackUrl=")
	p.visit(b)
}

// provider signs in on the provider's page.
func (p *plain) provider(b *chromium.Tab) {
	p.t.Helper()
	chromium.Eval[*string](b, `void auth.signIn("op", {}, {prompt: "select_account"})`)
	p.choose(b, "ada")
	b.At(p.page)
	if got := p.person(b); got != "ada@example.com" {
		p.t.Errorf("signed in as %q", got)
	}
}

// update renames the user, and signs out without a redirect.
func (p *plain) update(b *chromium.Tab) {
	p.t.Helper()
	name := `.then((s) => s?.user?.name ?? "")`
	if got := chromium.Eval[string](b, `auth.update({name: "Ada King"})`+name); got != "Ada King" {
		p.t.Errorf("update answered %q", got)
	}
	if got := chromium.Eval[string](b, `auth.getSession()`+name); got != "Ada King" {
		p.t.Errorf("after update the name is %q", got)
	}
	bye := strings.Replace(p.page, "/app", "/bye", 1)
	out := chromium.Eval[map[string]string](b, `auth.signOut({redirect: false, callbackUrl: `+chromium.Quote(bye)+`})`)
	if out["url"] != bye || b.URL() != p.page {
		p.t.Errorf("signOut answered %v at %s", out, b.URL())
	}
	b.Wait(`document.getElementById("changed").textContent === "nobody"`)
	if got := p.person(b); got != "" {
		p.t.Errorf("session after sign-out: %q", got)
	}
}

// links signs in with a mailed link, and signs out with a redirect.
func (p *plain) links(b *chromium.Tab) {
	p.t.Helper()
	bad := chromium.Eval[result](b, `auth.signIn("email", {email: "not an address", redirect: false})`)
	if bad.Error == nil || *bad.Error != "EmailSignin" {
		p.t.Errorf("signIn with a malformed address: %+v", bad)
	}
	r := chromium.Eval[result](b, `auth.signIn("email", {email: "grace@acme.test", redirect: false})`)
	if r.Error != nil || r.Status != http.StatusOK || !r.OK || r.URL == nil || !strings.HasPrefix(*r.URL, p.base+"/verify-request") {
		p.t.Fatalf("signIn by mail: %+v", r)
	}
	b.Open(p.mailTo("grace@acme.test"))
	b.At(p.page)
	if got := p.person(b); got != "grace@acme.test" {
		p.t.Errorf("signed in as %q", got)
	}
	bye := strings.Replace(p.page, "/app", "/bye", 1)
	chromium.Eval[*string](b, `void auth.signOut({callbackUrl: `+chromium.Quote(bye)+`})`)
	b.At(bye)
	if got := p.person(b); got != "" {
		p.t.Errorf("session after sign-out: %q", got)
	}
	p.visit(b)
}

// passwords signs in with credentials and stays on the page. With database sessions,
// credentials only sign in stored users, so both sign-ins are refused.
func (p *plain) passwords(b *chromium.Tab) {
	p.t.Helper()
	try := func(password string) result {
		return chromium.Eval[result](b, `auth.signIn("credentials", {username: "ada", password: `+chromium.Quote(password)+`, redirect: false})`)
	}
	if r := try("wrong"); r.Error == nil || *r.Error != "CredentialsSignin" || r.OK || r.Status != http.StatusUnauthorized {
		p.t.Errorf("wrong password: %+v", r)
	}
	r := try("right")
	if p.stored {
		if r.OK {
			p.t.Errorf("credentials of an unknown user: %+v", r)
		}
		return
	}
	if r.Error != nil || !r.OK || p.person(b) != "ada@acme.test" {
		p.t.Errorf("right password: %+v, signed in as %q", r, p.person(b))
	}
	b.Wait(`document.getElementById("changed").textContent === "ada@acme.test"`)
	chromium.Eval[map[string]string](b, `auth.signOut({redirect: false})`)
}

// tabs signs out in one tab and checks another.
func (p *plain) tabs(b *chromium.Tab) {
	p.t.Helper()
	p.visit(b)
	p.provider(b)
	other := b.Sibling()
	p.visit(other)
	if got := p.person(other); got != "ada@example.com" {
		p.t.Errorf("the other tab is signed in as %q", got)
	}
	chromium.Eval[map[string]string](b, `auth.signOut({redirect: false})`)
	other.Wait(`document.getElementById("changed").textContent === "nobody"`)
	other.Quiet()
}

// TestClientFromForeignOrigin checks that a page on another origin can neither read
// nor change anything without TrustedOrigins.
func TestClientFromForeignOrigin(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	s := newSite(t, nil)
	b := newTab(t)
	s.signIn(b, "ada", "/")
	mux := http.NewServeMux()
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { writePage(w, "<title>Other</title>") })
	b.Open(strings.Replace(pages.URL, "127.0.0.1", "localhost", 1))
	for _, route := range []string{"session", "csrf", "providers"} {
		got := chromium.Eval[string](b, `fetch("`+s.base+`/`+route+`", {credentials: "include"}).then((r) => r.text(), () => "blocked")`)
		if got != "blocked" {
			t.Errorf("%s can be read: %q", route, got)
		}
	}
	chromium.Eval[string](b, `fetch("`+s.base+`/signout", {method: "POST", credentials: "include", body: new URLSearchParams({csrfToken: "x"})}).then(() => "", () => "")`)
	if got := s.email(b); got != "ada@example.com" {
		t.Errorf("after the foreign page the session is of %q", got)
	}
}
