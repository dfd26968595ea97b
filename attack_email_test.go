package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
)

// ask requests a link and returns it as mailed.
func (w *arena) ask(t *testing.T, b *browser, address string, fields ...string) string {
	t.Helper()
	b.post("/api/auth/signin/email", append([]string{"email", address}, fields...)...)
	return link(t, w.mail.next(t))
}

func TestAttackEmailLink(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	t.Run("email-01 reuse", func(t *testing.T) {
		b := w.browser()
		l := w.ask(t, b, "reuse@app.test")
		jar := b.clone()
		if a := b.get(l); a.location() != origin || b.email() == "" {
			t.Fatalf("twin: %s", a.location())
		}
		for _, again := range []*browser{jar, w.browser()} {
			w.mustRefuse(t, func() *answer { return again.post("/api/auth/callback/email", formOf(t, l)...) })
		}
		w.mustRefuse(t, func() *answer { return jar.get(l) })
	})
	t.Run("email-03 stored value is no token", func(t *testing.T) {
		b := w.browser()
		l := w.ask(t, b, "store@app.test")
		token := mustURL(t, l).Query().Get("token")
		if len(token) < 43 {
			t.Errorf("token of %d characters", len(token))
		}
		dump := strings.Join(w.led.written(), "\n")
		if strings.Contains(dump, token) {
			t.Error("the store holds the token")
		}
		at := strings.LastIndex(dump, "Token:")
		stored, _, _ := strings.Cut(dump[at+len("Token:"):], " ")
		if len(stored) != 43 {
			t.Fatalf("stored %q", stored)
		}
		w.mustRefuse(t, func() *answer { return b.post("/api/auth/callback/email", "token", stored, "email", "store@app.test") })
		if a := b.get(l); a.location() != origin {
			t.Errorf("twin: %s", a.location())
		}
	})
	t.Run("email-04 identifier not checked", func(t *testing.T) {
		victim, attacker := w.browser(), w.browser()
		w.ask(t, victim, "victim@app.test")
		l := w.ask(t, attacker, "attacker@app.test")
		token := mustURL(t, l).Query().Get("token")
		for _, address := range []string{"victim@app.test", "attacker@app.tesT.", "attacker+x@app.test", "", "attacker@app.test,victim@app.test", "attacker%40app.test"} {
			w.mustRefuse(t, func() *answer { return attacker.post("/api/auth/callback/email", "token", token, "email", address) })
			w.mustRefuse(t, func() *answer {
				a := attacker.get("/api/auth/callback/email?token=" + token + "&email=" + url.QueryEscape(address))
				return a
			})
		}
		if a := attacker.post("/api/auth/callback/email", "token", token, "email", " Attacker@APP.test "); a.location() != origin || attacker.email() != "attacker@app.test" {
			t.Errorf("twin: the probes spent the token: %s", a.location())
		}
	})
	t.Run("email-05 link scanner", func(t *testing.T) {
		b := w.browser()
		l := w.ask(t, b, "human@app.test")
		scans := []map[string]string{{}, {"User-Agent": "Mozilla/5.0 SafeLinks"}, {"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"}, {"Sec-Fetch-Dest": "image"}}
		for i, method := range []string{"HEAD", "GET", "GET", "OPTIONS"} {
			for _, header := range scans {
				for _, who := range []*browser{w.browser(), b} {
					if who == b && header["Sec-Purpose"]+header["Purpose"]+header["Sec-Fetch-Dest"] == "" && i > 0 {
						continue // that is the person
					}
					r := httptest.NewRequest(method, l, nil)
					for k, v := range header {
						r.Header.Set(k, v)
					}
					if a := who.clone().do(r); a.StatusCode == 302 {
						t.Errorf("%s %v: %s", method, header, a.location())
					}
				}
			}
		}
		if a := b.get(l); a.location() != origin || b.email() != "human@app.test" {
			t.Errorf("twin: the human: %s", a.location())
		}
	})
	t.Run("csrf-19 magic-link login CSRF", func(t *testing.T) {
		attacker, anonymous, signedIn := w.browser(), w.browser(), w.browser()
		signedIn.signInByMail(w.world, "me@app.test")
		l := w.ask(t, attacker, "evil@app.test")
		for _, victim := range []*browser{anonymous, signedIn} {
			was := w.person(t, victim)
			if a := victim.get(l); a.StatusCode != 200 || !strings.Contains(a.body, "evil@app.test") || w.person(t, victim) != was {
				t.Errorf("%d %s", a.StatusCode, a.location())
			}
			w.mustRefuse(t, func() *answer {
				q := mustURL(t, l).Query()
				return victim.form("/api/auth/callback/email", q)
			})
		}
		// The asker itself is asked too, once somebody else is signed in there.
		l = w.ask(t, signedIn, "other@app.test")
		if a := signedIn.get(l); a.StatusCode != 200 || signedIn.email() != "me@app.test" {
			t.Errorf("a live session was replaced without a click: %d %s", a.StatusCode, a.location())
		}
		if a := signedIn.post("/api/auth/callback/email", formOf(t, l)...); a.location() != origin || signedIn.email() != "other@app.test" {
			t.Errorf("twin: after the click: %s", a.location())
		}
	})
	t.Run("email-16 tampered link", func(t *testing.T) {
		b := w.browser()
		l := w.ask(t, b, "tamper@app.test", "callbackUrl", "/safe")
		u := mustURL(t, l)
		q := u.Query()
		q.Set("callbackUrl", "https://evil.test/")
		q.Set("redirect", "https://evil.test/")
		u.RawQuery = q.Encode()
		if a := b.get(u.String()); a.location() != origin {
			t.Errorf("%s", a.location())
		}
	})
}

// recipients are addresses that split, wrap or smuggle.
var recipients = []string{
	"a@x.test,v@y.test", "a@x.test;v@y.test", "a@x.test v@y.test", `"a@x.test"@y.test`, `"a b"@x.test`, "a@x.test\r\nBcc: v@y.test",
	"a@x.test\nv@y.test", "a@x.test%0aBcc:v@y.test", "a＠x.test＠y.test", "a﹫x.test@y.test", "<a@x.test>", "Ada <a@x.test>", "a@x.test (c)",
	"a(c)@x.test", "=?utf-8?q?a=40x.test?=", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@x.test.", "a@x..test", "a@.x.test", ".a@x.test", "a.@x.test",
	"a..b@x.test", "a@x", "a@localhost", "a@", "@x.test", "@", "", " ", "a", "a@x.test\x00", "\x00a@x.test", "a@x.\x00test", "a@x.test@y.test",
	"a@x.test,", ",a@x.test", "a:b@x.test", "a\\@x.test@y.test", "a@-x.test", "a@x-.test", "a@x_y.test", "a@x.test/y", "a@x.test#", "a@x.test?x",
	strings.Repeat("a", 65) + "@x.test", "a@" + strings.Repeat("x", 64) + ".test", strings.Repeat("a", 60) + "@" + strings.Repeat("x.", 120) + "test",
	"a\u200b@x.test", "a\u202e@x.test", "a\u00ad@x.test", "a\u2028@x.test", "a\u3000b@x.test", "undisclosed:a@x.test;", "a@x.test>\r\nRCPT TO:<v@y.test",
	"a@x\u3002", "a%y.test@x.test", strings.Repeat("(", 10_000) + "@x.test", "a@[" + strings.Repeat("x", 30_000),
}

func TestAttackRecipients(t *testing.T) {
	t.Parallel()
	w := enterOffline(t, nil)
	for i, address := range recipients {
		t.Run(fmt.Sprintf("email-08 recipient splitting %d", i), func(t *testing.T) {
			began := time.Now()
			a := w.mustRefuse(t, func() *answer { return w.browser().post("/api/auth/signin/email", "email", address) })
			if !strings.Contains(a.location(), "error=EmailSignin") {
				t.Errorf("%q: %s", address, a.location())
			}
			if d := time.Since(began); d > 200*time.Millisecond {
				t.Errorf("email-17 took %v", d)
			}
		})
	}
	for asked, want := range map[string]string{
		"Ada@EXAMPLE.test": "ada@example.test", " ada@example.test ": "ada@example.test", "ada＠example.test": "ada@example.test",
		"ſam@example.test": "sam@example.test", "\u212aim@example.test": "kim@example.test", "cafe\u0301@example.test": "caf\u00e9@example.test",
		"a+b@example.test": "a+b@example.test", "o'neil@example.test": "o'neil@example.test", "ada@xn--bcher-kva.test": "ada@xn--bcher-kva.test",
		"a&b@example.test": "a&b@example.test", "nel@example.test\u0085": "nel@example.test",
	} {
		t.Run("email-15 twin "+asked, func(t *testing.T) {
			b := w.browser()
			l := w.ask(t, b, asked)
			w.mail.mu.Lock()
			m := w.mail.sent[len(w.mail.sent)-1]
			w.mail.mu.Unlock()
			if m.To != want || mustURL(t, l).Query().Get("email") != want {
				t.Errorf("mail to %q, link %s", m.To, l)
			}
			if !strings.Contains(w.led.lasting(), "Identifier:"+want+" ") {
				t.Error("stored in another form")
			}
			if strings.Count(m.HTML, "href=") != 1 || strings.ContainsAny(m.Subject, "\r\n") {
				t.Errorf("email-10 %s", m.HTML)
			}
			if b.get(l); b.email() != want {
				t.Errorf("signed in as %q", b.email())
			}
		})
	}
}

func TestAttackEmailLife(t *testing.T) {
	t.Parallel()
	for wait, ok := range map[time.Duration]bool{10*time.Minute - time.Second: true, 10 * time.Minute: false, 10*time.Minute + time.Second: false, 24 * time.Hour: false} {
		t.Run(fmt.Sprintf("email-02 long life %v", wait), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, nil)
				b := w.browser()
				l := w.ask(t, b, "slow@app.test")
				time.Sleep(wait)
				a := b.post("/api/auth/callback/email", formOf(t, l)...)
				if in := a.location() == origin && b.email() == "slow@app.test"; in != ok || !ok && !strings.Contains(a.location(), "error=Verification") {
					t.Errorf("%s", a.location())
				}
			})
		})
	}
	t.Run("email-12 mail bomb", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enterOffline(t, func(c *authsvc.Config) { c.RateLimit.Disabled = false })
			want := ""
			for i := range 1000 {
				b := w.browser()
				b.ip = fmt.Sprintf("203.0.113.%d:1", i%100)
				if i%20 == 0 {
					time.Sleep(time.Minute)
				}
				a := b.post("/api/auth/signin/email", "email", "victim@app.test")
				if want == "" {
					want = a.location()
				}
				if a.location() != want {
					t.Fatalf("request %d is answered %d %s", i, a.StatusCode, a.location())
				}
			}
			synctest.Wait()
			if n := w.mail.count(); n < 5 || n > 10 { // 5 at once, then 5 an hour
				t.Errorf("%d mails in 50 minutes", n)
			}
		})
	})
	t.Run("email-11 enumeration", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enterOffline(t, func(c *authsvc.Config) {
				c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
					if a.User.Email == "blocked@app.test" {
						return "", errors.New("no")
					}
					return "", nil
				}
			})
			shape := map[string]bool{}
			for _, address := range []string{"ada@app.test", "unknown@app.test", "blocked@app.test"} {
				b := w.browser()
				w.led.breakAt(func(int, string) failure { return works })
				a := b.post("/api/auth/signin/email", "email", address)
				sizes := ""
				for _, line := range a.Header["Set-Cookie"] {
					name, value, _ := strings.Cut(line, "=")
					sizes += fmt.Sprint(name, len(value)-len(address)*4/3, " ")
				}
				a.Header.Del("Set-Cookie")
				w.led.mu.Lock()
				calls := w.led.calls
				w.led.mu.Unlock()
				shape[fmt.Sprint(a.StatusCode, a.Header, a.body, calls, len(strings.Fields(sizes)))] = true
			}
			if len(shape) != 1 {
				t.Errorf("answers differ: %v", shape)
			}
			synctest.Wait()
			if n := w.mail.count(); n != 2 {
				t.Errorf("%d mails", n)
			}
		})
	})
	t.Run("email-20 vetoed at redemption", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			veto := false
			w := enterOffline(t, func(c *authsvc.Config) {
				c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) {
					if veto {
						return "", authsvc.ErrAccessDenied
					}
					return "", nil
				}
			})
			b := w.browser()
			l := w.ask(t, b, "ada@app.test")
			veto = true
			if a := w.mustRefuse(t, func() *answer { return b.get(l) }); !strings.Contains(a.location(), "AccessDenied") {
				t.Errorf("%s", a.location())
			}
			veto = false
			w.mustRefuse(t, func() *answer { return b.post("/api/auth/callback/email", formOf(t, l)...) }) // the token is spent
			if b.get(w.ask(t, b, "ada@app.test")); b.email() != "ada@app.test" {
				t.Error("twin: a new link does not work")
			}
		})
	})
}
