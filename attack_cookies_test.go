package authsvc_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/idp"
)

func TestAttackCookieAttributes(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, domain := range []string{"", "app.test"} {
			w := enter(t, func(c *authsvc.Config) {
				c.Session.Strategy, c.Cookies.Domain = strategy, domain
				c.RateLimit.Disabled = true
			})
			t.Run(fmt.Sprintf("cookies-01 weak attributes %s domain=%s", strategy, domain), func(t *testing.T) {
				t.Parallel()
				for _, line := range everyCookie(w) {
					name, _, _ := strings.Cut(line, "=")
					_, attributes, _ := strings.Cut(line, ";")
					for _, want := range []string{"; Path=/", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
						if strings.Count(";"+attributes, want) != 1 {
							t.Errorf("%s lacks %q", line, want)
						}
					}
					shared := domain != "" && (strings.Contains(name, "session") || strings.Contains(name, "callback-url"))
					if got := strings.Contains(attributes, "Domain="); got != shared {
						t.Errorf("cookies-02 %s: Domain is %v", line, got)
					}
					if prefix := map[bool]string{false: "__Host-", true: "__Secure-"}[shared]; !strings.HasPrefix(name, prefix) {
						t.Errorf("%s is not %s", name, prefix)
					}
					if len(line) > 4096 {
						t.Errorf("%s has %d bytes", name, len(line))
					}
				}
			})
		}
	}
}

// everyCookie drives every route, good and bad, and collects Set-Cookie lines.
func everyCookie(w *arena) []string {
	var lines []string
	b := w.browser()
	keep := func(a *answer) *answer { lines = append(lines, a.Header["Set-Cookie"]...); return a }
	for _, path := range []string{"", "/signin", "/signin/op", "/signout", "/session", "/csrf", "/providers", "/error", "/error/Callback", "/verify-request", "/nope",
		"/callback/op?state=x&code=y", "/callback/op?error=x", "/callback/email?token=" + strings.Repeat("x", 43) + "&email=a@b.test"} {
		keep(b.get("/api/auth" + path))
	}
	keep(b.post("/api/auth/signin/email", "email", "bad"))
	keep(b.post("/api/auth/signin/email", "email", "mail@app.test"))
	keep(b.get(link(w.t, w.mail.next(w.t))))
	keep(b.get("/api/auth/session"))
	keep(b.post("/api/auth/callback/credentials", "username", "ada", "password", "wrong"))
	start := keep(b.post("/api/auth/signin/op"))
	keep(b.get(b.approve(w.op, start.location(), "")))
	start = keep(b.post("/api/auth/signin/op"))
	keep(b.get(b.approve(w.op, start.location(), "ada")))
	keep(b.post("/api/auth/session", "data", "x"))
	keep(b.post("/api/auth/signout"))
	b.cookies[strings.Replace(sessionName, "__Host-", "__Secure-", 1)] = "garbage-garbage-garbage"
	b.cookies[sessionName] = "garbage-garbage-garbage"
	keep(b.get("/api/auth/session"))
	return lines
}

// rawSession asks GET session with a Cookie header as written.
func rawSession(w *arena, lines ...string) *answer {
	b := w.browser()
	b.header["Cookie"] = lines
	return b.get("/api/auth/session")
}

func TestAttackCookieTossing(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		victim, attacker := w.browser(), w.browser()
		victim.signIn(w.op, "ada")
		attacker.signIn(w.op, "grace")
		mine, evil := victim.cookies[sessionName], attacker.cookies[sessionName]
		const s = sessionName
		null := map[string][]string{
			"cookies-03 attacker first":     {s + "=" + evil + "; " + s + "=" + mine},
			"cookies-03 victim first":       {s + "=" + mine + "; " + s + "=" + evil},
			"cookies-03 two lines":          {s + "=" + mine, s + "=" + evil},
			"cookies-03 garbage beside":     {s + "=" + mine + "; " + s + "=x"},
			"cookies-03 empty beside":       {s + "=" + mine + "; " + s + "="},
			"cookies-05 other case":         {"__HoSt-authsvc.session=" + mine},
			"cookies-05 nameless":           {"=" + s + "=" + mine},
			"cookies-05 Unicode blank":      {"\u2003" + s + "=" + mine},
			"cookies-05 quoted":             {s + `="` + mine + `"`},
			"cookies-05 trailing NUL":       {s + "\x00=" + mine},
			"cookies-05 NUL in the value":   {s + "=" + mine + "\x00"},
			"cookies-06 development name":   {"authsvc.session=" + mine},
			"cookies-06 __Secure- name":     {"__Secure-authsvc.session=" + mine},
			"cookies-06 NextAuth.js's name": {"__Secure-next-auth.session-token=" + mine},
			"cookies-09 bare and chunk":     {s + "=" + mine + "; " + s + ".0=" + mine},
			"cookies-09 .00":                {s + ".00=" + mine}, "cookies-09 .-1": {s + ".-1=" + mine}, "cookies-09 .1e1": {s + ".1e1=" + mine},
			"cookies-09 .99999999999": {s + ".99999999999=" + mine}, "cookies-09 .abc": {s + ".abc=" + mine}, "cookies-09 dot": {s + ".=" + mine},
			"cookies-09 .1 alone": {s + ".1=" + mine}, "cookies-09 .5": {s + ".0=" + mine + "; " + s + ".5=x"}, "cookies-09 .٠": {s + ".٠=" + mine},
			"cookies-09 missing middle": {s + ".0=" + mine[:20] + "; " + s + ".2=" + mine[20:]},
			"cookies-09 duplicate .1":   {s + ".0=" + mine[:20] + "; " + s + ".1=" + mine[20:] + "; " + s + ".1=x"},
			"cookies-09 empty chunk":    {s + ".0=" + mine + "; " + s + ".1="},
			"cookies-12 bomb of names":  {s + "=" + mine + "; " + strings.Repeat(s+".0=x; ", 300)},
		}
		for name, lines := range null {
			t.Run(name+" "+strategy, func(t *testing.T) {
				before, began := w.led.lasting(), time.Now()
				a := rawSession(w, lines...)
				if a.StatusCode != 200 || a.body != "{}" {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
				if d := time.Since(began); d > 500*time.Millisecond {
					t.Errorf("took %v", d)
				}
				if w.led.lasting() != before {
					t.Error("it has effects")
				}
				for _, p := range lines {
					exact := strings.HasPrefix(p, s+"=") || strings.HasPrefix(p, s+".")
					if exact && !strings.HasSuffix(p, "\x00") && name != "cookies-09 .٠" && !strings.Contains(strings.Join(a.Header["Set-Cookie"], "\n"), s) {
						t.Errorf("nothing is expired: %v", a.Header["Set-Cookie"])
					}
				}
			})
		}
		twins := map[string][]string{
			"cookies-03 twin: one":                {s + "=" + mine},
			"cookies-03 twin: same value twice":   {s + "=" + mine + "; " + s + "=" + mine},
			"cookies-09 twin: chunks":             {s + ".0=" + mine[:20] + "; " + s + ".1=" + mine[20:]},
			"cookies-08 twin: chunks out of turn": {s + ".2=" + mine[20:] + "; a=b; " + s + ".0=" + mine[:10] + "; " + s + ".1=" + mine[10:20]},
			"cookies-06 twin: foreign names":      {"authsvc.session=x; a=b; " + s + "=" + mine},
			"cookies-12 twin: others' cookies":    {strings.Repeat("a=; ", 10_000) + s + "=" + mine},
		}
		for name, lines := range twins {
			t.Run(name+" "+strategy, func(t *testing.T) {
				if a := rawSession(w, lines...); !strings.Contains(a.body, "ada@example.com") {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
			})
		}
		t.Run("cookies-04 planted signed CSRF pair "+strategy, func(t *testing.T) {
			anonymous := w.browser()
			token := anonymous.csrf()
			planted := victim.clone()
			delete(planted.cookies, csrfName)
			planted.cookies["authsvc.csrf"] = anonymous.cookies[csrfName]
			w.mustRefuse(t, func() *answer { return planted.form("/api/auth/signout", with(nil, "csrfToken", token)) })
			if w.person(t, victim) == "" {
				t.Error("signed out")
			}
		})
	}
}

// fat makes a session of about n bytes.
func fat(n *int) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if p.Trigger != "" {
				p.Claims["fat"] = strings.Repeat("x", *n)
			}
			return p.Claims, nil
		}
	}
}

func TestAttackCookieSize(t *testing.T) {
	t.Parallel()
	size := 0
	w := enterOffline(t, fat(&size))
	t.Run("cookies-07 oversized", func(t *testing.T) {
		for size = 2500; size < 3400; size += 13 {
			checkSize(t, w)
		}
		for size = 3400; size < 14_000; size += 997 {
			checkSize(t, w)
		}
		for _, size = range []int{16_000, 40_000, 200_000} {
			before := w.led.lasting()
			b := w.browser()
			a := b.login("ada")
			if !strings.Contains(a.location(), "/error?error=Callback") || len(sessionCookies(b)) != 0 || w.led.lasting() != before {
				t.Errorf("%d bytes: %d %s", size, a.StatusCode, a.location())
			}
		}
	})
	t.Run("cookies-10 stale chunk after shrink", func(t *testing.T) {
		size = 9000
		b := w.browser()
		b.login("ada")
		if len(sessionCookies(b)) < 3 {
			t.Fatalf("cookies %v", sessionCookies(b))
		}
		size = 100
		a := b.post("/api/auth/session", "data", "x")
		if got := sessionCookies(b); !slices.Equal(got, []string{sessionName}) {
			t.Errorf("left: %v of %v", got, a.Header["Set-Cookie"])
		}
		if b.email() != "ada@app.test" {
			t.Error("the session is lost")
		}
		size = 9000
		b.post("/api/auth/session", "data", "x")
		if b.email() != "ada@app.test" {
			t.Error("the session is lost on growth")
		}
		b.post("/api/auth/signout")
		if got := sessionCookies(b); len(got) != 0 {
			t.Errorf("cookies-17 left after sign-out: %v", got)
		}
	})
}

func checkSize(t *testing.T, w *arena) {
	t.Helper()
	b := w.browser()
	a := b.login("ada")
	for _, line := range a.Header["Set-Cookie"] {
		if pair, _, _ := strings.Cut(line, ";"); len(pair) > 4096 {
			t.Errorf("%d bytes", len(pair))
		}
	}
	if n := len(sessionCookies(b)); n < 1 || n > 5 || b.email() != "ada@app.test" {
		t.Errorf("%d cookies, %s", n, a.location())
	}
}

func TestAttackTransactionCookies(t *testing.T) {
	t.Parallel()
	paths := map[string]func(w *arena, b *browser, callback string) *answer{
		"success":   func(_ *arena, b *browser, callback string) *answer { return b.get(callback) },
		"IdP error": func(w *arena, b *browser, _ string) *answer { return nil },
		"bad state": func(_ *arena, b *browser, callback string) *answer {
			return b.get(callback + "x") // the last parameter is state
		},
		"token 500": func(w *arena, b *browser, callback string) *answer {
			w.op.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}})
			return b.get(callback)
		},
		"veto": func(w *arena, b *browser, callback string) *answer { return b.get(callback) },
	}
	for name, run := range paths {
		t.Run("cookies-15 leftover transaction "+name, func(t *testing.T) {
			t.Parallel()
			w := enter(t, func(c *authsvc.Config) {
				if name == "veto" {
					c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "", authsvc.ErrAccessDenied }
				}
			})
			b := w.browser()
			start := b.begin("op")
			var a *answer
			if name == "IdP error" {
				a = b.get(b.approve(w.op, start, ""))
			} else {
				a = run(w, b, b.approve(w.op, start, "ada"))
			}
			left := 0
			for cookie := range b.cookies {
				if strings.Contains(cookie, ".tx.") {
					left++
				}
			}
			// An unknown state names no attempt; the live one stays.
			if want := map[bool]int{true: 1}[name == "bad state"]; left != want {
				t.Errorf("%d left after %d %s", left, a.StatusCode, a.location())
			}
			if ok := a.location() == origin; ok != (name == "success") {
				t.Errorf("%s", a.location())
			}
		})
	}
}

// discovered is an identity provider that needs no network to be sent to.
func offlineProvider() *authsvc.OAuth {
	return &authsvc.OAuth{ID: "plain", Name: "Plain", Client: authsvc.Client{ID: "app", Secret: clientSecret},
		AuthorizationURL: "https://id.test/authorize", TokenURL: "https://id.test/token", UserInfoURL: "https://id.test/user"}
}

func TestAttackLateTransaction(t *testing.T) {
	t.Parallel()
	for wait, late := range map[time.Duration]bool{15*time.Minute - time.Second: false, 15*time.Minute + time.Second: true} {
		t.Run(fmt.Sprintf("cookies-14 callback after %v", wait), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enterOffline(t, func(c *authsvc.Config) { c.Providers = append(c.Providers, offlineProvider()) })
				b := w.browser()
				state := mustURL(t, b.begin("plain")).Query().Get("state")
				time.Sleep(wait)
				a := b.get("/api/auth/callback/plain?error=access_denied&state=" + state)
				want := "error=AccessDenied"
				if late {
					want = "error=OAuthCallback"
				}
				if a.StatusCode != http.StatusFound || !strings.Contains(a.location(), want) {
					t.Errorf("%d %s", a.StatusCode, a.location())
				}
			})
		})
	}
}
