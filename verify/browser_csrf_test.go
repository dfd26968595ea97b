package verify

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

// oddOrigins posts with the victim's own token from origins that resemble the
// service's.
func oddOrigins(t *T) {
	s := t.stage(nil)
	b := s.tab()
	s.signIn(b, "op", "ada")
	post := form(base+"/signout", "csrfToken", s.stolen(b), "callbackUrl", "/bye")
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writePage(w, post) })
	for _, origin := range []string{arena.Origin + ":8443", "http://app.test", "http://app.test.", "http://app.test:8080"} {
		s.net.Serve(origin, page)
		s.unharmed(b, func() {
			s.visits()
			b.Open(origin + "/odd")
			if status := s.comes("POST /api/auth/signout"); status != http.StatusForbidden {
				t.Errorf("%s: status %d", origin, status)
			}
		})
	}
	s.app.HandleFunc("GET /sandbox", func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, `<iframe sandbox="allow-forms allow-scripts" srcdoc="`+html.EscapeString(post)+`"></iframe>`)
	})
	s.unharmed(b, func() {
		s.visits()
		b.Open(arena.Origin + "/sandbox") // our own origin, but its sandboxed frame has none
		if status := s.comes("POST /api/auth/signout"); status != http.StatusForbidden {
			t.Errorf("origin null: status %d", status)
		}
	})
	s.app.HandleFunc("GET /own", page)
	b.Open("https://APP.test:443/own") // normalises to the service's origin
	b.At(arena.Origin + "/bye")
	s.is(b, "")
}

// forgedMail makes the victim's browser request a link to the attacker's mailbox.
func forgedMail(t *T) {
	eachEvil(t, func(t *T, evil string) {
		s := t.stage(nil)
		b := s.tab()
		for _, token := range []string{"", s.stolen(b), s.Browser().CSRF()} {
			s.serves(evil, form(base+"/signin/email", "email", "mallory@evil.test", "csrfToken", token))
			s.unharmed(b, func() { b.Open(evil); b.At(base) })
		}
		if n := s.Mail.Count(); n != 0 {
			t.Errorf("%d mails were sent", n)
		}
		if link := s.askForLink(b, "ada@app.test"); !strings.Contains(link, "ada%40app.test") || s.Mail.Count() != 1 {
			t.Errorf("%d mails, the last with %s", s.Mail.Count(), link)
		}
	})
}

// sessionSwap loads the attacker's callback in the victim's browser.
func sessionSwap(t *T) {
	eachEvil(t, func(t *T, evil string) {
		for _, provider := range []string{"op", "plain", "old"} {
			s := t.stage(nil)
			own, callback := s.ofAttacker(provider)
			stranger, victim := s.tab(), s.tab()
			s.signIn(victim, "op", "ada")
			for _, b := range []*chromium.Tab{stranger, victim} {
				s.unharmed(b, func() { s.lures(b, evil, callback) })
			}
			if own.Get(callback); s.Person(t, own) == "" {
				t.Errorf("twin: %s does not sign the attacker in", provider)
			}
		}
	})
}

// forcedLink does the same against the victim's account, also with an attacker's
// attempt that requests linking.
func forcedLink(t *T) {
	eachEvil(t, func(t *T, evil string) {
		for _, intent := range []bool{false, true} {
			s := t.stage(nil)
			own, callback := s.ofAttacker("op")
			if intent {
				own = s.Browser()
				own.SignInByMail(s.World, "mallory@evil.test")
				callback = own.Approve(s.OP, own.Begin("op", "link", "true"), "grace")
			}
			b := s.tab()
			s.signIn(b, "op", "ada")
			s.unharmed(b, func() { s.lures(b, evil, callback) })
			s.notLinked(t, "op", "grace")
			who := s.Person(t, own)
			own.Get(callback)
			if u, err := s.Store.GetUserByAccount(t.Context(), "op", "grace"); err != nil || intent && u.ID != who {
				t.Errorf("twin: in the attacker's browser grace is of %q, %v", u.ID, err)
			}
		}
	})
}

// forcedSignOut tries every request to /signout, with and without a token.
func forcedSignOut(t *T) {
	eachEvil(t, func(t *T, evil string) {
		s := t.stage(nil)
		b := s.tab()
		s.signIn(b, "op", "ada")
		token := s.stolen(b)
		s.unharmed(b, func() {
			for _, target := range []string{"/signout", "/signout?csrfToken=" + token} {
				s.lures(b, evil, base+target)
			}
			for _, fields := range [][]string{nil, {"csrfToken", token}, {"csrfToken", token, "json", "true"}} {
				s.serves(evil, form(base+"/signout", fields...))
				b.Open(evil)
				b.At(base)
			}
		})
		s.signOut(b)
		s.is(b, "")
	})
}

// sentLink sends the victim a link to the attacker's account.
func sentLink(t *T) {
	for _, who := range []string{"", "ada@example.com"} {
		t.Run("as "+who, func(t *T) {
			s := t.stage(nil)
			attacker := s.Browser()
			attacker.Post("/api/auth/signin/email", "email", "mallory@evil.test", "callbackUrl", "/taken")
			link := arena.Link(t, s.Mail.Next(t))
			b := s.tab()
			if who != "" {
				s.signIn(b, "op", "ada")
			}
			for _, evil := range []string{evilSite, subSite} {
				s.unharmed(b, func() { s.lures(b, evil, link) })
			}
			b.Shows("mallory@evil.test")
			if who != "" {
				b.Shows(who)
			}
			b.Click("#submitButton") // only the person's own click signs in
			b.At(arena.Origin + "/taken")
			s.is(b, "mallory@evil.test")
		})
	}
}

// framed loads every page in a frame. The frame must stay blank.
func framed(t *T) {
	eachEvil(t, func(t *T, evil string) {
		s := t.stage(nil)
		s.app.HandleFunc("GET /framed", func(w http.ResponseWriter, _ *http.Request) {
			writePage(w, `<script>parent.postMessage("framed", "*")</script>`)
		})
		b := s.tab()
		s.signIn(b, "op", "ada")
		s.Browser().Post("/api/auth/signin/email", "email", "mallory@evil.test")
		link := arena.Link(t, s.Mail.Next(t))
		s.serves(evil, `<title>Evil</title><iframe id="frame"></iframe><script>
addEventListener("message", (m) => { document.title = m.data })
</script>`)
		b.Open(evil)
		frame := func(u string) {
			b.Script(`new Promise((done) => { const f = document.getElementById("frame"); f.onload = () => done(true); f.src = `+chromium.Quote(u)+` })`, new(bool))
		}
		frame(arena.Origin + "/framed")
		b.Wait(`document.title === "framed"`)
		for _, u := range []string{base + "/signin", base + "/signout", base + "/error?error=AccessDenied", base + "/verify-request", link} {
			b.Trouble()
			frame(u)
			told := func() bool {
				return slices.ContainsFunc(b.Trouble(), func(p string) bool { return strings.Contains(p, "frame-ancestors") })
			}
			s.eventually(told, "the browser was not told to leave the frame blank: "+u)
		}
	})
}

// included loads the service's answers as scripts, images and opaque responses.
func included(t *T) {
	ways := `(async (u) => {
		const tag = (name) => new Promise((done) => {
			const e = document.createElement(name)
			e.onload = () => done("loaded"); e.onerror = () => done("blocked")
			e.src = u; document.body.append(e)
		})
		const get = (mode) => fetch(u, {mode, credentials: "include"}).then((r) => r.text().then((t) => t.length > 2 ? "read" : r.type), () => "blocked")
		return [await tag("script"), await tag("img"), await get("no-cors"), await get("cors")].join(" ")
	})`
	s := t.stage(nil)
	b := s.tab()
	s.signIn(b, "op", "ada")
	for _, origin := range []string{evilSite, subSite} {
		for _, path := range []string{"/csrf", "/session", "/providers"} {
			b.Open(origin)
			var got string
			b.Script(fmt.Sprintf(`Promise.race([%s(%q), new Promise((done) => setTimeout(() => done("nothing came"), 8000))])`,
				ways, base+path), &got)
			if got != "blocked blocked blocked blocked" {
				t.Errorf("%s gets %s as script, img, no-cors and cors: %s", origin, path, got)
			}
		}
	}
	b.Open(arena.Origin + "/home")
	var own string
	if b.Script(`fetch("/api/auth/session").then((r) => r.text())`, &own); !strings.Contains(own, "ada@example.com") {
		t.Errorf("twin: the own page reads %s", own)
	}
}
