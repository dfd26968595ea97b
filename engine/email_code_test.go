package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// withCodes turns codes on in every mode.
func withCodes(c *authsvc.Config) {
	for _, p := range c.Providers {
		if e, ok := p.(*authsvc.Email); ok {
			e.Codes = new(true)
		}
	}
}

// askCode asks for a mail and returns its code and its link.
func askCode(w *arena.World, t *testing.T, b *arena.Browser, address string, fields ...string) (code, link string) {
	t.Helper()
	b.Post("/api/auth/signin/email", append([]string{"email", address}, fields...)...)
	m := w.Mail.Next(t)
	if code = arena.Code(m); code == "" || !strings.Contains(m.HTML, ">"+code+"<") || strings.Contains(m.Subject, code) {
		t.Fatalf("no code, or in the wrong place: %q %q", m.Subject, m.Text)
	}
	return code, arena.Link(t, m)
}

func submit(b *arena.Browser, address, code string, more ...string) *browser.Answer {
	return b.Post("/api/auth/callback/email", append([]string{"email", address, "code", code}, more...)...)
}

// wrong returns a code other than the given one.
func wrong(code string) string {
	return string('0'+('9'-code[0])) + code[1:]
}

const wrongCodeAt = arena.Origin + "/api/auth/verify-request?provider=email&type=email&error=Code"

func TestCode(t *testing.T) {
	t.Parallel()
	strategies(t, withCodes, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		code, link := askCode(w, t, b, "ada@app.test", "callbackUrl", "/in")
		if a := b.Get("/api/auth/verify-request?provider=email&type=email"); !strings.Contains(a.Text, `name="code"`) || !strings.Contains(a.Text, "/api/auth/callback/email") {
			t.Fatalf("no field: %s", a.Text)
		}
		if a := submit(b, "ada@app.test", wrong(code)); a.Location() != wrongCodeAt+"&left=4" || b.Email() != "" {
			t.Errorf("a wrong code: %d %s", a.StatusCode, a.Location())
		}
		if a := b.Get(wrongCodeAt + "&left=4"); !strings.Contains(a.Text, "That code is not correct. 4 tries left.") || !strings.Contains(a.Text, `value="ada@app.test"`) {
			t.Errorf("the page: %s", a.Text)
		}
		for _, typed := range []string{"", "1234567", "123456789", "abcd efgh", strings.Repeat("1 ", 40)} {
			if a := submit(b, "ada@app.test", typed); a.Location() != wrongCodeAt || b.Email() != "" {
				t.Errorf("%q, which takes no try: %d %s", typed, a.StatusCode, a.Location())
			}
		}
		if a := submit(b, "ada@app.test", wrong(code), "json", "true"); a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.Text, "error=Code&left=3") {
			t.Errorf("a script: %d %s", a.StatusCode, a.Text)
		}
		if a := b.Post("/api/auth/callback/email", "email", "ada@app.test", "code", code, "csrfToken", "no"); !strings.Contains(a.Location(), "csrf=true") || b.Email() != "" {
			t.Errorf("without the CSRF token: %d %s", a.StatusCode, a.Location())
		}
		a := submit(b, " Ada@App.test", " "+strings.ReplaceAll(code, " ", "-"), "callbackUrl", "/in")
		if a.Location() != arena.Origin+"/in" || b.Email() != "ada@app.test" {
			t.Fatalf("the code: %d %s", a.StatusCode, a.Location())
		}
		if a := b.Get(link); !strings.Contains(a.Text, "You are already signed in") {
			t.Errorf("the link after the code: %d %s", a.StatusCode, a.Location())
		}
		if a := submit(b, "ada@app.test", code); !strings.Contains(a.Text, "You are already signed in") {
			t.Errorf("the code again: %d %s", a.StatusCode, a.Location())
		}
		other := w.Browser()
		code, link = askCode(w, t, other, "ada@app.test")
		if a := other.Get(link); a.Location() != arena.Origin || other.Email() != "ada@app.test" {
			t.Fatalf("the link: %d %s", a.StatusCode, a.Location())
		}
		if a := w.Browser(); submit(a, "ada@app.test", code).Location() == arena.Origin || a.Email() != "" {
			t.Error("the code after the link")
		}
	})
}

// TestCodeMatrix tries the link and the code in the browser that asked, in another
// browser and in an installed application whose links open elsewhere, each also after a
// scanner. No combination may leave a person stuck.
func TestCodeMatrix(t *testing.T) {
	t.Parallel()
	strategies(t, withCodes, func(t *testing.T, w *arena.World) {
		cell := 0 // each has its own mailbox, which gets a limited number of mails
		for _, scanned := range []bool{false, true} {
			for _, at := range []string{"same browser", "other browser", "installed application"} {
				for _, how := range []string{"link", "code"} {
					asker, other := w.Browser(), w.Browser()
					address := fmt.Sprintf("ada%d@app.test", cell)
					cell++
					code, link := askCode(w, t, asker, address)
					if scanned {
						scanner := w.Browser()
						r, err := http.NewRequest(http.MethodHead, link, nil)
						if err != nil {
							t.Fatal(err)
						}
						scanner.Do(r)
						scanner.Get(link)
					}
					in := asker
					switch {
					case how == "code" && at == "other browser":
						a := submit(other, address, code)
						if !strings.Contains(a.Location(), "error=Verification") || !strings.Contains(a.Location(), "reason=elsewhere") || other.Email() != "" {
							t.Errorf("the code in another browser: %d %s", a.StatusCode, a.Location())
						}
						if page := other.Get(a.Location()); !strings.Contains(page.Text, "in the browser that requested it") || !strings.Contains(page.Text, `action="`+arena.Origin+`/api/auth/signin/email"`) || !strings.Contains(page.Text, `value="`+address+`"`) {
							t.Errorf("it says: %s", page.Text)
						}
						fallthrough // the code still works in the browser that asked
					case how == "code":
						submit(asker, address, code)
					case at == "same browser":
						asker.Get(link)
					default: // links of an installed application open in the browser
						in = other
						if a := other.Get(link); a.StatusCode != http.StatusOK {
							t.Errorf("the page that confirms: %d %s", a.StatusCode, a.Location())
						}
						other.Post("/api/auth/callback/email", formOf(t, link)...)
					}
					if in.Email() != address {
						t.Errorf("%s, %s, scanned %v: not signed in", how, at, scanned)
					}
				}
			}
		}
	})
}

// TestCodeTries checks that of any number of guesses, at once or with copies of the
// cookie, five are judged for each mail, and that the link still works.
func TestCodeTries(t *testing.T) {
	t.Parallel()
	strategies(t, func(c *authsvc.Config) { withCodes(c); c.RateLimit.Link = authsvc.Rate{N: 1000, Per: time.Minute} }, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		code, _ := askCode(w, t, b, "ada@app.test")
		var wait sync.WaitGroup
		var mu sync.Mutex
		left := map[string]int{}
		b.CSRF()
		for range 64 {
			guesser := b.Clone()
			wait.Go(func() {
				a := submit(guesser, "ada@app.test", wrong(code))
				mu.Lock()
				defer mu.Unlock()
				left[a.Location()]++
			})
		}
		wait.Wait()
		for _, n := range []string{"4", "3", "2", "1"} {
			if left[wrongCodeAt+"&left="+n] != 1 {
				t.Errorf("answers: %v", left)
			}
		}
		if left[wrongCodeAt+"&left=0"] != 60 {
			t.Errorf("answers: %v", left)
		}
		if a := submit(b, "ada@app.test", code); a.Location() != wrongCodeAt+"&left=0" || b.Email() != "" {
			t.Errorf("the right code, too late: %d %s", a.StatusCode, a.Location())
		}
		if a := b.Get(wrongCodeAt + "&left=0"); strings.Contains(a.Text, `name="code"`) || !strings.Contains(a.Text, "The link in the email still works") || !strings.Contains(a.Text, "Send another code") {
			t.Errorf("the page: %s", a.Text)
		}
		// The next mail has its own tries and gives none to the earlier mail.
		second, _ := askCode(w, t, b, "ada@app.test")
		if a := submit(b, "ada@app.test", code); a.Location() != wrongCodeAt+"&left=4" {
			t.Errorf("the spent code beside the next one: %d %s", a.StatusCode, a.Location())
		}
		twin := b.Clone()
		if a := submit(twin, "ada@app.test", second); a.Location() != arena.Origin || twin.Email() != "ada@app.test" {
			t.Errorf("twin, the second code: %d %s", a.StatusCode, a.Location())
		}
		again := w.Browser()
		code, link := askCode(w, t, again, "ada@app.test")
		for range 7 {
			submit(again, "ada@app.test", wrong(code))
		}
		if a := again.Get(link); a.Location() != arena.Origin || again.Email() != "ada@app.test" {
			t.Errorf("twin, the link after seven wrong codes: %d %s", a.StatusCode, a.Location())
		}
	})
}

// TestCodeOfOlderMail checks that a code from each of a browser's last mails counts.
func TestCodeOfOlderMail(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, withCodes)
	b := w.Browser()
	first, _ := askCode(w, t, b, "ada@app.test")
	askCode(w, t, b, "bob@app.test")
	askCode(w, t, b, "ada@app.test")
	if a := submit(b, "bob@app.test", first); !strings.HasPrefix(a.Location(), wrongCodeAt) || b.Email() != "" {
		t.Errorf("with another address: %d %s", a.StatusCode, a.Location())
	}
	if a := submit(b, "ada@app.test", first); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
		t.Errorf("the first mail's: %d %s", a.StatusCode, a.Location())
	}
}

// TestCodeOfAnotherBrowser checks that a code does not count with the cookie of another
// browser that asked for the same address.
func TestCodeOfAnotherBrowser(t *testing.T) {
	t.Parallel()
	strategies(t, withCodes, func(t *testing.T, w *arena.World) {
		owner, stranger := w.Browser(), w.Browser()
		askCode(w, t, stranger, "ada@app.test")
		code, _ := askCode(w, t, owner, "ada@app.test")
		if a := submit(stranger, "ada@app.test", code); a.Location() != wrongCodeAt+"&left=4" || stranger.Email() != "" {
			t.Errorf("a stranger: %d %s", a.StatusCode, a.Location())
		}
		if a := submit(owner, "ada@app.test", code); a.Location() != arena.Origin || owner.Email() != "ada@app.test" {
			t.Errorf("twin: %d %s", a.StatusCode, a.Location())
		}
	})
}

// TestCodeAnswersAlike checks that the answers do not reveal whether a mail was sent.
func TestCodeAnswersAlike(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if a.VerificationRequest && a.User.Email == "eve@app.test" {
				return "", errors.New("no")
			}
			return "", nil
		}
	})
	random := regexp.MustCompile(`[A-Za-z0-9_-]{16,}|Expires=[^;]*|data-seconds="\d+"`)
	seen := map[string][]string{}
	for _, address := range []string{"ada@app.test", "eve@app.test"} {
		b := w.Browser()
		look := func(a *browser.Answer) {
			line := strings.Join(a.Header.Values("Set-Cookie"), "\n") + a.Location() + a.Text
			seen[address] = append(seen[address], random.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)) }))
		}
		b.CSRF()
		look(b.Post("/api/auth/signin/email", "email", address))
		look(b.Get("/api/auth/verify-request?provider=email&type=email"))
		for range 6 {
			look(submit(b, address, "12345678"))
		}
	}
	for i, want := range seen["ada@app.test"] {
		if got := seen["eve@app.test"][i]; got != strings.ReplaceAll(want, "ada@", "eve@") {
			t.Errorf("answer %d:\n%s\n%s", i, want, got)
		}
	}
}

func TestCodesAreOff(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"compat v4": func(c *authsvc.Config) { c.Compat = authsvc.NextAuthV4 },
		"compat v5": func(c *authsvc.Config) { c.Compat = authsvc.AuthJSV5 },
		"set": func(c *authsvc.Config) {
			withCodes(c)
			for _, p := range c.Providers {
				if e, ok := p.(*authsvc.Email); ok {
					*e.Codes = false
				}
			}
		},
		"the site's own page": func(c *authsvc.Config) { c.Pages.VerifyRequest = "/sent" },
		"a template without the code": func(c *authsvc.Config) {
			templates, err := authsvc.ParseMailTemplates(fstest.MapFS{"de/mail.txt": &fstest.MapFile{Data: []byte("{{.URL}}")}})
			if err != nil {
				t.Error(err)
			}
			for _, p := range c.Providers {
				if e, ok := p.(*authsvc.Email); ok {
					e.Templates = templates
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, tune)
			b := w.Browser()
			b.Post("/api/auth/signin/email", "email", "ada@app.test")
			m := w.Mail.Next(t)
			if arena.Code(m) != "" || strings.Contains(m.Text, "code") || strings.Contains(b.Get("/api/auth/verify-request").Text, `name="code"`) {
				t.Errorf("a code: %s", m.Text)
			}
			if a := submit(b, "ada@app.test", "12345678"); !strings.Contains(a.Location(), "error=Verification") || strings.Contains(a.Location(), "reason=") {
				t.Errorf("a code is taken: %d %s", a.StatusCode, a.Location())
			}
			if a := b.Get(arena.Link(t, m)); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
				t.Errorf("twin, the link: %d %s", a.StatusCode, a.Location())
			}
		})
	}
}

// TestCodeInTemplate checks that an application's templates must show the code that is
// asked for.
func TestCodeInTemplate(t *testing.T) {
	t.Parallel()
	email := func(text string) *authsvc.Email {
		templates, err := authsvc.ParseMailTemplates(fstest.MapFS{"mail.txt": &fstest.MapFile{Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return &authsvc.Email{From: "a@app.test", Send: func(context.Context, authsvc.Message) error { return nil }, Templates: templates, Codes: new(true)}
	}
	c := arena.Start(t, nil).Config
	c.Providers = []authsvc.Provider{email("{{.URL}}")}
	if err := engine.Check(c); err == nil || !strings.Contains(err.Error(), "Providers[0].Codes is true, but a template does not include the code; add {{.Code}}") {
		t.Errorf("without: %v", err)
	}
	c.Providers = []authsvc.Provider{email("{{.Code}} {{.URL}}")}
	if err := engine.Check(c); err != nil {
		t.Errorf("with: %v", err)
	}
}

// TestCodeOnOwnPage checks that an application's own verify-request page is told the
// outcome of a code.
func TestCodeOnOwnPage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { withCodes(c); c.Pages.VerifyRequest = "/sent" })
	b := w.Browser()
	code, _ := askCode(w, t, b, "ada@app.test")
	if a := b.Get(submit(b, "ada@app.test", wrong(code)).Location()); a.Location() != arena.Origin+"/sent?error=Code&left=4" {
		t.Errorf("wrong: %s", a.Location())
	}
	for _, odd := range []string{"&left=9", "&left=44", "&left=%3Cb%3E"} {
		if a := b.Get(wrongCodeAt + odd); a.Location() != arena.Origin+"/sent?error=Code" {
			t.Errorf("%s: %s", odd, a.Location())
		}
	}
	if a := submit(b, "ada@app.test", code); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
		t.Errorf("twin: %s", a.Location())
	}
}

// TestNoSignIn checks that an email provider used only for other mails is not a way
// in.
func TestNoSignIn(t *testing.T) {
	t.Parallel()
	mailer := func(c *authsvc.Config) *authsvc.Email {
		for _, p := range c.Providers {
			if e, ok := p.(*authsvc.Email); ok {
				return e
			}
		}
		t.Fatal("no email provider")
		return nil
	}
	strategies(t, func(c *authsvc.Config) { mailer(c).NoSignIn = true }, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		for _, a := range []*browser.Answer{b.Get("/api/auth/signin/email"), b.Post("/api/auth/signin/email", "email", "ada@app.test"),
			b.Get("/api/auth/callback/email?token=0123456789012345678901234567&email=ada@app.test"), submit(b, "ada@app.test", "12345678")} {
			if a.StatusCode != http.StatusNotFound && a.StatusCode != http.StatusBadRequest { // the answers of NextAuth.js for unknown routes and providers
				t.Errorf("%s: %d", a.Request.URL, a.StatusCode)
			}
		}
		if text := b.Get("/api/auth/providers").Text; strings.Contains(text, "email") || !strings.Contains(text, `"op":{`) {
			t.Errorf("providers: %s", text)
		}
		if text := b.Get("/api/auth/signin").Text; strings.Contains(text, "signin/email") || !strings.Contains(text, "signin/op") {
			t.Errorf("the sign-in page: %s", text)
		}
		if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin {
			t.Errorf("twin, another provider: %d %s", a.StatusCode, a.Location())
		}
	})
	c := arena.Start(t, nil).Config
	only := mailer(&c)
	c.Providers = []authsvc.Provider{only}
	if err := engine.Check(c); err != nil {
		t.Errorf("twin, the only one: %v", err)
	}
	only.NoSignIn = true
	if err := engine.Check(c); err == nil || !strings.Contains(err.Error(), "Providers name no way to sign in") {
		t.Errorf("the only one: %v", err)
	}
}
