package engine_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// ask requests a link and returns it as mailed.
func ask(w *arena.World, t *testing.T, b *arena.Browser, address string, fields ...string) string {
	t.Helper()
	b.Post("/api/auth/signin/email", append([]string{"email", address}, fields...)...)
	return arena.Link(t, w.Mail.Next(t))
}

func TestEmailLinkConfirmation(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, nil)
	t.Run("opened by another user", func(t *testing.T) {
		attacker, anonymous, signedIn := w.Browser(), w.Browser(), w.Browser()
		signedIn.SignInByMail(w, "me@app.test")
		l := ask(w, t, attacker, "evil@app.test")
		for _, victim := range []*arena.Browser{anonymous, signedIn} {
			was := w.Person(t, victim)
			if a := victim.Get(l); a.StatusCode != 200 || !strings.Contains(a.Text, "evil@app.test") || w.Person(t, victim) != was {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
			w.MustRefuse(t, func() *browser.Answer {
				q := arena.MustURL(t, l).Query()
				return victim.Form("/api/auth/callback/email", q)
			})
		}
		// The browser that asked is also asked to confirm while another user is signed
		// in there.
		l = ask(w, t, signedIn, "other@app.test")
		if a := signedIn.Get(l); a.StatusCode != 200 || signedIn.Email() != "me@app.test" {
			t.Errorf("a live session was replaced without a click: %d %s", a.StatusCode, a.Location())
		}
		if a := signedIn.Post("/api/auth/callback/email", formOf(t, l)...); a.Location() != arena.Origin || signedIn.Email() != "other@app.test" {
			t.Errorf("twin: after the click: %s", a.Location())
		}
	})
}

// TestDeadEmailLink opens and confirms links that sign no one in. A person who is
// signed in with the address is told so. Others are led to the form for the next link,
// whether or not a link with that token ever existed.
func TestDeadEmailLink(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		owner := w.Browser()
		l := ask(w, t, owner, "ada@app.test", "callbackUrl", "/in")
		if a := owner.Get(l); a.Location() != arena.Origin+"/in" {
			t.Fatalf("the link: %d %s", a.StatusCode, a.Location())
		}
		alsoAda, bob, visitor := w.Browser(), w.Browser(), w.Browser()
		alsoAda.SignInByMail(w, "ada@app.test")
		bob.SignInByMail(w, "bob@app.test")
		invented := strings.Replace(l, "token=", "token=x", 1)
		foreign := strings.Replace(l, "ada%40", "eve%40", 1)
		confirm := func(b *arena.Browser, link string, more ...string) *browser.Answer {
			return b.Post("/api/auth/callback/email", append(formOf(t, link), more...)...)
		}
		for _, tt := range []struct {
			name    string
			b       *arena.Browser
			link    string
			already bool
		}{
			{"in the browser that used it", owner, l, true},
			{"in another browser of the person", alsoAda, l, true},
			{"with another user signed in", bob, l, false},
			{"with no user signed in", visitor, l, false},
			{"with an invented token", visitor, invented, false},
			{"with another address", visitor, foreign, false},
			{"with another address, signed in", owner, foreign, false},
		} {
			was := w.Person(t, tt.b)
			for how, a := range map[string]*browser.Answer{"GET": tt.b.Get(tt.link), "POST": confirm(tt.b, tt.link)} {
				switch already := a.StatusCode == http.StatusOK && strings.Contains(a.Text, "You are already signed in") &&
					strings.Contains(a.Text, `href="`+arena.Origin+`/in"`); {
				case already != tt.already:
					t.Errorf("%s, %s: %d %s %s", tt.name, how, a.StatusCode, a.Location(), a.Text)
				case !already && !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/error?error=Verification&request="):
					t.Errorf("%s, %s: %d %s", tt.name, how, a.StatusCode, a.Location())
				}
			}
			if w.Person(t, tt.b) != was {
				t.Errorf("%s: another session", tt.name)
			}
		}
		if a := confirm(owner, l, "json", "true"); !strings.Contains(a.Text, "error=Verification") {
			t.Errorf("a script: %d %s", a.StatusCode, a.Text)
		}
		page := visitor.Get(visitor.Get(l).Location())
		for _, want := range []string{"The sign in link is no longer valid.", `value="ada@app.test"`, `action="` + arena.Origin + `/api/auth/signin/email"`, `name="callbackUrl" value="` + arena.Origin + `/in"`} {
			if page.StatusCode != http.StatusForbidden || !strings.Contains(page.Text, want) {
				t.Errorf("the page: %d, no %s", page.StatusCode, want)
			}
		}
		if fresh := ask(w, t, visitor, "ada@app.test"); visitor.Get(fresh).Location() == "" || visitor.Email() != "ada@app.test" {
			t.Error("twin: the next link does not sign in")
		}
	})
}

// TestConfirmPageClaimsNothing checks that the page does not claim to know why a
// browser does not know a link.
func TestConfirmPageClaimsNothing(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, nil)
	asker, other := w.Browser(), w.Browser()
	l := ask(w, t, asker, "ada@app.test")
	for range 5 {
		a := other.Get(l)
		if a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "Sign in as") || !strings.Contains(a.Text, "ada@app.test") {
			t.Fatalf("%d %s", a.StatusCode, a.Text)
		}
		if strings.Contains(a.Text, "outside") || strings.Contains(a.Text, "another browser") {
			t.Errorf("the page claims that another browser requested the link: %s", a.Text)
		}
	}
	if a := asker.Get(l); a.Location() != arena.Origin || asker.Email() != "ada@app.test" {
		t.Errorf("twin: viewing the page used up the link: %d %s", a.StatusCode, a.Location())
	}
}

// TestLookingAtLinks checks that the answer says that a link is no longer valid, and
// that only valid links can be looked at without limit.
func TestLookingAtLinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mails, at := withMail(t, func(c *authsvc.Config) { c.RateLimit.Link = authsvc.Rate{N: 3, Per: time.Hour} })
		asker, other := at("203.0.113.1:1"), at("203.0.113.2:1")
		asker.ask("ada@app.test")
		link := mails.link(t)
		time.Sleep(10*time.Minute - time.Second)
		for range 10 {
			if r := other.get(link); r.StatusCode != http.StatusOK {
				t.Fatalf("just before its end: %d", r.StatusCode)
			}
		}
		time.Sleep(time.Second)
		for i := range 3 {
			if r := other.get(link); !strings.Contains(r.Header.Get("Location"), "error=Verification") {
				t.Errorf("at its end, %d: %d %s", i, r.StatusCode, r.Header.Get("Location"))
			}
		}
		if r := other.get(link); r.StatusCode != http.StatusTooManyRequests {
			t.Errorf("one too many: %d", r.StatusCode)
		}
		if r := asker.get(link); !strings.Contains(r.Header.Get("Location"), "error=Verification") {
			t.Errorf("in the browser that asked: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
	})
}
