package advisories

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/quiet"
)

var sessionAdvisories = []advisory{
	{"CVE-2023-48309", "another sealed value counts as a session", confused},
	{"CVE-2026-30224", "sign-out leaves the session on the server", replayed},
	{"CVE-2024-28197 CVE-2026-34454 CVE-2026-7507", "the session from before the sign-in continues", fixed},
	{"CVE-2024-38513 CVE-2023-45141", "a session id chosen by the client is accepted", chosen},
	{"CVE-2024-52801 CVE-2026-25726", "session tokens can be guessed", guessable},
	{"CVE-2026-27840", "a shortened or changed token is still valid", truncated},
	{"GHSA-2vg6-77g8-24mp", "a session survives its user", survivor},
	{"CVE-2023-1976 CVE-2025-53942", "links and sessions end late or never", late},
	{"CVE-2026-27946 CVE-2025-61928", "the signed-in person sets their own attributes", selfMade},
	{"CVE-2025-48947 CVE-2025-64762", "answers with sessions may be cached", cached},
	{"CVE-2025-27144 CVE-2024-28180 CVE-2022-36083", "a small token causes much work", bombs},
	{"CVE-2026-41574 CVE-2026-34969", "tokens are in URLs", inAddresses},
}

func confused(t *testing.T, _ *arena.World) {
	w := jwt(t)
	b := clients(w)()
	b.Begin("op")
	b.Post("/api/auth/signin/email", "email", "x@app.test")
	b.Login("ada")
	token := b.Cookies[w.SessionCookie()]
	if token == "" || len(b.Cookies) < 4 {
		t.Fatalf("twin: cookies %v", b.Cookies)
	}
	for name, v := range b.Cookies {
		c := w.Browser()
		c.Cookies[w.SessionCookie()] = v
		if got := w.Person(t, c) != ""; got != (name == w.SessionCookie()) {
			t.Errorf("%s as a session: %v", name, got)
		}
	}
}

func each(t *testing.T, f func(t *testing.T, w *arena.World, client func() *arena.Browser)) {
	for _, strategy := range []string{"database", "jwt"} {
		w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		f(t, w, clients(w))
	}
}

func replayed(t *testing.T, _ *arena.World) {
	each(t, func(t *testing.T, w *arena.World, client func() *arena.Browser) {
		b := client()
		b.SignIn(w.OP, "ada")
		kept := b.Clone()
		if kept.Email() == "" {
			t.Fatal("twin: no session")
		}
		if b.Post("/api/auth/signout"); kept.Email() != "" {
			t.Errorf("after sign-out: %q", kept.Email())
		}
	})
}

func fixed(t *testing.T, _ *arena.World) {
	each(t, func(t *testing.T, w *arena.World, client func() *arena.Browser) {
		attacker := client()
		attacker.SignIn(w.OP, "grace")
		victim := client()
		planted := attacker.Cookies[w.SessionCookie()]
		victim.Cookies[w.SessionCookie()] = planted
		victim.SignIn(w.OP, "ada")
		if victim.Email() != "ada@example.com" || victim.Cookies[w.SessionCookie()] == planted {
			t.Errorf("signed in as %q", victim.Email())
		}
		if attacker.Email() == "ada@example.com" {
			t.Error("the planted session is the victim's")
		}
	})
}

func chosen(t *testing.T, _ *arena.World) {
	each(t, func(t *testing.T, w *arena.World, client func() *arena.Browser) {
		b := client()
		chosen := strings.Repeat("chosen-by-the-client-", 3)
		b.Cookies[w.SessionCookie()] = chosen
		if b.Email() != "" || b.Cookies[w.SessionCookie()] == chosen {
			t.Error("an unknown session id is kept")
		}
		b.Cookies[w.SessionCookie()] = chosen
		if b.SignIn(w.OP, "ada"); b.Cookies[w.SessionCookie()] == chosen || b.Email() == "" {
			t.Errorf("after signing in: %q", b.Email())
		}
	})
}

func guessable(t *testing.T, w *arena.World) {
	client := clients(w)
	seen := map[string]bool{}
	for range 100 {
		b := client()
		b.SignIn(w.OP, "ada")
		v := b.Cookies[w.SessionCookie()]
		if len(v) < 43 || seen[v[:8]] || seen[v[len(v)-8:]] {
			t.Fatalf("%d characters, or like another", len(v))
		}
		seen[v[:8]], seen[v[len(v)-8:]] = true, true
	}
}

func truncated(t *testing.T, _ *arena.World) {
	each(t, func(t *testing.T, w *arena.World, client func() *arena.Browser) {
		b := client()
		b.SignIn(w.OP, "ada")
		good := b.Cookies[w.SessionCookie()]
		for name, v := range map[string]string{"a character less": good[:len(good)-1], "half": good[:len(good)/2], "longer": good + "A", "upper case": strings.ToUpper(good),
			"padded": good + "=", "first changed": "_" + good[1:]} {
			c := client()
			c.Cookies[w.SessionCookie()] = v
			if v != good && c.Email() != "" {
				t.Errorf("%s: %q", name, c.Email())
			}
		}
		if b.Email() == "" {
			t.Error("twin: the whole token is not valid")
		}
	})
}

func survivor(t *testing.T, _ *arena.World) {
	each(t, func(t *testing.T, w *arena.World, client func() *arena.Browser) {
		b, other := client(), client()
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "grace")
		if err := w.DeleteUser(t.Context(), w.Person(t, b)); err != nil {
			t.Fatal(err)
		}
		if b.Email() != "" || other.Email() == "" {
			t.Errorf("the deleted user is %q, the other %q", b.Email(), other.Email())
		}
	})
}

func late(t *testing.T, _ *arena.World) {
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, nil)
		good, bad := w.Browser(), w.Browser()
		links := map[*arena.Browser]string{}
		for b, address := range map[*arena.Browser]string{good: "good@app.test", bad: "bad@app.test"} {
			b.Post("/api/auth/signin/email", "email", address)
			links[b] = arena.Link(t, w.Mail.Next(t))
		}
		time.Sleep(10*time.Minute - time.Second)
		if good.Get(links[good]); good.Email() == "" {
			t.Error("twin: a second early is late")
		}
		time.Sleep(2 * time.Second)
		if bad.Get(links[bad]); bad.Email() != "" {
			t.Error("a second late is early")
		}
		time.Sleep(31 * 24 * time.Hour)
		if good.Email() != "" {
			t.Error("a session of 30 days is valid on day 31")
		}
	})
}

func selfMade(t *testing.T, _ *arena.World) {
	w := jwt(t)
	b := clients(w)()
	b.SignIn(w.OP, "ada")
	before, who := b.Session(), w.Person(t, b)
	token := b.CSRF()
	a := b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+token+`","data":{"user":{"id":"x","email":"root@app.test","role":"admin","emailVerified":true},"sub":"x","exp":9999999999,"userId":"x"}}`)
	if a.StatusCode != 200 || w.Person(t, b) != who || b.Email() != before["user"].(map[string]any)["email"] || strings.Contains(a.Text, "admin") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

func cached(t *testing.T, _ *arena.World) {
	each(t, func(t *testing.T, w *arena.World, client func() *arena.Browser) {
		b := client()
		answers := map[string]*browser.Answer{"signing in": b.SignIn(w.OP, "ada"), "session": b.Get("/api/auth/session"), "csrf": b.Get("/api/auth/csrf"),
			"sign-in page": b.Get("/api/auth/signin"), "sign-out page": b.Get("/api/auth/signout")}
		answers["signing out"] = b.Post("/api/auth/signout")
		for name, a := range answers {
			if c := a.Header.Get("Cache-Control"); !strings.Contains(c, "no-store") || !strings.Contains(c, "private") {
				t.Errorf("%s: Cache-Control %q", name, c)
			}
		}
	})
}

func bombs(t *testing.T, _ *arena.World) {
	w := jwt(t)
	for name, v := range map[string]string{
		"separators": strings.Repeat(".", 16_000),
		"zip":        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwiemlwIjoiREVGIn0..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA",
		"PBES2":      "eyJhbGciOiJQQkVTMi1IUzUxMitBMjU2S1ciLCJlbmMiOiJBMjU2R0NNIiwicDJjIjoyMTQ3NDgzNjQ3LCJwMnMiOiJBQUFBIn0.AAAA.AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA",
	} {
		b := clients(w)()
		b.Cookies[w.SessionCookie()] = v
		begun := time.Now()
		if b.Email() != "" {
			t.Errorf("%s is a session", name)
		}
		if took := time.Since(begun); took > quiet.Limit(2*time.Second) {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func inAddresses(t *testing.T, w *arena.World) {
	b := clients(w)()
	secrets := []string{}
	see := func(where string) {
		for _, s := range secrets {
			if len(s) > 15 && strings.Contains(where, s) {
				t.Errorf("%.8s… is in %s", s, where)
			}
		}
	}
	to := b.Begin("op")
	for name, v := range b.Cookies {
		if strings.Contains(name, "session") || strings.Contains(name, ".tx.") {
			secrets = append(secrets, v)
		}
	}
	see(to)
	back := b.Approve(w.OP, to, "ada")
	code := arena.MustURL(t, back).Query().Get("code")
	a := b.Get(back)
	secrets = append(secrets, code, b.Cookies[w.SessionCookie()])
	see(a.Location())
	see(b.Get("/api/auth/signout").Text)
	see(b.Get("/api/auth/session").Text)
	if b.Email() == "" {
		t.Error("twin: no sign-in")
	}
}
