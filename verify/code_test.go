package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// The email checks use links. These check that codes cannot bypass them.
var codeChecks = checks{
	"01": {title: "attempts at a mailed code", run: code01},
	"02": {title: "another browser's cookie", run: code02},
	"03": {title: "account enumeration through codes", run: code03, once: true, alone: true},
	"04": {title: "the checks of links, with codes", run: code04},
}

// codesOn switches codes on in every compat mode.
func codesOn(tune func(*authsvc.Config)) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		for _, p := range c.Providers {
			if e, ok := p.(*authsvc.Email); ok {
				e.Codes = new(true)
			}
		}
		if tune != nil {
			tune(c)
		}
	}
}

// codeAsk requests a mail and returns its code and its link.
func codeAsk(t *T, w *arena.World, b *arena.Browser, address string) (code, link string) {
	t.Helper()
	b.Post("/api/auth/signin/email", "email", address)
	m := w.Mail.Next(t)
	if code = arena.Code(m); code == "" {
		t.Fatalf("no code: %s", m.Text)
	}
	return code, arena.Link(t, m)
}

func codeEnter(b *arena.Browser, address, code string) *browser.Answer {
	return b.Post("/api/auth/callback/email", "email", address, "code", code)
}

// codeWrong returns a code that differs from the given one.
func codeWrong(code string, i int) string {
	wrong := fmt.Sprintf("%08d", i)
	if wrong == strings.ReplaceAll(code, " ", "") {
		return "99999999"
	}
	return wrong
}

// code01 makes 64 guesses at once at two replicas with copies of the cookie. Five are
// judged, and the link still works.
func code01(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		w := t.Enter(codesOn(func(c *authsvc.Config) { c.Adapter = kind.Open(t) }))
		other, err := engine.New(w.Config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { other.Close(context.Background()) })
		b := w.Browser()
		code, link := codeAsk(t, w, b, "ada@app.test")
		b.CSRF()
		judged := map[string]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 64 {
			guesser := b.Clone()
			if i%2 == 0 {
				guesser.H = other
			}
			all.Go(func() {
				a := codeEnter(guesser, "ada@app.test", codeWrong(code, i))
				mu.Lock()
				defer mu.Unlock()
				if judged[a.Location()]++; len(guesser.SessionCookies()) > 0 || !strings.Contains(a.Location(), "error=Code&left=") {
					t.Errorf("%d %s", a.StatusCode, a.Location())
				}
			})
		}
		all.Wait()
		for left, want := range map[int]int{4: 1, 3: 1, 2: 1, 1: 1, 0: 60} {
			if got := judged[fmt.Sprintf("%s/api/auth/verify-request?provider=email&type=email&error=Code&left=%d", arena.Origin, left)]; got != want {
				t.Errorf("%d left: %d times, want %d", left, got, want)
			}
		}
		w.MustRefuse(t, func() *browser.Answer { return codeEnter(b.Clone(), "ada@app.test", code) })
		fresh := b.Clone()
		second, _ := codeAsk(t, w, fresh, "ada@app.test")
		w.MustRefuse(t, func() *browser.Answer { return codeEnter(fresh.Clone(), "ada@app.test", code) }) // although another request has tries left
		if a := codeEnter(fresh, "ada@app.test", second); a.Location() != arena.Origin || fresh.Email() != "ada@app.test" {
			t.Errorf("twin, the next code: %d %s", a.StatusCode, a.Location())
		}
		emailVoid(t, w, b.Clone(), link)
		again := w.Browser()
		code, link = codeAsk(t, w, again, "ada@app.test")
		for i := range 8 {
			codeEnter(again, "ada@app.test", codeWrong(code, i))
		}
		if a := again.Get(link); a.Location() != arena.Origin || again.Email() != "ada@app.test" {
			t.Errorf("twin, the link after eight wrong codes: %d %s", a.StatusCode, a.Location())
		}
	})
	codeWithheld(t)
}

// codeWithheld checks that past a mailbox's limit new requests are accepted, but send
// no new code and give earlier codes no more tries.
func codeWithheld(t *T) {
	t.Helper()
	emailBubble(t, func(t *T) {
		w := t.EnterOffline(codesOn(func(c *authsvc.Config) {
			c.RateLimit.Disabled = false
			c.RateLimit.EmailPerAddress = authsvc.Rate{N: 1, Per: time.Hour}
		}))
		b := w.Browser()
		code, _ := codeAsk(t, w, b, "ada@app.test")
		for i := range codeTriesOf {
			codeEnter(b, "ada@app.test", codeWrong(code, i))
		}
		b.Post("/api/auth/signin/email", "email", "ada@app.test")
		synctest.Wait()
		if n := w.Mail.Count(); n != 1 {
			t.Fatalf("%d mails", n)
		}
		if a := codeEnter(b, "ada@app.test", code); !strings.Contains(a.Location(), "error=Code&left=4") || b.Email() != "" {
			t.Errorf("the spent code beside a request without a mail: %d %s", a.StatusCode, a.Location())
		}
		time.Sleep(time.Hour)
		next, _ := codeAsk(t, w, b, "ada@app.test")
		if a := codeEnter(b, "ada@app.test", next); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
			t.Errorf("twin, an hour later: %d %s", a.StatusCode, a.Location())
		}
	})
}

const codeTriesOf = 5

// code02 checks that a code works only with the cookie of its own request.
func code02(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(codesOn(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) }))
		owner, stranger, nobody, signedIn := w.Browser(), w.Browser(), w.Browser(), w.Browser()
		signedIn.SignInByMail(w, "eve@app.test")
		codeAsk(t, w, stranger, "ada@app.test")
		codeAsk(t, w, signedIn, "eve@app.test")
		code, _ := codeAsk(t, w, owner, "ada@app.test")
		for name, try := range map[string]func() *browser.Answer{
			"of a stranger who asked for the address":   func() *browser.Answer { return codeEnter(stranger, "ada@app.test", code) },
			"of a person who asked for another address": func() *browser.Answer { return codeEnter(signedIn, "ada@app.test", code) },
			"for another address":                       func() *browser.Answer { return codeEnter(owner.Clone(), "eve@app.test", code) },
			"of a browser that asked for nothing":       func() *browser.Answer { return codeEnter(nobody, "ada@app.test", code) },
			"shortened": func() *browser.Answer {
				return codeEnter(codeCookie(owner, func(s string) string { return s[:len(s)-1] }), "ada@app.test", code)
			},
			"changed": func() *browser.Answer {
				return codeEnter(codeCookie(owner, codeChanged), "ada@app.test", code)
			},
			"in the URL": func() *browser.Answer {
				return owner.Clone().Get("/api/auth/callback/email?email=ada%40app.test&code=" + strings.ReplaceAll(code, " ", ""))
			},
			"without the CSRF token": func() *browser.Answer {
				return owner.Clone().Post("/api/auth/callback/email", "csrfToken", "x", "email", "ada@app.test", "code", code, "json", "true")
			},
		} {
			if a := try(); a.Location() == arena.Origin || strings.Contains(a.Text, `{"url":"`+arena.Origin+`"}`) {
				t.Errorf("%s: %d %s %s", name, a.StatusCode, a.Location(), a.Text)
			}
		}
		for _, b := range []*arena.Browser{stranger, nobody} {
			if b.Email() != "" {
				t.Errorf("signed in as %q", b.Email())
			}
		}
		if signedIn.Email() != "eve@app.test" {
			t.Errorf("another session: %q", signedIn.Email())
		}
		if a := codeEnter(owner, "ada@app.test", code); a.Location() != arena.Origin || owner.Email() != "ada@app.test" {
			t.Errorf("twin: %d %s", a.StatusCode, a.Location())
		}
	})
}

// codeChanged returns s with another character in its middle.
func codeChanged(s string) string {
	i := len(s) / 2
	if s[i] == 'A' {
		return s[:i] + "B" + s[i+1:]
	}
	return s[:i] + "A" + s[i+1:]
}

// codeCookie returns a browser whose request cookie is changed.
func codeCookie(b *arena.Browser, change func(string) string) *arena.Browser {
	c := b.Clone()
	for name, value := range c.Cookies {
		if strings.HasSuffix(name, "authsvc.email") {
			c.Cookies[name] = change(value)
		}
	}
	return c
}

// code03 checks that neither answers to codes, nor their cookies, nor their time
// reveal who has an account or was sent a mail.
func code03(t *T) {
	n := t.Scale("codes for each kind of address", 100, 500, 1000)
	w := t.EnterOffline(codesOn(func(c *authsvc.Config) {
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if strings.HasPrefix(a.User.Email, "blocked") {
				return "", errors.New("no")
			}
			return "", nil
		}
	}))
	for _, address := range []string{"unverified@app.test", "blocked@app.test", "knownuser@app.test"} {
		u := authsvc.User{ID: address, Email: address}
		if address == "knownuser@app.test" {
			u.EmailVerified = time.Now()
		}
		if _, err := w.Store.CreateUser(t.Context(), u, nil); err != nil {
			t.Fatal(err)
		}
	}
	random := regexp.MustCompile(`[A-Za-z0-9_-]{16,}|Expires=[^;]*|data-seconds="\d+"`)
	shapes := map[string][]string{}
	for _, address := range emailKinds {
		b := w.Browser()
		token := b.CSRF()
		var shape strings.Builder
		look := func(a *browser.Answer) {
			a.Header.Del("Date")
			text := strings.ReplaceAll(fmt.Sprint(a.StatusCode, a.Header)+a.Text, address, "ADDRESS")
			shape.WriteString(random.ReplaceAllString(strings.ReplaceAll(text, strings.ReplaceAll(address, "@", "%40"), "ADDRESS"), "RANDOM") + "\n")
		}
		look(b.Post("/api/auth/signin/email", "email", address, "csrfToken", token))
		for i := range codeTriesOf + 2 {
			a := b.Post("/api/auth/callback/email", "email", address, "csrfToken", token, "code", codeWrong("", i))
			look(a)
			look(b.Get(a.Location()))
		}
		shapes[shape.String()] = append(shapes[shape.String()], address)
	}
	if len(shapes) != 1 {
		t.Errorf("answers differ: %v", shapes)
	}
	emailSameTimes(t, w, n, func(b *arena.Browser, address, token string) (time.Duration, bool) {
		b.Post("/api/auth/signin/email", "email", address, "csrfToken", token)
		began := time.Now()
		a := b.Post("/api/auth/callback/email", "email", address, "csrfToken", token, "code", "00000000")
		return time.Since(began), strings.Contains(a.Location(), "error=Code")
	})
}

// code04 repeats with codes the checks email-01, 02, 05, 13, 14 and 20, which use
// links.
func code04(t *T) {
	emailBubble(t, func(t *T) { // reuse and lifetime
		w := t.EnterOffline(codesOn(nil))
		for _, wait := range []time.Duration{0, 10*time.Minute - time.Second, 10 * time.Minute, 24 * time.Hour} {
			b := w.Browser()
			code, link := codeAsk(t, w, b, "ada@app.test")
			asked := b.Clone()
			time.Sleep(wait)
			if wait >= 10*time.Minute {
				w.MustRefuse(t, func() *browser.Answer { return codeEnter(b, "ada@app.test", code) })
				continue
			}
			if a := codeEnter(b, "ada@app.test", code); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
				t.Errorf("twin, after %s: %d %s", wait, a.StatusCode, a.Location())
			}
			w.MustRefuse(t, func() *browser.Answer { return codeEnter(asked, "ada@app.test", code) })
			emailVoid(t, w, w.Browser(), link)
		}
	})
	t.Run("other codes are void", func(t *T) {
		w := t.Enter(codesOn(nil))
		first, second := w.Browser(), w.Browser()
		one, _ := codeAsk(t, w, first, "ada@app.test")
		other, link := codeAsk(t, w, second, "ada@app.test")
		if codeEnter(first, "ada@app.test", one); first.Email() != "ada@app.test" {
			t.Error("twin: the first code")
		}
		w.MustRefuse(t, func() *browser.Answer { return codeEnter(second, "ada@app.test", other) })
		emailVoid(t, w, w.Browser(), link)
	})
	t.Run("scanners", func(t *T) {
		w := t.Enter(codesOn(nil))
		b := w.Browser()
		code, link := codeAsk(t, w, b, "ada@app.test")
		for _, header := range emailScans {
			r, err := http.NewRequest(http.MethodGet, link, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range header {
				r.Header.Set(k, v)
			}
			w.Browser().Do(r)
		}
		if a := codeEnter(b, "ada@app.test", code); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
			t.Errorf("twin: %d %s", a.StatusCode, a.Location())
		}
	})
	t.Run("vetoed", func(t *T) {
		veto := true
		w := t.Enter(codesOn(func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				if veto && !a.VerificationRequest {
					return "", authsvc.ErrAccessDenied
				}
				return "", nil
			}
		}))
		b := w.Browser()
		code, _ := codeAsk(t, w, b, "ada@app.test")
		if a := w.MustRefuse(t, func() *browser.Answer { return codeEnter(b, "ada@app.test", code) }); !strings.Contains(a.Location(), "error=AccessDenied") {
			t.Errorf("%s", a.Location())
		}
		veto = false
		code, _ = codeAsk(t, w, b, "ada@app.test")
		if codeEnter(b, "ada@app.test", code); b.Email() != "ada@app.test" {
			t.Error("twin: a new code does not work")
		}
	})
	t.Run("in the store", func(t *T) {
		w := t.Enter(codesOn(nil))
		b := w.Browser()
		code, _ := codeAsk(t, w, b, "ada@app.test")
		codeEnter(b, "ada@app.test", codeWrong(code, 0))
		written := strings.Join(w.Ledger.Written(), "\n")
		for _, form := range []string{code, strings.ReplaceAll(code, " ", "")} {
			if strings.Contains(written, form) || strings.Contains(w.Logs.String(), form) {
				t.Errorf("the store or the log has the code")
			}
		}
		if !strings.Contains(written, "UseOnce") {
			t.Error("twin: nothing counts the tries")
		}
	})
}
