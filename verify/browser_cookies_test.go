package verify

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/chromedp/cdproto/network"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

// plant sets a cookie for the whole site from a page on the attacker's subdomain.
func plant(b *chromium.Tab, cookie string) {
	b.T.Helper()
	b.Open(subSite)
	b.Script(fmt.Sprintf(`document.cookie = %s`, chromium.Quote(cookie)), new(any))
}

// tossedSessions plants the attacker's session. A browser refuses __Host- names from
// a sibling. With a shared Domain, the planted cookie is sent, first because of its
// longer path, and must have no effect.
func tossedSessions(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for _, domain := range []string{"", "app.test"} {
			t.Run("domain="+domain, func(t *T) {
				s := t.stage(func(c *authsvc.Config) { c.Session.Strategy, c.Cookies.Domain = authsvc.Strategy(strategy), domain })
				own, callback := s.ofAttacker("op")
				if own.Get(callback); own.Email() != "grace@example.com" {
					t.Fatal("the attacker has no session to plant")
				}
				b := s.tab()
				s.signIn(b, "op", "ada")
				for _, prefix := range []string{"", "__Secure-", "__Host-"} {
					for _, suffix := range []string{"", ".0"} {
						plant(b, prefix+"authsvc.session"+suffix+"="+own.Cookies[own.SessionCookies()[0]]+"; Domain=app.test; Path=/api/auth; Secure")
					}
				}
				ambiguous := domain != ""
				b.Open(base + "/signin")
				text := b.Text()
				if strings.Contains(text, "grace") || strings.Contains(text, "ada@") == ambiguous {
					t.Errorf("the sign-in page says\n%s", text)
				}
				b.Open(arena.Origin + "/home")
				for range 2 { // the first answer cleans up, and must not leave the planted cookie
					var session string
					b.Script(`fetch("/api/auth/session").then((r) => r.text())`, &session)
					if (session == "{}") != ambiguous || strings.Contains(session, "grace") {
						t.Errorf("the session is %s", session)
					}
				}
				s.signIn(b, "op", "ada")
				s.is(b, "ada@example.com")
			})
		}
	})
}

// plantedPair plants an attacker's CSRF cookie under every name that a sibling may
// set, and posts with its token.
func plantedPair(t *T) {
	s := t.stage(nil)
	attacker := s.Browser()
	token := attacker.CSRF()
	b := s.tab()
	s.signIn(b, "op", "ada")
	for _, name := range []string{"authsvc.csrf", "__Secure-authsvc.csrf", "__Host-authsvc.csrf", "next-auth.csrf-token", "__Host-next-auth.csrf-token"} {
		plant(b, name+"="+attacker.Cookies[s.CSRFCookie()]+"; Domain=app.test; Path=/; Secure")
		plant(b, name+"="+attacker.Cookies[s.CSRFCookie()]+"; Domain=app.test; Path=/api/auth; Secure")
	}
	post := form(base+"/signout", "csrfToken", token, "callbackUrl", "/bye")
	s.app.HandleFunc("GET /own", func(w http.ResponseWriter, _ *http.Request) { writePage(w, post) })
	s.unharmed(b, func() {
		for _, origin := range []string{evilSite, subSite} {
			s.serves(origin, post)
			b.Open(origin)
			b.At(base)
		}
		b.Open(arena.Origin + "/own") // not even from this page
		b.At(base + "/signout?csrf=true")
	})
	post = form(base+"/signout", "csrfToken", s.stolen(b), "callbackUrl", "/bye")
	b.Open(arena.Origin + "/own")
	b.At(arena.Origin + "/bye")
	s.is(b, "")
}

// grown gives sessions a claim of size bytes, which update changes. GET session
// returns its length.
func grown(size *atomic.Int64) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if p.Trigger == "signIn" || p.Trigger == "signUp" || p.Trigger == "update" {
				p.Claims["blob"] = strings.Repeat("x", int(size.Load()))
			}
			return p.Claims, nil
		}
		c.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			blob, _ := p.Claims["blob"].(string)
			p.Session["size"] = len(blob)
			return p.Session, nil
		}
	}
}

// posts sends a form with the CSRF token from a page of the origin and returns the
// answer's status and text.
func posts(b surfer, path, fields string) (status int, text string) {
	var v struct {
		Status int
		Text   string
	}
	b.Script(`(async () => {
		const {csrfToken} = await (await fetch("/api/auth/csrf")).json()
		const r = await fetch("`+path+`", {method: "POST", body: new URLSearchParams({...`+fields+`, csrfToken, json: "true"})})
		return {status: r.status, text: await r.text()}
	})()`, &v)
	return v.Status, v.Text
}

// claimSize returns the blob length in the page's own session, or -1.
func claimSize(b surfer) int {
	var n int
	b.Script(`fetch("/api/auth/session").then((r) => r.json()).then((s) => s.size ?? -1)`, &n)
	return n
}

// oversized signs in with sessions around and far beyond the size limit of a cookie.
// Each session must be complete, or the sign-in must fail with an explanation.
func oversized(t *T) {
	var size atomic.Int64
	s := t.stage(grown(&size))
	b := s.tab()
	b.Open(arena.Origin + "/home")
	step := []int64{0, 25, 1}[theScale()]
	var sizes []int64
	for n := int64(2600); n <= 3400; n += step { // sealed: 3,900 to 4,200 bytes and more
		sizes = append(sizes, n)
	}
	kept, refused := 0, 0
	for _, n := range append(sizes, 6_000, 9_000, 12_000, 14_000, 15_000, 20_000, 30_000, 40_000) {
		size.Store(n)
		posts(b, "/api/auth/signout", "{}")
		status, text := posts(b, "/api/auth/callback/credentials", `{username: "ada", password: "right"}`)
		switch got := claimSize(b); {
		case got == int(n) && status == http.StatusOK:
			kept++
		case got == -1 && n > 9_000 && strings.Contains(text, "error="):
			refused++
		default:
			t.Errorf("%d bytes: status %d %s, and the session has %d", n, status, text, got)
		}
		for name, value := range b.Cookies(base) {
			if len(name)+len(value) > 4096 {
				t.Errorf("%s has %d octets", name, len(name)+len(value))
			}
		}
	}
	if kept < 10 || refused == 0 {
		t.Errorf("%d kept, %d refused", kept, refused)
	}
	t.Figure("%d sizes kept, %d refused with a message", kept, refused)
}

// shrunk reduces a session from three cookies to one. Nothing of the old ones may
// remain.
func shrunk(t *T) {
	var size atomic.Int64
	s := t.stage(grown(&size))
	b := s.tab()
	b.Open(arena.Origin + "/home")
	size.Store(9_000)
	posts(b, "/api/auth/callback/credentials", `{username: "ada", password: "right"}`)
	if names := s.jar(b).SessionCookies(); len(names) < 3 || claimSize(b) != 9_000 {
		t.Fatalf("a session of 9 KB is in %v", names)
	}
	size.Store(1_000)
	posts(b, "/api/auth/session", `{"data[x]": "1"}`)
	if names := s.jar(b).SessionCookies(); len(names) != 1 || names[0] != s.SessionCookie() {
		t.Errorf("after the shrink the jar has %v", names)
	}
	if got := claimSize(b); got != 1_000 {
		t.Errorf("the session has %d bytes", got)
	}
}

// evicted fills the jar from the sibling until the browser evicts the CSRF cookie.
func evicted(t *T) {
	s := t.stage(nil)
	b := s.tab()
	token := s.stolen(b)
	b.Open(subSite)
	for round := 0; ; round++ { // the browser chooses the cookies to evict
		b.Script(fmt.Sprintf(`(() => { for (let i = 0; i < 200; i++) document.cookie = "filler%d-" + i + "=x; Domain=app.test; Secure; Path=/" })()`, round), new(any))
		if _, there := b.Cookies(base)[s.CSRFCookie()]; !there {
			break
		}
		if round == 50 {
			t.Fatal("the CSRF cookie does not fall out: is the jar filled?")
		}
	}
	mails := s.Mail.Count()
	for _, origin := range []string{evilSite, subSite} {
		s.serves(origin, form(base+"/signin/email", "email", "spam@app.test", "csrfToken", token))
		s.unharmed(b, func() { b.Open(origin); b.At(base) })
	}
	if link := s.askForLink(b, "ada@app.test"); !strings.Contains(link, "ada%40app.test") || s.Mail.Count() != mails+1 {
		t.Errorf("%d mails, the last with %s", s.Mail.Count()-mails, link)
	}
}

// clearedJars signs out of sessions with one cookie and with many.
func clearedJars(t *T) {
	eachEngine(t, func(t *T, open func(*stage) surfer) {
		var size atomic.Int64
		size.Store(9_000)
		s := t.stage(grown(&size))
		b := open(s)
		s.signIn(b, "op", "ada")
		if n := len(s.jar(b).SessionCookies()); n < 3 {
			t.Errorf("the session is in %d cookies", n)
		}
		s.begin(b, "op", "/left") // leaves a transaction cookie
		s.signOut(b)
		for name := range b.Cookies(base) {
			if strings.Contains(name, "session") {
				t.Errorf("%s is left", name)
			}
		}
		s.is(b, "")
		size.Store(1)
		s.signIn(b, "op", "ada")
		s.is(b, "ada@example.com")
		s.signOut(b)
		s.is(b, "")
	})
}

// parallelTabs starts two flows in tabs of one browser.
func parallelTabs(t *T) {
	for _, second := range []string{"op", "plain", "old"} {
		for _, order := range []string{"in order", "crossed"} {
			t.Run(second+" "+order, func(t *T) {
				s := t.stage(nil)
				first := s.tab()
				other := first.Sibling()
				s.begin(first, "op", "/first")
				s.begin(other, second, "/second")
				finish := []func(){
					func() { s.choose(first, "ada"); first.At(arena.Origin + "/first"); s.is(first, "ada@example.com") },
					func() {
						s.choose(other, "grace")
						other.At(arena.Origin + "/second")
						s.named(other, "Grace Hopper")
					},
				}
				if order == "crossed" {
					finish[0], finish[1] = finish[1], finish[0]
				}
				finish[0]()
				finish[1]()
			})
		}
	}
}

// formPosts signs in and links by a cross-site POST, with which the browser sends no
// Lax cookies.
func formPosts(t *T) {
	s := t.stage(nil)
	b := s.tab()
	s.begin(b, "apple", "/home")
	sameSite(t, b)
	s.choose(b, "alan")
	b.At(arena.Origin + "/home")
	if s.email(b) == "" {
		t.Error("the flow did not complete")
	}
	s.signOut(b)

	s.signIn(b, "op", "ada")
	me := s.Person(t, s.jar(b))
	b.Open(base + "/signin?callbackUrl=/added")
	b.Click(".p-apple button[name=link]")
	s.choose(b, "katherine")
	b.At(arena.Origin + "/added")
	sameSite(t, b)
	if u, err := s.Store.GetUserByAccount(t.Context(), "apple", "katherine"); err != nil || u.ID != me || s.Person(t, s.jar(b)) != me {
		t.Errorf("linking gave %q to %q: %v", u.ID, me, err)
	}
	if _, err := s.Store.GetUserByEmail(t.Context(), "katherine@example.com"); err == nil {
		t.Error("linking made a separate user")
	}
}

// sameSite fails unless every cookie of the service is Lax.
func sameSite(t *T, b *chromium.Tab) {
	t.Helper()
	list := chromium.Send(b, network.GetCookies, network.GetCookiesParams{URLs: []string{base}}).Cookies
	for _, c := range list {
		if c.SameSite != network.CookieSameSiteLax || !c.Secure || !c.HTTPOnly || c.Path != "/" {
			t.Errorf("%s: SameSite=%s Secure=%v HttpOnly=%v Path=%s", c.Name, c.SameSite, c.Secure, c.HTTPOnly, c.Path)
		}
	}
	if len(list) < 2 {
		t.Errorf("only %d cookies", len(list))
	}
}
