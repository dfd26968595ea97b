package verify

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/sites"
)

// The attacker's sites: one next to the service, whose pages are same-site, and a
// cross-site one.
const (
	subSite  = "https://sub.app.test"
	evilSite = "https://evil.test"
)

// oldSite has the approval pages of the OAuth 1.0a provider, whose server has no
// pages.
const oldSite = "https://old.test"

// eachEvil runs f with both of the attacker's sites.
func eachEvil(t *T, f func(t *T, evil string)) {
	for _, origin := range []string{evilSite, subSite} {
		t.Run(strings.TrimPrefix(origin, "https://"), func(t *T) { f(t, origin) })
	}
}

// A stage is a world that real browsers reach at https://app.test. Its providers are
// op, plain (OAuth 2), old (OAuth 1.0a), apple (form_post), email and credentials.
type stage struct {
	*arena.World
	t   *T
	net *sites.Sites
	app *http.ServeMux // pages of the application

	mu   sync.Mutex
	seen []visit
}

// A visit is a request to the service or its application, with the result.
type visit struct {
	route   string // "METHOD /path"
	referer string
	status  int
}

const base = arena.Origin + "/api/auth"

// stage starts a stage, changed by tune, which may be nil.
func (t *T) stage(tune func(*authsvc.Config)) *stage {
	t.Helper()
	s := &stage{t: t, net: sites.Start(t), app: http.NewServeMux()}
	s.World = t.Enter(func(c *authsvc.Config) {
		c.Providers = append(c.Providers, moreProviders(c.Providers[0].(*authsvc.OAuth))...)
		if tune != nil {
			tune(c)
		}
	})
	s.app.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { writePage(w, "<title>Acme</title><h1>Acme</h1>") })
	s.net.Serve(arena.Origin, http.HandlerFunc(s.answer))
	s.net.Serve(oldSite, http.HandlerFunc(s.oldPages))
	for _, origin := range []string{subSite, evilSite} {
		s.serves(origin, "<title>Evil</title>")
	}
	return s
}

func moreProviders(op *authsvc.OAuth) []authsvc.Provider {
	plain, apple, issuer := *op, *op, op.Issuer
	apple.ID, apple.Name, apple.ResponseMode = "apple", "Apple-like", "form_post"
	plain.ID, plain.Name, plain.OpenID, plain.Issuer = "plain", "Plain", false, ""
	plain.Endpoints.Authorization, plain.Endpoints.Token, plain.Endpoints.UserInfo = issuer+"/oauth2/authorize", issuer+"/oauth2/token", issuer+"/oauth2/user"
	plain.Fields = authsvc.Fields{ID: "id", Image: "avatar_url"}
	old := &authsvc.OAuth1{ID: "old", Name: "Old", Client: op.Client,
		RequestTokenURL: issuer + "/oauth1/initiate", AuthorizationURL: oldSite + "/authorize",
		AccessTokenURL: issuer + "/oauth1/token", UserInfoURL: issuer + "/oauth1/user", Fields: authsvc.Fields{ID: "token.user_id"}}
	return []authsvc.Provider{&plain, old, &apple}
}

// oldPages ask which person approves a request token, and redirect back.
func (s *stage) oldPages(w http.ResponseWriter, r *http.Request) {
	if person := r.FormValue("person"); person != "" {
		http.Redirect(w, r, s.approve(oldSite+"/authorize?oauth_token="+url.QueryEscape(r.FormValue("oauth_token")), person), http.StatusFound)
		return
	}
	page := `<title>Old</title><form method="post"><input type="hidden" name="oauth_token" value="` + html.EscapeString(r.FormValue("oauth_token")) + `">`
	for _, p := range s.OP.People() {
		page += `<button name="person" value="` + html.EscapeString(p.Sub) + `">` + html.EscapeString(p.Name) + `</button>`
	}
	writePage(w, page+"</form>")
}

// approve returns the callback of an authorization URL.
func (s *stage) approve(authorizationURL, sub string) string {
	s.t.Helper()
	a, err := s.OP.Approve(strings.Replace(authorizationURL, oldSite, s.OP.Issuer()+"/oauth1", 1), sub)
	if err != nil {
		s.t.Errorf("approve %s: %v", authorizationURL, err)
	}
	return a.URL()
}

// answer serves the origin: the service below its path, otherwise the application.
func (s *stage) answer(w http.ResponseWriter, r *http.Request) {
	kept := &statusWriter{ResponseWriter: w}
	if strings.HasPrefix(r.URL.Path, "/api/auth") {
		s.ServeHTTP(kept, r)
	} else {
		s.app.ServeHTTP(kept, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, visit{r.Method + " " + r.URL.Path, r.Referer(), cmp.Or(kept.status, http.StatusOK)})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// visits returns the visits so far and clears them.
func (s *stage) visits() []visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// comes waits for a request to a route, such as "POST /api/auth/signout", and returns
// its status.
func (s *stage) comes(route string) int {
	s.t.Helper()
	for end := time.Now().Add(chromium.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, v := range s.visits() {
			if v.route == route {
				return v.status
			}
		}
	}
	s.t.Fatalf("no request %s", route)
	return 0
}

// writePage writes an HTML document.
func writePage(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">`+body)
}

// serves makes body every page of an origin.
func (s *stage) serves(origin, body string) {
	s.net.Serve(origin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writePage(w, body) }))
}

// sharedChromium is the only Chromium, shared by all checks.
var sharedChromium struct {
	once sync.Once
	*chromium.Browser
	err error
}

// closeBrowsers closes the browsers that the checks have started.
func closeBrowsers() {
	if sharedChromium.Browser != nil {
		sharedChromium.Close()
	}
}

// tab opens a Chromium tab with its own profile, in which the stage's sites exist.
func (s *stage) tab() *chromium.Tab {
	s.t.Helper()
	return tabAt(s.t, s.net)
}

// tabAt opens a tab with its own profile, in which these sites exist.
func tabAt(t testing.TB, hosts *sites.Sites) *chromium.Tab {
	t.Helper()
	sharedChromium.once.Do(func() {
		sharedChromium.Browser, sharedChromium.err = chromium.Start(chromium.Options{TrustKeys: sites.Key()})
	})
	if sharedChromium.err != nil {
		t.Fatal(sharedChromium.err)
	}
	return sharedChromium.TabBehind(t, hosts.Proxy())
}

// A surfer is a browser of any kind.
type surfer interface {
	Open(url string)
	URL() string
	At(prefix string)
	Click(css string)
	Fill(css, text string)
	Script(expression string, into any)
	Cookies(url string) map[string]string
}

// jar returns an arena browser with the cookies of a real one.
func (s *stage) jar(b surfer) *arena.Browser {
	s.t.Helper()
	c := s.Browser()
	c.T, c.Cookies = s.t, maps.Clone(b.Cookies(base))
	return c
}

// email returns the address of the signed-in user, or "".
func (s *stage) email(b surfer) string {
	s.t.Helper()
	return s.jar(b).Email()
}

// is fails unless the user with this address is signed in.
func (s *stage) is(b surfer, address string) {
	s.t.Helper()
	if got := s.email(b); got != address {
		s.t.Errorf("signed in as %q, want %q", got, address)
	}
}

// named fails unless the signed-in user has this name.
func (s *stage) named(b surfer, name string) {
	s.t.Helper()
	user, _ := s.jar(b).Session()["user"].(map[string]any)
	if user["name"] != name {
		s.t.Errorf("signed in as %v, want %s", user["name"], name)
	}
}

// begin presses a provider's button on the sign-in page.
func (s *stage) begin(b surfer, provider, callbackURL string) {
	s.t.Helper()
	b.Open(base + "/signin?callbackUrl=" + callbackURL)
	b.Click(".p-" + provider + " button:not([name])")
	b.At(map[bool]string{true: oldSite, false: s.OP.Issuer()}[provider == "old"])
}

// choose presses the button of a person on the provider's page.
func (s *stage) choose(b surfer, person string) {
	s.t.Helper()
	b.Click(`button[name=person][value="` + person + `"]`)
}

// signIn signs in at a provider as one of its people.
func (s *stage) signIn(b surfer, provider, person string) {
	s.t.Helper()
	s.begin(b, provider, "/home")
	s.choose(b, person)
	b.At(arena.Origin + "/home")
}

// signOut presses the button of the sign-out page.
func (s *stage) signOut(b surfer) {
	s.t.Helper()
	b.Open(base + "/signout?callbackUrl=/bye")
	b.Click("#submitButton")
	b.At(arena.Origin + "/bye")
}

// askForLink fills in the form and returns the link in the mail.
func (s *stage) askForLink(b surfer, address string) string {
	s.t.Helper()
	b.Open(base + "/signin?callbackUrl=/home")
	b.Fill("input[name=email]", address)
	b.Click("#submitButton")
	b.At(base + "/verify-request")
	return arena.Link(s.t, s.Mail.Next(s.t))
}

// unharmed is NoEffect in a browser. After the attack, the victim must be signed in
// as the same user, nothing lasting may have changed, and no token endpoint may have
// been called.
func (s *stage) unharmed(victim surfer, attack func()) {
	s.t.Helper()
	who, effects, calls := s.email(victim), s.Ledger.Lasting(), s.TokenCalls()
	attack()
	s.is(victim, who)
	if now := s.Ledger.Lasting(); now != effects {
		s.t.Errorf("effects of an attack: %s", strings.TrimPrefix(now, effects))
	}
	if got := s.TokenCalls() - calls; got != 0 {
		s.t.Errorf("%d token calls", got)
	}
}

// ofAttacker returns the callback with the attacker's own code and state.
func (s *stage) ofAttacker(provider string) (own *arena.Browser, callback string) {
	s.t.Helper()
	own = s.Browser()
	return own, s.approve(own.Begin(provider), "grace")
}

// stolen returns the victim's CSRF token, as if the attacker had read it.
func (s *stage) stolen(b surfer) string {
	s.t.Helper()
	b.Open(arena.Origin + "/home")
	var v struct{ CSRFToken string }
	b.Script(`fetch("/api/auth/csrf").then((r) => r.json())`, &v)
	return v.CSRFToken
}

// form returns a page that posts as soon as it is opened.
func form(action string, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<form method="post" action="%s">`, html.EscapeString(action))
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&b, `<input type="hidden" name="%s" value="%s">`, html.EscapeString(fields[i]), html.EscapeString(fields[i+1]))
	}
	return b.String() + `</form><script>document.forms[0].submit()</script>`
}

// embed returns a page that loads an address in every way possible without a click.
// At the end, its title is "embedded".
func embed(target string) string {
	u := html.EscapeString(target)
	return `<title>Evil</title><link rel="prefetch" href="` + u + `"><link rel="prerender" href="` + u + `"><link rel="stylesheet" href="` + u + `">
<script type="speculationrules">{"prefetch": [{"urls": [` + chromium.Quote(target) + `]}]}</script>
<img src="` + u + `"><iframe src="` + u + `"></iframe><object data="` + u + `"></object><video src="` + u + `"></video>
<script src="` + u + `"></script><script type="module">
addEventListener("load", async () => {
	await fetch(` + chromium.Quote(target) + `, {mode: "no-cors", credentials: "include"}).catch(() => {})
	document.title = "embedded"
})
</script>`
}

// lures opens an attacker's page that embeds an address, and then leads the victim
// there.
func (s *stage) lures(b *chromium.Tab, evil, target string) {
	s.t.Helper()
	s.serves(evil, embed(target))
	b.Open(evil)
	b.Wait(`document.title === "embedded"`)
	b.Open(target)
}

// notLinked fails if an identity belongs to any user.
func (s *stage) notLinked(t testing.TB, provider, sub string) {
	t.Helper()
	if u, err := s.Store.GetUserByAccount(t.Context(), provider, sub); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("%s/%s belongs to %q: %v", provider, sub, u.ID, err)
	}
}

// authorizations counts the authorization requests to the identity provider.
func (s *stage) authorizations() int { return s.OP.Calls(idp.EndpointAuthorize) }

// onlyOwn fails if the tab has requested any origin except these.
func onlyOwn(t testing.TB, b *chromium.Tab, origins ...string) {
	t.Helper()
	if left := chromium.Foreign(b.Loaded(), origins...); len(left) > 0 {
		t.Errorf("loaded from elsewhere: %v", slices.Compact(left))
	}
}

// eventually waits until a condition of the test is true.
func (s *stage) eventually(ok func() bool, otherwise string) {
	s.t.Helper()
	for end := time.Now().Add(chromium.Patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal(otherwise)
		}
	}
}
