package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/proxytest"
)

const (
	sessionLinks = "signing in while signed in links the account, as in NextAuth.js"
	sessionPlain = "the table is shared with NextAuth.js, which stores the tokens themselves"
)

var sessionChecks = checks{
	"01": {title: "fixation", run: session01},
	"02": {title: "no renewal at re-authentication", run: session02},
	"03": {title: "silent user switch", run: session03, except: map[string]string{modeV4: sessionLinks, modeV5: sessionLinks}},
	"04": {title: "permissive acceptance", run: session04},
	"05": {title: "weak identifier", run: session05},
	"06": {title: "store leak exposes sessions", run: session06, except: map[string]string{modeV4: sessionPlain, modeV5: sessionPlain}},
	"07": {title: "logout not final (database)", run: session07},
	"08": {title: "logout not final (JWT)", run: session08},
	"09": {title: "no sign-out everywhere", run: session09},
	"10": {title: "disabled or deleted user", run: session10},
	"11": {title: "idle timeout missing", run: session11},
	"12": {title: "endless sliding", run: session12},
	"13": {title: "client-side expiry trusted", run: session13},
	"14": {title: "over-exposure", run: session14},
	"15": {title: "a shared cache mixes up sessions", once: true, needs: []need{{func() string { return proxytest.Missing("nginx") }}}, run: session15},
	"16": {title: "write amplification", run: session16},
	"17": {title: "mass assignment", run: session17},
	"18": {title: "token from other places", run: session18},
	"19": {title: "token disclosure", run: session19},
	"20": {title: "dangling or corrupt row", run: session20},
	"22": {title: "expired rows pile up", run: session22, alone: true, once: true},
	"23": {title: "step-up", run: session23},
	"24": {title: "strategy switch", run: session24},
	"25": {title: "fail open", run: session25},
	"27": {title: "malformed credentials header", run: session27},
}

// sessionBubble runs f in a synctest bubble.
func sessionBubble(t *T, f func(t *T)) {
	t.Helper()
	synctest.Test(t.T, func(inner *testing.T) {
		c := *t
		c.T = inner
		f(&c)
	})
}

// sessionStrategy selects a strategy.
func sessionStrategy(strategy string) func(*authsvc.Config) {
	return func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) }
}

// sessionShort sets lifetimes that fit into a test: an hour idle, an extension every
// ten minutes, three hours in total.
func sessionShort(strategy string) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session = authsvc.SessionOptions{Strategy: authsvc.Strategy(strategy), MaxAge: time.Hour, UpdateAge: 10 * time.Minute, AbsoluteMaxAge: 3 * time.Hour}
	}
}

// sessionRaw sends GET session with literal Cookie header lines.
func sessionRaw(w *arena.World, lines ...string) *browser.Answer {
	b := w.Browser()
	b.Header["Cookie"] = lines
	return b.Get("/api/auth/session")
}

// sessionEmpty returns the answer without a session.
func sessionEmpty(t *T) string {
	if t.Mode == modeV5 {
		return "null"
	}
	return "{}"
}

// sessionSignedOut checks that a cookie value is not a session: the answer is empty, the
// cookie is expired, nothing is written.
func sessionSignedOut(t *T, w *arena.World, what, value string) {
	t.Helper()
	lines := sessionIgnored(t, w, what, value)
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, w.SessionCookie()+"=;") && strings.Contains(line, "Max-Age=0")
	}) {
		t.Errorf("%s: the cookie stays: %q", what, lines)
	}
}

// sessionLeft checks that a cookie value is not a session here, and that the cookie
// stays for a replica that may have its key.
func sessionLeft(t *T, w *arena.World, what, value string) {
	t.Helper()
	if lines := sessionIgnored(t, w, what, value); len(lines) > 0 {
		t.Errorf("%s: the cookie does not stay: %q", what, lines)
	}
}

// sessionIgnored checks that the answer is empty and nothing is written. It returns
// the Set-Cookie lines.
func sessionIgnored(t *T, w *arena.World, what, value string) []string {
	t.Helper()
	before := w.Ledger.Lasting()
	a := sessionRaw(w, w.SessionCookie()+"="+value)
	if a.StatusCode != 200 || a.Text != sessionEmpty(t) {
		t.Errorf("%s: %d %.200s", what, a.StatusCode, a.Text)
	}
	if now := w.Ledger.Lasting(); now != before {
		t.Errorf("%s: writes %s", what, strings.TrimPrefix(now, before))
	}
	return a.Header["Set-Cookie"]
}

// sessionAt returns the same jar at another replica.
func sessionAt(b *arena.Browser, s *arena.Replica) *arena.Browser {
	c := b.Clone()
	c.H = s
	return c
}

func session01(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(sessionStrategy(strategy))
		attacker := w.Browser()
		attacker.CSRF()
		planted := append(slices.Collect(maps.Values(attacker.Cookies)), // A's cookies while anonymous
			seal.Token(), "sha256:"+seal.Token(), "0190f3a1-7d4e-7c2b-9a10-3f5b6c7d8e9f")
		attacker.SignIn(w.OP, "grace")
		planted = append(planted, attacker.Cookies[w.SessionCookie()])
		attacker.Post("/api/auth/signout")
		for _, v := range planted {
			victim := w.Browser()
			victim.Cookies[w.SessionCookie()] = v
			if a := victim.SignIn(w.OP, "ada"); a.Location() != arena.Origin || victim.Email() != "ada@example.com" {
				t.Fatalf("twin: %s, %q", a.Location(), victim.Email())
			}
			if victim.Cookies[w.SessionCookie()] == v {
				t.Error("the planted token became the session")
			}
			sessionSignedOut(t, w, "the planted token", v)
		}
		t.Figure("%d planted values", len(planted))
	})
}

func session02(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(sessionStrategy(strategy))
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		old, who := b.Clone(), w.Person(t, b)
		if old.Clone().Email() != "ada@example.com" {
			t.Fatal("twin: no session")
		}
		b.SignIn(w.OP, "ada")
		if b.Cookies[w.SessionCookie()] == old.Cookies[w.SessionCookie()] || b.Email() != "ada@example.com" || w.Person(t, b) != who {
			t.Errorf("now %q, the same token: %v", b.Email(), b.Cookies[w.SessionCookie()] == old.Cookies[w.SessionCookie()])
		}
		sessionSignedOut(t, w, "the session from before", old.Cookies[w.SessionCookie()])
	})
}

func session03(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for intent, want := range map[string]string{"": "grace@example.com", "true": "ada@example.com"} {
			w := t.Enter(sessionStrategy(strategy))
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			old, ada := b.Clone(), w.Person(t, b)
			b.SignIn(w.OP, "grace", "link", intent)
			if b.Email() != want {
				t.Errorf("link=%q: now %q", intent, b.Email())
			}
			linked, err := w.Store.ListAccounts(t.Context(), ada)
			if wanted := 1 + len(intent)/4; err != nil || len(linked) != wanted {
				t.Errorf("link=%q: %d accounts of ada, want %d; %v", intent, len(linked), wanted, err)
			}
			if strategy == "database" || intent == "" {
				sessionSignedOut(t, w, "link="+intent+": the session from before", old.Cookies[w.SessionCookie()])
			}
		}
	})
}

func session04(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.EnterOffline(sessionStrategy(strategy))
		for _, v := range []string{seal.Token(), strings.Repeat("z", 43), "1", strings.Repeat("0", 64), "0190f3a1-7d4e-7c2b-9a10-3f5b6c7d8e9f",
			"eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0.." + seal.Token()[:16] + "." + seal.Token() + "." + seal.Token()[:22]} {
			sessionSignedOut(t, w, v, v)
			b := w.Browser()
			b.Cookies[w.SessionCookie()] = v
			b.Email()
			if b.Login("ada"); b.Cookies[w.SessionCookie()] == v || b.Email() != "ada@app.test" {
				t.Errorf("twin: %q after signing in", b.Email())
			}
		}
	})
}
