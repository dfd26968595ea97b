package verify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/npm"
	"authsvc/internal/test/sites"
)

// happyPaths runs every kind of sign-in and signs out again, in Chromium with every
// store, in the other engines with one.
func happyPaths(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		s := t.stage(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		happy(t, s, s.tab())
	})
	eachEngine(t, func(t *T, open func(*stage) surfer) {
		s := t.stage(nil)
		happy(t, s, open(s))
	})
}

func happy(t *T, s *stage, b surfer) {
	for provider, who := range map[string][2]string{"op": {"ada", "Ada Lovelace"}, "plain": {"grace", "Grace Hopper"},
		"old": {"alan", "Alan Turing"}, "apple": {"katherine", "Katherine Johnson"}} {
		s.signIn(b, provider, who[0])
		s.named(b, who[1])
		accounts, err := s.Store.ListAccounts(t.Context(), s.Person(t, s.jar(b)))
		if err != nil || len(accounts) != 1 || accounts[0].Provider != provider {
			t.Errorf("%s: accounts %v, %v", provider, accounts, err)
		}
		s.signOut(b)
		s.is(b, "")
	}
	b.Open(s.askForLink(b, "joan@app.test"))
	b.At(arena.Origin + "/home")
	s.is(b, "joan@app.test")
	s.signOut(b)
	s.is(b, "")
	for _, v := range s.visits() {
		if v.status >= http.StatusBadRequest {
			t.Errorf("%s: status %d", v.route, v.status)
		}
	}
}

// attackerKit is an attacker's page that has the victim's CSRF token. It posts to
// every route that changes state, with forms and with fetch.
func attackerKit(t *T) {
	eachEvil(t, func(t *T, evil string) {
		s := t.stage(nil)
		b := s.tab()
		s.signIn(b, "op", "ada")
		attacker := s.Browser()
		attacker.Post("/api/auth/signin/email", "email", "mallory@evil.test")
		link := arena.MustURL(t, arena.Link(t, s.Mail.Next(t))).Query()
		_, callback := s.ofAttacker("op")
		theirs := arena.MustURL(t, callback).Query()
		mails, asked := s.Mail.Count(), s.authorizations()
		for path, fields := range map[string][]string{
			"/signout":              nil,
			"/signin/email":         {"email", "spam@app.test"},
			"/signin/op":            {"link", "true"},
			"/signin/old":           {"link", "true"},
			"/callback/credentials": {"username", "ada", "password", "right"},
			"/callback/email":       {"token", link.Get("token"), "email", "mallory@evil.test"},
			"/callback/op":          {"code", theirs.Get("code"), "state", theirs.Get("state")},
			"/callback/apple":       {"code", theirs.Get("code"), "state", theirs.Get("state")},
			"/session":              {"data", "x"},
		} {
			fields = append(fields, "csrfToken", s.stolen(b))
			s.unharmed(b, func() {
				s.visits()
				s.serves(evil, form(base+path, fields...))
				b.Open(evil)
				s.comes("POST /api/auth" + path)
				b.At(base)
				b.Wait(`!document.querySelector("[name=repost]")`) // that page continues by itself
				s.serves(evil, "<title>Evil</title>")
				b.Open(evil)
				body := url.Values{}
				for i := 0; i+1 < len(fields); i += 2 {
					body.Add(fields[i], fields[i+1])
				}
				b.Script(fmt.Sprintf(`Promise.allSettled(["no-cors", "cors"].map((mode) =>
					fetch(%q, {method: "POST", mode, credentials: "include", body: new URLSearchParams(%q)})))`, base+path, body.Encode()), new(any))
			})
		}
		for _, route := range []string{"session", "csrf", "providers"} {
			var got string
			b.Script(fmt.Sprintf(`fetch(%q, {credentials: "include"}).then((r) => r.text(), () => "blocked")`, base+"/"+route), &got)
			if got != "blocked" {
				t.Errorf("%s reads %s: %q", evil, route, got)
			}
		}
		if n := s.Mail.Count() - mails; n != 0 || s.authorizations() != asked {
			t.Errorf("%d mails and %d sign-ins were begun", n, s.authorizations()-asked)
		}
		if own := attacker.Get("/api/auth/callback/email?" + link.Encode()); attacker.Email() != "mallory@evil.test" {
			t.Errorf("twin: the link was used up: %d %s", own.StatusCode, own.Location())
		}
		s.signOut(b)
		s.is(b, "")
	})
}

// upstreamClient tests next-auth/react from its package. e2e tests it further, with
// both kinds of session.
func upstreamClient(t *T) {
	const dir = "../e2e/web"
	if err := npm.Install(dir); err != nil {
		t.Fatal(err)
	}
	script, err := npm.Bundle(dir, "src/app.jsx")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{modeNone, modeV4} {
		t.Run(mode, func(t *T) {
			t.Mode = mode
			drive(t, script)
		})
	}
}

func drive(t *T, script []byte) {
	s := t.stage(nil)
	s.app.HandleFunc("GET /app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(script)
	})
	s.app.HandleFunc("GET /app", func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, `<title>App</title><div id="root"></div><script src="/app.js"></script>`)
	})
	b := s.tab()
	b.Open(arena.Origin + "/app")
	b.Wait(`document.getElementById("status")?.textContent === "unauthenticated"`)
	client(t, b, `auth.getSession()`, `null`)
	client(t, b, `auth.getCsrfToken().then((v) => typeof v === "string" && v.length > 40)`, `true`)
	client(t, b, `auth.getProviders().then((v) => v.op)`, `{"id":"op","name":"Example","type":"oauth","signinUrl":"`+base+`/signin/op","callbackUrl":"`+base+`/callback/op"}`)
	client(t, b, `auth.signIn("email", {email: "not an address", redirect: false})`, `{"error":"EmailSignin","status":200,"ok":true,"url":null}`)
	client(t, b, `auth.signIn("email", {email: "grace@app.test", redirect: false}).then((r) => [r.error, r.status, r.ok, r.url.startsWith("`+base+`/verify-request")])`, `[null,200,true,true]`)
	b.Script(`void auth.signIn("op")`, new(any))
	s.choose(b, "ada")
	b.At(arena.Origin + "/app")
	b.Wait(`document.getElementById("email")?.textContent === "ada@example.com"`)
	client(t, b, `auth.getSession().then((s) => [Object.keys(s).sort(), s.user.name, s.user.email, /^[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z$/.test(s.expires)])`,
		`[["expires","user"],"Ada Lovelace","ada@example.com",true]`)
	client(t, b, `auth.signOut({redirect: false, callbackUrl: "/bye"})`, `{"url":"`+arena.Origin+`/bye"}`)
	b.Wait(`document.getElementById("status").textContent === "unauthenticated"`)
	s.is(b, "")
	b.Quiet()
}

// client compares the result of a client call.
func client(t *T, b *chromium.Tab, call, want string) {
	t.Helper()
	var got, asked any
	b.Script(call, &got)
	if err := json.Unmarshal([]byte(want), &asked); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asked, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", call, diff)
	}
}

// withoutCookies signs in without third-party cookies, in private mode, and then with
// all cookies blocked, which must end at a page with an explanation.
func withoutCookies(t *T) {
	t.Run("private, third parties blocked", func(t *T) {
		s := t.stage(nil)
		b := cookieless(t, `{"profile": {"cookie_controls_mode": 1, "block_third_party_cookies": true}}`).TabBehind(t, s.net.Proxy())
		thirdParty(t, s, b)
		for _, provider := range []string{"op", "old", "apple"} {
			s.signIn(b, provider, "katherine")
			if s.Person(t, s.jar(b)) == "" {
				t.Errorf("%s does not sign in", provider)
			}
			s.signOut(b)
		}
	})
	t.Run("none", func(t *T) {
		s := t.stage(nil)
		b := cookieless(t, `{"profile": {"default_content_setting_values": {"cookies": 2}}}`).TabBehind(t, s.net.Proxy())
		for _, button := range []string{".p-op button", "#submitButton"} {
			b.Open(base + "/signin?callbackUrl=/home")
			b.Fill("input[name=email]", "ada@app.test")
			s.visits()
			b.Click(button)
			b.At(base + "/signin?csrf=true")
			b.Shows("cookies are blocked")
			if n := len(s.visits()); n > 4 {
				t.Errorf("%d requests: a loop?", n)
			}
		}
		if got := b.Cookies(base); len(got) > 0 {
			t.Errorf("the browser keeps %v", got)
		}
	})
}

// thirdParty fails unless the browser blocks cookies in a frame of another site, and
// only there.
func thirdParty(t *T, s *stage, b *chromium.Tab) {
	t.Helper()
	s.serves(evilSite, `<script>document.cookie = "third=1; SameSite=None; Secure"; (top === self ? self : parent).postMessage(document.cookie, "*")</script>`)
	s.app.HandleFunc("GET /frames", func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, `<script>addEventListener("message", (m) => { window.got = "cookies: " + m.data })</script><iframe src="`+evilSite+`"></iframe>`)
	})
	b.Open(arena.Origin + "/frames")
	b.Wait(`window.got`)
	if got := chromium.Eval[string](b, `window.got`); got != "cookies: " {
		t.Errorf("a frame of another site has %s", got)
	}
	if b.Open(evilSite); b.Cookies(evilSite)["third"] != "1" {
		t.Error("twin: the site by itself keeps none either")
	}
}

// cookieless returns a Chromium with its own preferences.
func cookieless(t *T, preferences string) *chromium.Browser {
	t.Helper()
	b, err := chromium.Start(chromium.Options{TrustKeys: sites.Key(), Preferences: preferences})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// impatient goes back, reloads, double-clicks, and opens addresses again in another
// tab at every step. No step may take effect twice or end in a 5xx.
func impatient(t *T) {
	s := t.stage(nil)
	b := s.tab()
	b.Open(base + "/signin?callbackUrl=/home")
	b.Open(base + "/signin?callbackUrl=/other")
	back(b, base+"/signin?callbackUrl=/home")
	doubled(b, ".p-op button")
	b.At(s.OP.Issuer())
	there := b.URL()
	back(b, base+"/signin") // and forward by pressing again
	b.Click(".p-op button")
	b.At(s.OP.Issuer())
	doubled(b, `button[name=person][value="ada"]`)
	b.At(arena.Origin + "/home")
	b.Script(`location.reload()`, new(any))
	b.At(arena.Origin + "/home")
	s.is(b, "ada@example.com")

	restored := b.Sibling() // a tab that was at the provider
	restored.Open(there)
	s.choose(restored, "ada")
	restored.At(arena.Origin)
	s.is(b, "ada@example.com")
	for range 2 { // the callback in the history
		b.Back()
		b.At("http")
	}
	s.is(b, "ada@example.com")

	b.Open(base + "/signout?callbackUrl=/bye")
	doubled(b, "#submitButton")
	b.At(arena.Origin + "/bye")
	back(b, base+"/signout")
	s.is(b, "")

	link := s.askForLink(b, "joan@app.test")
	b.Script(`location.reload()`, new(any))
	b.At(base + "/verify-request")
	other := s.tab()
	other.Open(link)
	doubled(other, "#submitButton")
	other.At(arena.Origin + "/")
	for range 2 {
		b.Open(link)
		b.At(base)
	}
	s.once(t)
}

// doubled clicks as fast as a hand can.
func doubled(b *chromium.Tab, css string) {
	b.T.Helper()
	b.Wait(`document.readyState === "complete" && document.querySelector(` + chromium.Quote(css) + `)`)
	b.Script(`(() => { const e = document.querySelector(`+chromium.Quote(css)+`); e.click(); e.click() })()`, new(any))
}

// once fails if a person who signed in once has more than one user, account or
// session, or if any answer was a 5xx.
func (s *stage) once(t *T) {
	t.Helper()
	made := map[string]int{}
	for _, effect := range s.Ledger.Written() {
		method, _, _ := strings.Cut(effect, " ")
		made[method]++
	}
	if u, err := s.Store.GetUserByAccount(t.Context(), "op", "ada"); err != nil {
		t.Error(err)
	} else if list, err := s.Store.ListAccounts(t.Context(), u.ID); err != nil || len(list) != 1 {
		t.Errorf("accounts %v, %v", list, err)
	}
	for _, v := range s.visits() {
		if v.status >= http.StatusInternalServerError {
			t.Errorf("%s: status %d", v.route, v.status)
		}
	}
	if made["SignUp"] != 2 || made["TakeToken"] != 1 {
		t.Errorf("%d users were created for two people, %d links were used instead of one", made["SignUp"], made["TakeToken"])
	}
	t.Figure("writes %v", slices.Sorted(func(yield func(string) bool) {
		for method, n := range made {
			if !yield(fmt.Sprintf("%s×%d", method, n)) {
				return
			}
		}
	}))
}
