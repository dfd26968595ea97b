package verify

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

func email01(t *T) {
	emailBubble(t, func(t *T) {
		w := t.EnterOffline(nil)
		other, err := engine.New(w.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close(t.Context())
		b := w.Browser()
		link := emailAsk(t, w, b, "reuse@app.test")
		asked := b.Clone()
		if a := b.Get(link); a.Location() != arena.Origin || b.Email() != "reuse@app.test" {
			t.Fatalf("twin: %s", a.Location())
		}
		for _, wait := range []time.Duration{0, time.Second, 5 * time.Minute} {
			time.Sleep(wait)
			for _, replica := range []http.Handler{w, other} {
				again, stranger := asked.Clone(), w.Browser()
				again.H, stranger.H = replica, replica
				if a := w.MustRefuse(t, func() *browser.Answer { return again.Get(link) }); !strings.Contains(a.Location(), "error=Verification") {
					t.Errorf("after %v: %s", wait, a.Location())
				}
				emailVoid(t, w, stranger, link)
			}
		}
		fresh := w.Browser()
		fresh.H = other
		if emailConfirm(t, fresh, emailAsk(t, w, asked, "reuse@app.test")); fresh.Email() != "reuse@app.test" {
			t.Error("twin: the other replica takes no new link")
		}
	})
}

func email02(t *T) {
	for _, wait := range []time.Duration{0, 10*time.Minute - time.Second, 10 * time.Minute, 10*time.Minute + time.Second, 24*time.Hour - time.Second} {
		t.Run(wait.String(), func(t *T) {
			emailBubble(t, func(t *T) {
				w := t.EnterOffline(nil)
				b := w.Browser()
				link := emailAsk(t, w, b, "slow@app.test")
				time.Sleep(wait)
				if wait >= 10*time.Minute {
					emailVoid(t, w, b, link)
					emailVoid(t, w, w.Browser(), link)
					return
				}
				if a := emailConfirm(t, b, link); a.Location() != arena.Origin || b.Email() != "slow@app.test" {
					t.Errorf("twin: %s", a.Location())
				}
			})
		})
	}
}

func email03(t *T) {
	file := filepath.Join(t.TempDir(), "auth.db")
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := t.Enter(func(c *authsvc.Config) { c.Adapter = store })
	b := w.Browser()
	seen := map[string]bool{}
	var link, token string
	for i := range t.Scale("tokens in each mode", 100, 500, 100_000) {
		link = emailAsk(t, w, b, fmt.Sprintf("store%d@app.test", i))
		if token = emailQuery(t, link).Get("token"); len(token) < 43 || seen[token] { // 256 bits in base64url
			t.Fatalf("token %q, seen before: %v", token, seen[token])
		}
		seen[token] = true
	}
	dump := strings.Join(w.Ledger.Written(), "\n")
	for _, f := range []string{file, file + "-wal"} {
		if raw, err := os.ReadFile(f); err == nil {
			dump += string(raw)
		}
	}
	for secret := range seen {
		if strings.Contains(dump, secret) || strings.Contains(dump, hex.EncodeToString([]byte(secret))) {
			t.Fatal("the store holds a token, or a mail in clear")
		}
	}
	writes := w.Ledger.Written()
	_, stored, _ := strings.Cut(writes[len(writes)-1], "Token:")
	stored, _, _ = strings.Cut(stored, " ")
	if len(stored) < 43 || !strings.Contains(dump, stored) {
		t.Fatalf("twin: stored %q", stored)
	}
	w.MustRefuse(t, func() *browser.Answer {
		return b.Post("/api/auth/callback/email", "token", stored, "email", emailQuery(t, link).Get("email"))
	})
	if b.Get(link); b.Email() == "" {
		t.Error("twin: the link does not sign in")
	}
}

func email04(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		victim, attacker := w.Browser(), w.Browser()
		theirs := emailAsk(t, w, victim, "victim@app.test")
		mine := emailAsk(t, w, attacker, "attacker@app.test")
		token, foreign := emailQuery(t, mine).Get("token"), emailQuery(t, theirs).Get("token")
		var digests []string // the stored digest of the victim's link
		for _, e := range w.Ledger.Written() {
			if _, d, ok := strings.Cut(e, "Identifier:victim@app.test Token:"); ok {
				digests = append(digests, strings.Fields(d)[0])
			}
		}
		if len(digests) != 1 {
			t.Fatalf("digests %v", digests)
		}
		probes := [][2]string{{foreign, "attacker@app.test"}, {digests[0], "victim@app.test"}, {digests[0], "attacker@app.test"}}
		for _, address := range []string{"victim@app.test", "VICTIM@app.test", " victim@app.test", "attacker@app.tesT.", "attacker+x@app.test", "", "attacker@app.test,victim@app.test", "attacker%40app.test", "attacker@app.test\x00", "attäcker@app.test"} {
			probes = append(probes, [2]string{token, address})
		}
		for _, p := range probes {
			for name, try := range map[string]func() *browser.Answer{
				"POST": func() *browser.Answer {
					return attacker.Post("/api/auth/callback/email", "token", p[0], "email", p[1])
				},
				"GET": func() *browser.Answer {
					return attacker.Get("/api/auth/callback/email?" + url.Values{"token": {p[0]}, "email": {p[1]}}.Encode())
				},
			} {
				// A GET from a browser that did not request the link shows a page and
				// changes nothing.
				if name == "GET" && p[0] != token {
					before := w.Ledger.Lasting()
					if a := try(); a.StatusCode == http.StatusFound && a.Location() == arena.Origin || w.Ledger.Lasting() != before {
						t.Errorf("GET %q: %d %s", p[1], a.StatusCode, a.Location())
					}
					continue
				}
				w.MustRefuse(t, try)
			}
		}
		if a := attacker.Post("/api/auth/callback/email", "token", token, "email", " Attacker@APP.test "); a.Location() != arena.Origin || attacker.Email() != "attacker@app.test" {
			t.Errorf("twin: the probes spent the token: %s", a.Location())
		}
		if victim.Get(theirs); victim.Email() != "victim@app.test" {
			t.Error("twin: the probes spent the victim's token")
		}
	})
}

// emailScans are the headers of programs that open links.
var emailScans = []map[string]string{{}, {"User-Agent": "Mozilla/5.0 SafeLinks"}, {"Sec-Purpose": "prefetch"}, {"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"},
	{"Sec-Fetch-Dest": "image"}, {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"}, {"Sec-Fetch-Mode": "no-cors"}}

// email05 checks that the link survives every request without the requesting
// browser's cookie, and that browser's requests that are not navigations.
func email05(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	link := emailAsk(t, w, b, "human@app.test")
	tries := 0
	for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodGet, http.MethodOptions} {
		for _, header := range emailScans {
			for _, who := range []*arena.Browser{w.Browser(), b.Clone()} {
				asks := header["Sec-Purpose"]+header["Purpose"]+header["Sec-Fetch-Dest"]+header["Sec-Fetch-Mode"] == ""
				if len(who.Cookies) > 0 && asks && method == http.MethodGet {
					continue // this one is the person's navigation
				}
				tries++
				r := httptest.NewRequest(method, link, nil)
				for k, v := range header {
					r.Header.Set(k, v)
				}
				before := w.Ledger.Lasting()
				if a := who.Do(r); a.StatusCode == http.StatusFound || len(who.SessionCookies()) != 0 || w.Ledger.Lasting() != before {
					t.Errorf("%s %v: %d %s", method, header, a.StatusCode, a.Location())
				}
			}
		}
	}
	t.Figure("%d visits of scanners in each mode", tries)
	w.MustRefuse(t, func() *browser.Answer { // a scanner that submits forms, but has no token
		return w.Browser().Form("/api/auth/callback/email", emailQuery(t, link))
	})
	elsewhere := w.Browser()
	if page := elsewhere.Get(link); page.StatusCode != http.StatusOK || !strings.Contains(page.Text, "human@app.test") || !strings.Contains(page.Text, `method="post"`) {
		t.Errorf("another browser is shown %d %.300s", page.StatusCode, page.Text)
	}
	if a := b.Get(link); a.Location() != arena.Origin || b.Email() != "human@app.test" {
		t.Errorf("twin: the human: %s", a.Location())
	}
	link = emailAsk(t, w, b, "human@app.test")
	elsewhere.Get(link)
	if a := emailConfirm(t, elsewhere, link); a.Location() != arena.Origin || elsewhere.Email() != "human@app.test" {
		t.Errorf("twin: the human at another device: %s", a.Location())
	}
}

func email13(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		var links []string
		b := w.Browser()
		for range 10 {
			links = append(links, emailAsk(t, w, b, "ada@app.test"))
		}
		other := emailAsk(t, w, w.Browser(), "bob@app.test")
		if a := emailConfirm(t, b, links[0]); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
			t.Fatalf("twin: the oldest: %s", a.Location())
		}
		for _, l := range links {
			emailVoid(t, w, w.Browser(), l)
		}
		bob, again := w.Browser(), w.Browser()
		if emailConfirm(t, bob, other); bob.Email() != "bob@app.test" {
			t.Error("twin: another address's link is void too")
		}
		if again.Get(emailAsk(t, w, again, "ada@app.test")); again.Email() != "ada@app.test" {
			t.Error("twin: a link asked for afterwards is void too")
		}
	})
	emailBubble(t, func(t *T) { // the maximum lifetime
		w := t.EnterOffline(func(c *authsvc.Config) { c.RateLimit.Disabled = false })
		for range 10 {
			w.Browser().Post("/api/auth/signin/email", "email", "ada@app.test")
		}
		synctest.Wait()
		if n := w.Mail.Count(); n != 5 {
			t.Errorf("%d live links", n)
		}
	})
}

func email16(t *T) {
	for name, tamper := range map[string]func(string) string{
		"callbackUrl replaced": func(l string) string { return emailReplace(t, l, "callbackUrl", "https://evil.test/") },
		"no scheme":            func(l string) string { return emailReplace(t, l, "callbackUrl", "//evil.test/") },
		"backslash":            func(l string) string { return emailReplace(t, l, "callbackUrl", `/\evil.test`) },
		"javascript":           func(l string) string { return emailReplace(t, l, "callbackUrl", "javascript:alert(1)") },
		"look-alike of ours":   func(l string) string { return emailReplace(t, l, "callbackUrl", "https://app.test.evil.test/") },
		"callbackUrl added":    func(l string) string { return l + "&callbackUrl=https%3A%2F%2Fevil.test%2F" },
		"callbackUrl in front": func(l string) string { return strings.Replace(l, "?", "?callbackUrl=https%3A%2F%2Fevil.test%2F&", 1) },
		"other parameters": func(l string) string {
			return l + "&redirect=https%3A%2F%2Fevil.test%2F&next=//evil.test&url=//evil.test"
		},
		"address of another too": func(l string) string { return l + "&email=victim%40app.test" },
		"reordered": func(l string) string {
			base, query, _ := strings.Cut(l, "?")
			parts := strings.Split(query, "&")
			slices.Reverse(parts)
			return base + "?" + strings.Join(parts, "&")
		},
		"fragment": func(l string) string { return l + "#https://evil.test/" },
	} {
		t.Run(name, func(t *T) {
			w := t.Enter(nil)
			b := w.Browser()
			l := emailAsk(t, w, b, "tamper@app.test", "callbackUrl", "/safe")
			a := b.Get(strings.SplitN(tamper(l), "#", 2)[0])
			to := a.Location()
			if strings.Contains(to, "evil.test") || strings.Contains(to, "javascript") {
				t.Fatalf("leads to %s", to)
			}
			if e := b.Email(); e != "tamper@app.test" && e != "" {
				t.Errorf("signed in as %q", e)
			}
			if name == "reordered" && to != arena.Origin+"/safe" || name == "callbackUrl replaced" && b.Email() == "" {
				t.Errorf("%d %s", a.StatusCode, to)
			}
		})
	}
	w := t.Enter(nil)
	b := w.Browser()
	if a := b.Get(emailAsk(t, w, b, "tamper@app.test", "callbackUrl", "/safe?x=1")); a.Location() != arena.Origin+"/safe?x=1" {
		t.Errorf("twin: %s", a.Location())
	}
}

func emailReplace(t *T, link, name, value string) string {
	t.Helper()
	u := arena.MustURL(t, link)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func email20(t *T) {
	emailBubble(t, func(t *T) {
		veto := ""
		w := t.EnterOffline(func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				if veto == "at the request" && a.VerificationRequest || veto == "at the link" && !a.VerificationRequest {
					return "", authsvc.ErrAccessDenied
				}
				return "", nil
			}
		})
		b := w.Browser()
		link := emailAsk(t, w, b, "ada@app.test")
		veto = "at the link"
		if a := w.MustRefuse(t, func() *browser.Answer { return b.Get(link) }); !strings.Contains(a.Location(), "error=AccessDenied") {
			t.Errorf("%s", a.Location())
		}
		veto = ""
		emailVoid(t, w, b, link) // the token is spent
		good := b.Post("/api/auth/signin/email", "email", "ada@app.test")
		w.Mail.Next(t)
		veto = "at the request"
		mails, audits := w.Mail.Count(), w.Audits.Load()
		a := b.Post("/api/auth/signin/email", "email", "ada@app.test")
		synctest.Wait()
		if a.StatusCode != good.StatusCode || a.Location() != good.Location() || w.Mail.Count() != mails || w.Audits.Load() != audits+1 {
			t.Errorf("at the request: %d %s, %d mails, %d events", a.StatusCode, a.Location(), w.Mail.Count()-mails, w.Audits.Load()-audits)
		}
		veto = ""
		if b.Get(emailAsk(t, w, b, "ada@app.test")); b.Email() != "ada@app.test" {
			t.Error("twin: a new link does not work")
		}
	})
}
