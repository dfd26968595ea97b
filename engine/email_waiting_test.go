package engine_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
)

// openedAt is the address of the page that waits for a link, after "I have opened the
// link".
const openedAt = arena.Origin + "/api/auth/verify-request?provider=email&type=email&opened=true"

// TestVerifyRequestContinues checks that the page continues after its link was opened in
// this browser, and no sooner.
func TestVerifyRequestContinues(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b, other := w.Browser(), w.Browser()
		page := b.Post("/api/auth/signin/email", "email", "ada@app.test", "callbackUrl", "/in").Location()
		link := arena.Link(t, w.Mail.Next(t))
		const next = arena.Origin + "/api/auth/verify-request?provider=email&type=email&opened=true"
		a := b.Get(page)
		if !strings.Contains(a.Text, `data-session="`+arena.Origin+`/api/auth/session" data-next="`+html.EscapeString(next)+`" data-seconds="600"`) && !strings.Contains(a.Text, `data-seconds="599"`) {
			t.Errorf("the page does not wait: %s", a.Text)
		}
		other.Get(link)
		if a := b.Get(next); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "I have opened the link") || !strings.Contains(a.Text, "This browser is not signed in.") {
			t.Errorf("not opened yet: %d %s %s", a.StatusCode, a.Location(), a.Text)
		}
		b.Get(link)
		if a := b.Get(next); a.Location() != arena.Origin+"/in" {
			t.Errorf("opened: %d %s", a.StatusCode, a.Location())
		}
		if a := b.Get(page); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "You are already signed in") || !strings.Contains(a.Text, `href="`+arena.Origin+`/in"`) {
			t.Errorf("the page itself: %d %s %s", a.StatusCode, a.Location(), a.Text)
		}
		if a := other.Get(next); a.StatusCode != http.StatusOK {
			t.Errorf("in another browser: %d %s", a.StatusCode, a.Location())
		}
		// An existing session says nothing about the next link.
		b.Post("/api/auth/signin/email", "email", "bob@app.test")
		if a := b.Get(next); a.StatusCode != http.StatusOK || strings.Contains(a.Text, "<script") || strings.Contains(a.Text, "<noscript") || !strings.Contains(a.Text, "This browser is still signed in as <bdi>ada@app.test</bdi>.") {
			t.Errorf("signed in before: %d %s %s", a.StatusCode, a.Location(), a.Text)
		}
	})
}

// TestLinkLimitIsSaid checks that the page tells this browser when its requests have
// reached the limit.
func TestLinkLimitIsSaid(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.EmailPerAddress = authsvc.Rate{N: 3, Per: time.Hour} })
	b := w.Browser()
	for i := 1; i <= 4; i++ {
		a := b.Get(b.Post("/api/auth/signin/email", "email", "ada@app.test").Location())
		if said, again := strings.Contains(a.Text, "3 an hour is the limit"), strings.Contains(a.Text, "Send another code"); said != (i >= 3) || again != (i < 3) {
			t.Errorf("after %d: said %v, another %v", i, said, again)
		}
	}
	if a := b.Get(b.Post("/api/auth/signin/email", "email", "bob@app.test").Location()); strings.Contains(a.Text, "the limit") {
		t.Error("another address has the count of the first")
	}
}

// TestSignedInSinceContinues checks that a person who has signed in since the last
// request continues, whatever else is pending, and only to allowed addresses. The other
// requests keep their rights: their links ask for confirmation.
func TestSignedInSinceContinues(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.Post("/api/auth/signin/email", "email", "wrong@app.test", "callbackUrl", "/in")
		wrong := arena.Link(t, w.Mail.Next(t))
		page := b.Post("/api/auth/signin/email", "email", "right@app.test", "callbackUrl", "/in").Location()
		if a := b.Get(arena.Link(t, w.Mail.Next(t))); a.Location() != arena.Origin+"/in" || b.Email() != "right@app.test" {
			t.Fatalf("the right link: %d %s as %q", a.StatusCode, a.Location(), b.Email())
		}
		for query, want := range map[string]string{"": "/in", "&callbackUrl=/other": "/other", "&callbackUrl=https://evil.example/": "", "&callbackUrl=//evil.example": ""} {
			if a := b.Get(openedAt + query); a.StatusCode != http.StatusFound || a.Location() != arena.Origin+want {
				t.Errorf("%q: %d %s", query, a.StatusCode, a.Location())
			}
		}
		if a := b.Get(page); !strings.Contains(a.Text, "You are already signed in") || strings.Contains(a.Text, "wrong@app.test") {
			t.Errorf("the page itself: %d %s", a.StatusCode, a.Text)
		}
		if a := b.Get(wrong); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "You are signed in here as <bdi>right@app.test</bdi>") || b.Email() != "right@app.test" {
			t.Errorf("the other link: %d %s", a.StatusCode, a.Text)
		}
		if a := b.Post("/api/auth/callback/email", formOf(t, wrong)...); b.Email() != "wrong@app.test" {
			t.Errorf("the other link, confirmed: %d %s", a.StatusCode, a.Location())
		}
		// It does not matter how the person signed in.
		c := w.Browser()
		c.Post("/api/auth/signin/email", "email", "eve@app.test", "callbackUrl", "/in")
		c.SignIn(w.OP, "ada", "callbackUrl", "/there")
		if a := c.Get(openedAt); a.Location() != arena.Origin+"/there" {
			t.Errorf("signed in at a provider: %d %s", a.StatusCode, a.Location())
		}
		c.Post("/api/auth/signout")
		if a := c.Get(openedAt); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "eve@app.test") {
			t.Errorf("twin, signed out: %d %s", a.StatusCode, a.Location())
		}
	})
}

// TestOpenedElsewhere checks what a person reads who opened the link in another browser,
// and that the page says the same whether or not the link was used: only a reader of
// the mailbox may learn that.
func TestOpenedElsewhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		codes bool
		does  string
	}{"links": {false, "Send another link, and open it in this browser."}, "codes": {true, "Send another code to sign in here."}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) {
				for _, p := range c.Providers {
					if e, ok := p.(*authsvc.Email); ok {
						e.Codes = new(tt.codes)
					}
				}
			})
			b, other := w.Browser(), w.Browser()
			b.Post("/api/auth/signin/email", "email", "ada@app.test", "callbackUrl", "/in")
			m := w.Mail.Next(t)
			seconds := regexp.MustCompile(`data-seconds="\d+"`)
			look := func() string { return seconds.ReplaceAllString(b.Get(openedAt).Text, "") }
			before := look()
			other.Get(arena.Link(t, m))
			other.Post("/api/auth/callback/email", formOf(t, arena.Link(t, m))...)
			if other.Email() != "ada@app.test" {
				t.Fatalf("the other browser: %q", other.Email())
			}
			if after := look(); after != before || !strings.Contains(after, "This browser is not signed in.") || !strings.Contains(after, tt.does) || strings.Contains(after, `name="code"`) != tt.codes {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if !tt.codes {
				return
			}
			a := submit(b, "ada@app.test", wrong(arena.Code(m)))
			if a.Location() != wrongCodeAt+"&left=4" {
				t.Errorf("a wrong code: %d %s", a.StatusCode, a.Location())
			}
			a = submit(b, "ada@app.test", arena.Code(m))
			if !strings.Contains(a.Location(), "error=Verification") || !strings.Contains(a.Location(), "reason=used") || b.Email() != "" {
				t.Errorf("the code of a used link: %d %s", a.StatusCode, a.Location())
			}
			if a := b.Get(a.Location()); !strings.Contains(a.Text, "This code no longer works") || !strings.Contains(a.Text, "Email me a new code") || !strings.Contains(a.Text, `value="ada@app.test"`) || strings.Contains(a.Text, "sign in link") {
				t.Errorf("it says: %s", a.Text)
			}
		})
	}
}

// TestExpiredRequest checks that for an hour a browser knows that its request has
// expired, and that the request proves nothing then.
func TestExpiredRequest(t *testing.T) {
	t.Parallel()
	const page = "/api/auth/verify-request?provider=email&type=email"
	for _, tt := range []struct {
		after       time.Duration
		reason      string
		shows, none []string
	}{
		{10*time.Minute - time.Second, "", []string{"Check your email", `name="code"`, "ada@app.test"}, []string{"has expired"}},
		{10 * time.Minute, "&reason=expired", []string{"The code has expired", "Send another code", "ada@app.test"}, []string{`name="code"`, "<script", "I have opened"}},
		{70*time.Minute - time.Second, "&reason=expired", []string{"The code has expired"}, nil},
		{70 * time.Minute, "&reason=elsewhere", []string{"Enter your address again"}, []string{"ada@app.test", "has expired"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			mails, at := withMail(t, nil)
			g := at("203.0.113.1:1")
			g.ask("ada@app.test")
			m := <-mails
			time.Sleep(tt.after)
			text := g.get(page).text
			for _, s := range tt.shows {
				if !strings.Contains(text, s) {
					t.Errorf("after %s: no %q in %s", tt.after, s, text)
				}
			}
			for _, s := range tt.none {
				if strings.Contains(text, s) {
					t.Errorf("after %s: %q in %s", tt.after, s, text)
				}
			}
			if tt.reason == "" {
				if r := g.post("/api/auth/callback/email", "email", "ada@app.test", "code", arena.Code(m)); !r.in() {
					t.Errorf("twin, in time: %d %s", r.StatusCode, r.Header.Get("Location"))
				}
				return
			}
			for range codeTriesAndOne { // no try is taken
				if r := g.post("/api/auth/callback/email", "email", "ada@app.test", "code", arena.Code(m)); r.in() || !strings.HasSuffix(r.Header.Get("Location"), tt.reason) || !strings.Contains(r.Header.Get("Location"), "error=Verification") {
					t.Errorf("after %s: %d %s", tt.after, r.StatusCode, r.Header.Get("Location"))
				}
			}
			if r := g.get(arena.Link(t, m)); r.in() || !strings.Contains(r.Header.Get("Location"), "error=Verification") {
				t.Errorf("the link after %s: %d %s", tt.after, r.StatusCode, r.Header.Get("Location"))
			}
			// The next request replaces it.
			g.ask("bob@app.test")
			code := arena.Code(<-mails)
			if r := g.post("/api/auth/callback/email", "email", "ada@app.test", "code", code); !strings.HasSuffix(r.Header.Get("Location"), "&reason=elsewhere") {
				t.Errorf("after the next request: %s", r.Header.Get("Location"))
			}
			if r := g.post("/api/auth/callback/email", "email", "bob@app.test", "code", code); !r.in() || g.cookies["__Host-authsvc.email"] != "" {
				t.Errorf("twin, the next code: %d %s, cookie %q", r.StatusCode, r.Header.Get("Location"), g.cookies["__Host-authsvc.email"])
			}
		})
	}
}

const codeTriesAndOne = 6

// TestChangeAddress checks that the sign-in page shows the address of the last request
// for correction, and that no address of a page contains it.
func TestChangeAddress(t *testing.T) {
	t.Parallel()
	const change, typed = "/api/auth/verify-request?provider=email&type=email&change=true", "__Host-authsvc.typed"
	w := arena.Start(t, nil)
	b := w.Browser()
	b.Post("/api/auth/signin/email", "email", "adda@app.test", "callbackUrl", "/in")
	w.Mail.Next(t)
	if a := b.Get("/api/auth/verify-request"); !strings.Contains(a.Text, `href="`+html.EscapeString(arena.Origin+change)+`"`) {
		t.Errorf("no link: %s", a.Text)
	}
	a := b.Get(change + "&ui_locales=de")
	if a.Location() != arena.Origin+"/api/auth/signin?ui_locales=de#input-email-for-email-provider" {
		t.Fatalf("%d %s", a.StatusCode, a.Location())
	}
	if a := b.Get(a.Location()); !strings.Contains(a.Text, `id="input-email-for-email-provider" type="text" name="email" value="adda@app.test"`) {
		t.Errorf("the sign-in page: %s", a.Text)
	}
	b.Post("/api/auth/signin/email", "email", "ada@app.test")
	if a := b.Get(arena.Link(t, w.Mail.Next(t))); a.Location() != arena.Origin+"/in" {
		t.Errorf("the corrected address: %d %s", a.StatusCode, a.Location())
	}
	if b.Cookies[typed] != "" {
		t.Error("the address outlives the sign-in")
	}
	fresh := w.Browser()
	if a := fresh.Get(change + "&email=" + url.QueryEscape("eve@app.test")); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/signin#") || fresh.Cookies[typed] != "" {
		t.Errorf("no request: %d %s", a.StatusCode, a.Location())
	}
	own := arena.Start(t, func(c *authsvc.Config) { c.Pages.SignIn = "/welcome" })
	there := own.Browser()
	there.Post("/api/auth/signin/email", "email", "ada@app.test")
	if a := there.Get(change); a.Location() != arena.Origin+"/api/auth/signin" || there.Cookies[typed] != "" {
		t.Errorf("an own sign-in page: %d %s", a.StatusCode, a.Location())
	}
}
