package verify

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"authsvc/internal/test/arena"
)

// fixedAuthorization makes the victim approve a sign-in that the attacker's browser
// began.
func fixedAuthorization(t *T) { fixed(t, "op", "plain") }

// fixedRequestToken does the same with OAuth 1.0a, where the address that the victim
// receives contains the request token.
func fixedRequestToken(t *T) {
	fixed(t, "old")
	t.Run("swapped", func(t *T) {
		s := t.stage(nil)
		_, callback := s.ofAttacker("old")
		theirs := arena.MustURL(t, callback).Query()
		b := s.tab()
		s.begin(b, "old", "/home") // the victim has an attempt of their own
		mine := arena.MustURL(t, s.approve(b.URL(), "ada"))
		for _, keep := range []string{"", "state"} { // parameters of the victim's own callback
			q := url.Values{}
			for name, v := range theirs {
				q[name] = v
			}
			if keep != "" && mine.Query().Has(keep) {
				q[keep] = mine.Query()[keep]
			}
			s.unharmed(b, func() { b.Open(base + "/callback/old?" + q.Encode()); b.At(base) })
		}
		s.signIn(b, "old", "ada")
	})
}

func fixed(t *T, providers ...string) {
	for _, provider := range providers {
		for _, started := range []bool{false, true} { // whether the victim has an attempt of their own
			t.Run(fmt.Sprintf("%s started=%v", provider, started), func(t *T) {
				s := t.stage(nil)
				attacker := s.Browser()
				begun := attacker.Begin(provider)
				b := s.tab()
				if started {
					s.begin(b, provider, "/home")
				}
				s.unharmed(b, func() {
					b.Open(begun)
					s.choose(b, "ada")
					b.At(base) // which refuses it
				})
				s.notLinked(t, provider, "ada")
				if attacker.Email() != "" {
					t.Error("the attacker is signed in")
				}
				s.signIn(b, provider, "ada")
				if got := s.Person(t, s.jar(b)); got == "" {
					t.Error("twin: the victim's own attempt does not sign in")
				}
			})
		}
	}
}

// scriptedScanner opens a link in a browser that runs the page's scripts for a while,
// moves the mouse and reads, but clicks nothing.
func scriptedScanner(t *T) {
	seconds := t.Scale("seconds in the scanner", 1, 5, 30)
	s := t.stage(nil)
	owner := s.tab()
	link := s.askForLink(owner, "ada@app.test")
	scanner := s.tab()
	s.unharmed(scanner, func() {
		scanner.Open(link)
		scanner.Shows("ada@app.test")
		scanner.Script(fmt.Sprintf(`new Promise((done) => {
			for (const a of document.links) fetch(a.href).catch(() => {})
			for (const e of ["load", "focus", "scroll", "mousemove", "pagehide"]) dispatchEvent(new Event(e))
			setTimeout(() => done(true), %d)
		})`, int64(seconds)*int64(time.Second/time.Millisecond)), new(bool))
		scanner.Open(link)
		scanner.Shows("ada@app.test")
	})
	owner.Open(link)
	owner.At(arena.Origin + "/home")
	s.is(owner, "ada@app.test")
}

// otherDevice opens a link in a browser that did not request it. A page names the
// address. Only a click there signs in, only in that browser, and only once.
func otherDevice(t *T) {
	s := t.stage(nil)
	asked, other := s.tab(), s.tab()
	link := s.askForLink(asked, "ada@app.test")
	s.unharmed(other, func() {
		other.Open(link)
		other.Shows("ada@app.test")
	})
	if !strings.HasPrefix(other.URL(), base+"/callback/email") {
		t.Errorf("the page is at %s", other.URL())
	}
	other.Click("#submitButton")
	other.At(arena.Origin + "/home")
	s.is(other, "ada@app.test")
	s.unharmed(asked, func() { asked.Open(link); asked.At(base) })
	s.is(asked, "")
	own := s.askForLink(asked, "ada@app.test")
	asked.Open(own)
	asked.At(arena.Origin + "/home")
	s.is(asked, "ada@app.test")
}
