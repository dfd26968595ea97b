package verify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

const partnerSite = "https://partner.test:8444"

// callbackVectors reads the corpus of callbackUrl values.
func callbackVectors(t *T) []string {
	t.Helper()
	f, err := os.Open("engine/testdata/redirects.txt")
	if err != nil {
		f, err = os.Open("../engine/testdata/redirects.txt")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, literal, _ := strings.Cut(lines.Text(), " ")
		if word == "#" {
			continue
		}
		v, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if len(list) < 400 {
		t.Fatalf("only %d vectors", len(list))
	}
	return list
}

// parsersAgree makes browser engines parse the service's version of every vector, and
// every vector that the service accepts unchanged.
func parsersAgree(t *T) {
	allowed := []string{arena.Origin, partnerSite}
	vectors := callbackVectors(t)
	eachEngine(t, func(t *T, open func(*stage) surfer) {
		s := t.stage(func(c *authsvc.Config) { c.AllowedRedirects = []string{partnerSite} })
		jar, accepted := s.Browser(), 0
		var made []string
		for _, v := range vectors {
			to := jar.Post("/api/auth/signout", "callbackUrl", v).Location()
			made = append(made, to)
			if to != arena.Origin && utf8.ValidString(v) {
				made = append(made, v)
				accepted++
			}
		}
		raw, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		b := open(s)
		b.Open(arena.Origin + "/home")
		var origins []string
		b.Script(fmt.Sprintf(`%s.map((v) => { try { return new URL(v, %q).origin } catch { return "none" } })`, raw, base+"/signin"), &origins)
		for i, o := range origins {
			if !slices.Contains(allowed, o) {
				t.Errorf("%q leads to %s", made[i], o)
			}
		}
		if accepted < 20 || len(origins) != len(made) {
			t.Errorf("%d accepted, %d of %d read", accepted, len(origins), len(made))
		}
		var foreign string // checks that the oracle can tell
		if b.Script(`new URL("/\t/evil.test", location.href).origin`, &foreign); foreign != evilSite {
			t.Errorf("twin: /\\t/evil.test is %s", foreign)
		}
		t.Figure("%d vectors, %d of them accepted", len(vectors), accepted)
	})
}

// reflected puts values that break out of attributes, or run as an address, into
// callbackUrl.
func reflected(t *T) {
	s := t.stage(nil)
	b := s.tab()
	for _, signedIn := range []bool{false, true} {
		if signedIn {
			s.signIn(b, "op", "ada")
		}
		for _, v := range []string{`"><script>window.hit=1</script>`, `'><img src=x onerror=window.hit=1>`, `javascript:window.hit=1`, "java\tscript:window.hit=1",
			`data:text/html,<script>window.hit=1</script>`, `vbscript:x`, "//evil.test", polyglot} {
			for _, path := range []string{"/signin", "/signout", "/signin/op", "/verify-request", "/error"} {
				b.Open(base + path + "?callbackUrl=" + url.QueryEscape(v))
				clean(t, b, path+" with "+v)
			}
			if signedIn {
				continue
			}
			b.Open(base + "/signin?callbackUrl=" + url.QueryEscape(v))
			b.Click(".p-op button:not([name])")
			s.choose(b, "ada")
			b.At(arena.Origin + "/")
			if got := b.URL(); !strings.HasPrefix(got, arena.Origin+"/") {
				t.Errorf("%s leads to %s", v, got)
			}
			s.signOut(b)
		}
	}
	s.signIn(b, "op", "ada") // twin: /home is kept
}

// nothingOnward follows sign-ins to their last page, which loads a picture from
// another site. It checks the page's address and every Referer.
func nothingOnward(t *T) {
	s := t.stage(nil)
	referers := make(chan string, 100)
	s.net.Serve(evilSite, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { referers <- r.Referer() }))
	s.app.HandleFunc("GET /home", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Referrer-Policy", "unsafe-url") // the worst policy that an application can set
		writePage(w, `<title>Home</title><img src="`+evilSite+`/pixel"><p id="from"></p><script>document.getElementById("from").textContent = document.referrer</script>`)
	})
	b := s.tab()
	last := func(how string) {
		t.Helper()
		if got := b.URL(); got != arena.Origin+"/home" {
			t.Errorf("%s ends at %s", how, got)
		}
		if got := chromium.Eval[string](b, `document.referrer`); leaks(got) {
			t.Errorf("%s: the last page comes from %s", how, got)
		}
		if got := <-referers; got != arena.Origin+"/home" {
			t.Errorf("%s: the picture's Referer is %q", how, got)
		}
		for _, v := range s.visits() {
			if leaks(v.referer) {
				t.Errorf("%s: %s has Referer %s", how, v.route, v.referer)
			}
		}
		s.signOut(b)
	}
	for _, provider := range []string{"op", "plain", "old", "apple"} {
		s.signIn(b, provider, "katherine")
		last(provider)
	}
	b.Open(s.askForLink(b, "ada@app.test"))
	b.At(arena.Origin + "/home")
	last("a link")

	s.Browser().Post("/api/auth/signin/email", "email", "grace@app.test", "callbackUrl", "/home")
	b.Open(arena.Link(t, s.Mail.Next(t)))
	b.Click("#submitButton")
	b.At(arena.Origin + "/home")
	last("a confirmed link")
	if got := s.jar(b).Get("/api/auth/error?error=Callback").Header.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("the error page has Referrer-Policy %q", got)
	}
}

// leaks reports whether an address contains more than an origin and a plain path.
func leaks(address string) bool {
	for _, word := range []string{"code=", "state=", "token=", "email=", "oauth_", "%40", "@"} {
		if strings.Contains(address, word) {
			return true
		}
	}
	return false
}

// loops uses the service's own routes as redirect targets.
func loops(t *T) {
	s := t.stage(nil)
	b := s.tab()
	most := 0
	for _, to := range []string{"/api/auth", "/api/auth/signin", "/api/auth/signin/op", "/api/auth/signout", "/api/auth/callback/op", "/api/auth/callback/email", "/api/auth/error",
		"/api/auth/signin?callbackUrl=/api/auth/signin", "/api/auth/verify-request", "/api/auth/session"} {
		s.begin(b, "op", url.QueryEscape(to))
		s.visits()
		s.choose(b, "ada")
		b.At(arena.Origin)
		hops := 0
		for _, v := range s.visits() {
			if strings.HasPrefix(v.route, "GET /api/auth") && !strings.Contains(v.route, ".css") {
				hops++
			}
			if v.status >= 500 {
				t.Errorf("%s: %s is %d", to, v.route, v.status)
			}
		}
		most = max(most, hops)
		if hops > 5 {
			t.Errorf("%s takes %d hops", to, hops)
		}
		s.is(b, "ada@example.com")
		s.signOut(b)
	}
	t.Figure("at most %d hops", most)
}
