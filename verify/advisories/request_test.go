package advisories

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

var requestAdvisories = []advisory{
	{"CVE-2022-31186", "secrets are in the log of an error", loggedSecrets},
	{"GHSA-xmf8-cvqr-rfgj CVE-2026-73418", "a malformed Authorization header throws", malformedHeader},
	{"GHSA-8fpg-xm3f-6cx3", "an error counts as signed in", failOpen},
	{"CVE-2025-29927 CVE-2026-34457", "a header switches the guard off", magicHeaders},
	{"CVE-2026-41248 CVE-2026-41059 CVE-2025-54576", "a crafted path passes the guard", craftedPath},
	{"CVE-2026-45364", "one client gets many limits by spelling its address differently", spelled},
	{"CVE-2026-47203 CVE-2025-24806", "each spelling of an account has its own limit", spellings},
	{"CVE-2026-76835 GHSA-rjr7-jggh-pgcp CVE-2024-47070", "forwarded addresses are trusted by default", spoofed},
	{"CVE-2025-24358 CVE-2025-46721", "the origin check never runs", originCheck},
	{"CVE-2026-29084", "signing a person in from another site", loginCSRF},
	{"CVE-2020-10734 CVE-2023-45128", "sign-out without a token, or with one of another session", logoutCSRF},
	{"CVE-2026-42849 CVE-2022-31127", "a page shows text from the URL", reflected},
	{"CVE-2026-41571", "an empty or null password is accepted", nullPassword},
}

func newRequest(method, target string) *http.Request { return httptest.NewRequest(method, target, nil) }

func loggedSecrets(t *testing.T, w *arena.World) {
	client := clients(w)
	b := client()
	u := callback(t, w, b)
	code := u.Query().Get("code")
	w.OP.SetFault(faultyToken)
	b.Get(u.String())
	session := client()
	w.OP.SetFault(noFault)
	session.SignIn(w.OP, "ada")
	client().Post("/api/auth/callback/credentials", "username", "ada", "password", "a-wrong-password-1234")
	client().Get("/api/auth/callback/op?code=" + code + "&state=forged-state-0123456789")
	logs := w.Logs.String()
	for name, secret := range map[string]string{"client secret": arena.ClientSecret, "secret": arena.Secret, "code": code, "session": session.Cookies[w.SessionCookie()], "password": "a-wrong-password-1234"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has the %s", name)
		}
	}
	if !strings.Contains(logs, "audit") {
		t.Error("twin: nothing is logged")
	}
}

func malformedHeader(t *testing.T, w *arena.World) {
	b := clients(w)()
	b.SignIn(w.OP, "ada")
	for _, v := range []string{"Bearer %ZZ", "Bearer", "", strings.Repeat("A", 8<<10), "Basic !!!", "Bearer \xff"} {
		b.Header.Set("Authorization", v)
		for _, path := range []string{"/api/auth/session", "/api/auth/csrf", "/api/auth/signin"} {
			if a := b.Get(path); a.StatusCode >= 500 {
				t.Errorf("%.20q at %s: %d", v, path, a.StatusCode)
			}
		}
	}
	if b.Email() == "" {
		t.Error("twin: the cookie no longer counts")
	}
}

// guard requests a page behind Require and reports whether it was shown.
func guard(w *arena.World, b *arena.Browser, r *http.Request) bool {
	shown := false
	h := w.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { shown = true }))
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
	return shown
}

func failOpen(t *testing.T, _ *arena.World) {
	w := arena.Enter(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if !guard(w, b, newRequest("GET", arena.Origin+"/app")) {
		t.Fatal("twin: the page is not shown")
	}
	w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	r := newRequest("GET", arena.Origin+"/app")
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	if s, err := w.Session(r); s != nil || err == nil {
		t.Errorf("with a broken store the session is %v, %v", s, err)
	}
	if guard(w, b, newRequest("GET", arena.Origin+"/app")) {
		t.Error("the page is shown with a broken store")
	}
	if a := b.Get("/api/auth/session"); a.StatusCode != 503 || strings.Contains(a.Text, "user") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

func magicHeaders(t *testing.T, w *arena.World) {
	for name, v := range map[string]string{"X-Middleware-Subrequest": "middleware:middleware:middleware", "User-Agent": "GoogleHC/1.0", "X-Forwarded-Uri": "/public",
		"X-Original-URL": "/public", "X-Forwarded-User": "ada", "X-Auth-Request-Email": "ada@app.test", "X_Forwarded_User": "ada", "Remote-User": "ada", "X-HTTP-Method-Override": "OPTIONS"} {
		r := newRequest("GET", arena.Origin+"/app")
		r.Header[name] = []string{v}
		if guard(w, w.Browser(), r) {
			t.Errorf("%s: %s shows the page", name, v)
		}
	}
	b := clients(w)()
	if b.SignIn(w.OP, "ada"); !guard(w, b, newRequest("GET", arena.Origin+"/app")) {
		t.Error("twin: the page is not shown")
	}
}

func craftedPath(t *testing.T, w *arena.World) {
	b := clients(w)()
	b.SignIn(w.OP, "ada")
	for _, path := range []string{"/api/auth//signout", "/api/auth/signout/", "/api/auth/./signout", "/api/auth/x/../signout", "/api/auth/%73ignout", "/API/auth/signout", "/api/auth/signout;x", "/api/auth/signout%00", "/api/auth/signout%2f", "/api/auth\\signout"} {
		r := newRequest("POST", arena.Origin+"/api/auth/signout")
		r.URL.Path, r.URL.RawPath = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(path, "%73", "s"), "%00", "\x00"), "%2f", "/"), path
		r.RequestURI = path
		if b.Do(r); b.Email() == "" {
			t.Fatalf("%s signs out without a token", path)
		}
	}
	if b.Post("/api/auth/signout"); b.Email() != "" {
		t.Error("twin: sign-out does not")
	}
}

// attempts makes wrong sign-ins until one is limited, and counts the earlier ones.
func attempts(b *arena.Browser, address func(i int) string, name func(i int) string) int {
	token := b.CSRF()
	for i := range 100 {
		b.IP = address(i)
		if b.Post("/api/auth/callback/credentials", "csrfToken", token, "username", name(i), "password", "wrong").StatusCode == http.StatusTooManyRequests {
			return i
		}
	}
	return 100
}

func spelled(t *testing.T, w *arena.World) {
	user := func(i int) string { return "user" + strings.Repeat("x", i) }
	six := func(i int) string { return "[2001:db8:1:2::" + strings.Repeat("1", i%4+1) + "]:" + "4711" }
	mapped := func(i int) string { return []string{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", "[::ffff:c000:201]:3"}[i%3] }
	many := func(i int) string { return clientsAddress(i) }
	for name, n := range map[string]int{"one /64": attempts(w.Browser(), six, user), "one IPv4 address": attempts(w.Browser(), mapped, user)} {
		if n > 30 {
			t.Errorf("%s: %d attempts", name, n)
		}
	}
	if n := attempts(w.Browser(), many, user); n != 100 {
		t.Errorf("twin: other clients are limited after %d", n)
	}
}

// spellings runs in its own bubble: attempts past an account's limit wait for a turn,
// which comes once in five seconds.
func spellings(t *testing.T, _ *arena.World) {
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, func(c *authsvc.Config) { c.RateLimit.Disabled = false })
		names := []string{"Victim", "victim", "VICTIM", " victim ", "\uff56ictim", "vIctim", "victim\u00a0"}
		at := func(i int) *arena.Browser {
			b := w.Browser()
			b.IP = clientsAddress(i)
			return b
		}
		began := time.Now()
		for i := range 10 { // one account's limit
			at(i).Post("/api/auth/callback/credentials", "username", names[i%len(names)], "password", "wrong")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first ten take %v", took)
		}
		arena.Together(len(names), func(i int) {
			at(10+i).Post("/api/auth/callback/credentials", "username", names[i], "password", "wrong")
			if took := time.Since(began); took < time.Second {
				t.Errorf("%q is judged after %v", names[i], took)
			}
		})
		began = time.Now()
		if at(30).Post("/api/auth/callback/credentials", "username", "somebody", "password", "wrong"); time.Since(began) != 0 {
			t.Errorf("twin: another account waits for %v", time.Since(began))
		}
	})
}

func clientsAddress(i int) string {
	return "198.18." + string(rune('1'+i%9)) + "." + strings.Repeat("1", i/40+1) + ":1"
}

func spoofed(t *testing.T, w *arena.World) {
	user := func(i int) string { return "user" + strings.Repeat("x", i) }
	b := w.Browser()
	n := attempts(b, func(i int) string {
		for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "Forwarded"} {
			b.Header.Set(name, "203.0.113."+strings.Repeat("1", i%3+1)+", garbage "+strings.Repeat("z", i))
		}
		return "192.0.2.7:1"
	}, user)
	if n > 30 {
		t.Errorf("%d attempts with forged addresses", n)
	}
}

func originCheck(t *testing.T, w *arena.World) {
	b := clients(w)()
	b.SignIn(w.OP, "ada")
	token := b.CSRF()
	for _, o := range []string{"http://app.test", "https://evil.test", "null", "https://app.test:8443", "https://app.test.evil.test"} {
		if b.Post("/api/auth/signout", "csrfToken", token); b.Email() == "" {
			b.SignIn(w.OP, "ada")
			token = b.CSRF()
		}
		c := b.Clone()
		c.Header.Set("Origin", o)
		if c.Post("/api/auth/signout", "csrfToken", token); b.Email() == "" {
			t.Errorf("Origin %s with a valid token signs out", o)
		}
	}
	b.Header.Set("Origin", arena.Origin)
	if b.Post("/api/auth/signout"); b.Email() != "" {
		t.Error("twin: our own origin does not")
	}
}

func loginCSRF(t *testing.T, w *arena.World) {
	for name, header := range map[string][2]string{"no token": {}, "another site": {"Sec-Fetch-Site", "cross-site"}, "another origin": {"Origin", "https://evil.test"}} {
		b := clients(w)()
		token := ""
		if header[0] != "" {
			token = b.CSRF()
			b.Header.Set(header[0], header[1])
		}
		if b.Post("/api/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", "right"); len(b.SessionCookies()) != 0 {
			t.Errorf("%s: signed in", name)
		}
		if a := b.Post("/api/auth/signin/email", "csrfToken", token, "email", "evil@app.test"); strings.Contains(a.Location(), "verify-request") {
			t.Errorf("%s: a mail is sent", name)
		}
	}
}

func logoutCSRF(t *testing.T, w *arena.World) {
	client := clients(w)
	b, attacker := client(), client()
	b.SignIn(w.OP, "ada")
	attacker.SignIn(w.OP, "grace")
	b.Get("/api/auth/signout")
	b.Post("/api/auth/signout", "csrfToken", "")
	b.Post("/api/auth/signout", "csrfToken", attacker.CSRF())
	planted := b.Clone()
	planted.Cookies[w.CSRFCookie()] = attacker.Cookies[w.CSRFCookie()]
	planted.Post("/api/auth/signout", "csrfToken", attacker.CSRF())
	if b.Email() == "" {
		t.Error("signed out")
	}
	if b.Post("/api/auth/signout"); b.Email() != "" {
		t.Error("twin: sign-out does not")
	}
}

func reflected(t *testing.T, w *arena.World) {
	const evil = `"><script>alert(1)</script>`
	for _, page := range []string{"signin", "signout", "error", "verify-request"} {
		for _, name := range []string{"error", "callbackUrl", "email", "csrfToken", "theme", "provider", "request"} {
			a := clients(w)().Get("/api/auth/" + page + "?" + name + "=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
			if strings.Contains(a.Text, evil) || strings.Contains(a.Text, "<script>alert") {
				t.Errorf("%s shows %s", page, name)
			}
			if policy := a.Header.Get("Content-Security-Policy"); a.StatusCode == 200 && (!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe-inline")) {
				t.Errorf("%s: policy %q", page, policy)
			}
		}
	}
}

func nullPassword(t *testing.T, w *arena.World) {
	for _, v := range []string{"", "null", "undefined", "\x00", "[]", "{}"} {
		b := clients(w)()
		if b.Post("/api/auth/callback/credentials", "username", "ada", "password", v); b.Email() != "" {
			t.Errorf("password %q is right", v)
		}
	}
	if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Name: "Ada"}, nil); err != nil && !errors.Is(err, adapter.ErrConflict) {
		t.Fatal(err)
	}
	b := clients(jwt(t))()
	if b.Login("ada"); b.Email() != "ada@app.test" {
		t.Errorf("twin: %q", b.Email())
	}
}
