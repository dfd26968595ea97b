package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

const (
	csrfUnbound = "its client keeps one token across sign-in and sign-out, so the token is not bound to a session"
	csrfHash    = "the token is signed as in NextAuth.js: SHA-256 of token and secret"
)

var csrfChecks = checks{
	"01": {title: "token matrix", run: csrf01},
	"02": {title: "forged signature", run: csrf02, except: map[string]string{modeV4: csrfHash, modeV5: csrfHash}},
	"03": {title: "secrets are compared in constant time", once: true, run: csrf03, least: ci},
	"04": {title: "guessable token", run: csrf04},
	"05": {title: "token not bound to session", run: csrf05, except: map[string]string{modeV4: csrfUnbound, modeV5: csrfUnbound}},
	"06": {title: "no rotation at privilege change", run: csrf06, except: map[string]string{modeV4: csrfUnbound, modeV5: csrfUnbound}},
	"07": {title: "state change by safe method", run: csrf07},
	"08": {title: "method override", run: csrf08},
	"09": {title: "preflight-free content types", run: csrf09},
	"10": {title: "token in the URL", run: csrf10},
	"11": {title: "parameter pollution", run: csrf11},
	"12": {title: "cross-site request with a stolen token", run: csrf12},
	"13": {title: "unusual Origins", run: csrf13},
	"14": {title: "exempt route too wide", run: csrf14},
	"16": {title: "session swapping", run: csrf16},
	"17": {title: "forced account linking", run: csrf17},
	"21": {title: "CORS leak", run: csrf21},
	"23": {title: "compression oracle: pages are not compressed", run: csrf23},
	"24": {title: "replicas and rotated secrets", run: csrf24},
}

// csrfMutating lists the POSTs that require the token, with their other fields.
var csrfMutating = map[string]url.Values{
	"/api/auth/signin/op":            {},
	"/api/auth/signin/email":         {"email": {"someone@app.test"}},
	"/api/auth/signout":              {},
	"/api/auth/session":              {"data": {"x"}},
	"/api/auth/callback/credentials": {"username": {"ada"}, "password": {"right"}},
	"/api/auth/callback/email":       {"email": {"ada@app.test"}, "token": {strings.Repeat("a", 43)}},
	"/api/auth/account/profile":      {"name": {"Eve"}},
	"/api/auth/account/unlink":       {"id": {"x"}},
	"/api/auth/account/signout":      {"others": {"true"}},
	"/api/auth/account/undo":         {"token": {strings.Repeat("a", 43)}},
	"/api/auth/account/delete":       {"confirm": {"x"}},
	"/api/auth/account/keep":         {"pending": {"true"}},
	"/api/auth/confirm":              {"provider": {"op"}},
}

// csrfWorld returns a world with strategy jwt and a signed-in user. With jwt, POST
// session updates the session, and credentials need no stored user.
func csrfWorld(t *T, tune func(*authsvc.Config)) (*arena.World, *arena.Browser) {
	w := t.Enter(func(c *authsvc.Config) {
		c.Session.Strategy, c.Account.Delete = "jwt", true
		if tune != nil {
			tune(c)
		}
	})
	b := w.Browser()
	if b.SignIn(w.OP, "ada"); b.Email() == "" {
		t.Fatalf("no sign-in\n%s", w.Logs)
	}
	return w, b
}

func with(v url.Values, name, value string) url.Values {
	out := url.Values{}
	for k, list := range v {
		out[k] = list
	}
	out.Set(name, value)
	return out
}

// flip changes the character at i.
func flip(s string, i int) string {
	c := "A"
	if s[i] == 'A' {
		c = "B"
	}
	return s[:i] + c + s[i+1:]
}

// csrfCells checks that every mutating route refuses each pair of token and cookie.
func csrfCells(t *T, w *arena.World, b *arena.Browser, cells map[string][2]string) {
	t.Helper()
	for path, fields := range csrfMutating {
		for name, cell := range cells {
			c := b.Clone()
			if c.Cookies[w.CSRFCookie()] = cell[1]; cell[1] == "" {
				delete(c.Cookies, w.CSRFCookie())
			}
			form := fields
			if cell[0] != "" {
				form = with(fields, "csrfToken", cell[0])
			}
			a := w.NoEffect(t, b, func() *browser.Answer { return c.Clone().Form(path, form) })
			if to := a.Location(); a.StatusCode != 400 && !strings.HasSuffix(to, "csrf=true") && !strings.Contains(to, "error=csrf") {
				t.Errorf("%s at %s: %d %s", name, path, a.StatusCode, to)
			}
			csrfScripted(t, c.Clone().Form(path, with(form, "json", "true")), name+" at "+path)
		}
	}
	t.Figure("%d pairs at %d routes", len(cells), len(csrfMutating))
}

// csrfScripted checks that a script gets the status, except the clients of the compat
// modes, which read only the address.
func csrfScripted(t *T, a *browser.Answer, what string) {
	t.Helper()
	switch {
	case a.StatusCode == http.StatusForbidden || a.StatusCode == http.StatusBadRequest && (a.Text == "{}" || a.Text == "null"): // of POST session
	case t.Mode != modeNone && a.StatusCode == http.StatusOK && strings.HasSuffix(a.URL(t), "csrf=true"):
	default:
		t.Errorf("%s: a script is answered %d %.100s", what, a.StatusCode, a.Text)
	}
}

func csrf01(t *T) {
	w, b := csrfWorld(t, nil)
	token := b.CSRF()
	cookie := b.Cookies[w.CSRFCookie()]
	other := w.Browser()
	foreign := other.CSRF()
	mac := len(token) + 1
	cells := map[string][2]string{ // token, cookie
		"no cookie":                {token, ""},
		"no body token":            {"", cookie},
		"token of another browser": {foreign, cookie},
		"truncated token":          {token[:len(token)-1], cookie},
		"flipped token":            {flip(token, 7), cookie},
		"flipped token in both":    {flip(token, 7), flip(cookie, 7)},
		"flipped MAC":              {token, flip(cookie, mac+3)},
		"truncated MAC":            {token, cookie[:len(cookie)-1]},
		"empty halves":             {"", cookie[mac-1 : mac]},
		"MAC only":                 {"", cookie[mac-1:]},
		"token only":               {token, token},
	}
	if t.Mode == modeNone {
		cells["pair of another browser"] = [2]string{foreign, other.Cookies[w.CSRFCookie()]}
	}
	csrfCells(t, w, b, cells)
	for path, fields := range csrfMutating {
		_, own := w, w.Browser()
		own.SignIn(w.OP, "ada")
		if a := own.Form(path, with(fields, "csrfToken", own.CSRF())); strings.Contains(a.Location(), "csrf=true") || strings.Contains(a.Location(), "error=csrf") || a.StatusCode == 400 {
			t.Errorf("twin at %s: %d %s", path, a.StatusCode, a.Location())
		}
	}
}

func csrf02(t *T) {
	w, b := csrfWorld(t, nil)
	token := b.CSRF()
	mac := b.Cookies[w.CSRFCookie()][len(token)+1:]
	hexadecimal := strings.Repeat("a", 64)
	csrfCells(t, w, b, map[string][2]string{
		"boundary shifted":        {token + ".", token + "." + mac},
		"boundary moved":          {token + mac[:1], token + mac[:1] + "." + mac[1:]},
		"unkeyed hash":            {token, token + "." + unkeyedHash(token)},
		"hash with empty secret":  {token, token + "." + keyedHash("", token)},
		"hash with sample secret": {token, token + "." + keyedHash("secret", token)},
		"hash with the secret":    {token, token + "." + keyedHash(arena.Secret, token)},
		"format of another mode":  {hexadecimal, hexadecimal + "|" + hexHash(hexadecimal+arena.Secret)},
	})
	if a := b.Post("/api/auth/signout"); a.Location() != arena.Origin {
		t.Errorf("twin: %d %s", a.StatusCode, a.Location())
	}
}

func unkeyedHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func keyedHash(key, s string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(s))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func hexHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func csrf04(t *T) {
	w := t.Enter(nil)
	seen := map[string]bool{}
	for range t.Scale("tokens", 1000, 20_000, 1_000_000) {
		token := w.Browser().CSRF()
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if len(token) == 64 { // in the compat modes
			raw, err = hex.DecodeString(token)
		}
		if err != nil || len(raw) < 16 || seen[token] {
			t.Fatalf("token %q", token)
		}
		seen[token] = true
	}
}

func csrf05(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		victim, attacker, anonymous := w.Browser(), w.Browser(), w.Browser()
		victim.SignIn(w.OP, "ada")
		attacker.SignIn(w.OP, "grace")
		for _, from := range []*arena.Browser{attacker, anonymous} {
			pair := from.CSRF()
			mixed := victim.Clone()
			mixed.Cookies[w.CSRFCookie()] = from.Cookies[w.CSRFCookie()]
			for _, path := range []string{"/api/auth/signout", "/api/auth/signin/op"} {
				w.NoEffect(t, victim, func() *browser.Answer {
					return mixed.Clone().Form(path, url.Values{"csrfToken": {pair}, "link": {"true"}})
				})
			}
		}
		if a := victim.Post("/api/auth/signout"); a.Location() != arena.Origin {
			t.Errorf("twin: %d %s", a.StatusCode, a.Location())
		}
	})
}

func csrf06(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		b := w.Browser()
		before := b.CSRF()
		oldCookie := b.Cookies[w.CSRFCookie()]
		b.SignIn(w.OP, "alan")
		during := b.CSRF()
		duringCookie := b.Cookies[w.CSRFCookie()]
		replay := b.Clone()
		replay.Cookies[w.CSRFCookie()] = oldCookie
		w.NoEffect(t, b, func() *browser.Answer {
			return replay.Form("/api/auth/signout", url.Values{"csrfToken": {before}})
		})
		if a := b.Form("/api/auth/signout", url.Values{"csrfToken": {during}}); a.Location() != arena.Origin {
			t.Fatalf("twin: sign-out with the new token: %s", a.Location())
		}
		after := b.CSRF()
		if before == during || during == after || before == after {
			t.Error("the token is not rotated at sign-in and sign-out")
		}
		replay = b.Clone()
		replay.Cookies[w.CSRFCookie()] = duringCookie
		w.MustRefuse(t, func() *browser.Answer {
			return replay.Form("/api/auth/signin/op", url.Values{"csrfToken": {during}})
		})
	})
}

func csrf24(t *T) {
	const next = "nX2mQ7rT5uV8wB1zC3dF6gH9jK4lM0pS-rotated-now"
	secrets := func(list ...string) *arena.World {
		return t.EnterOffline(func(c *authsvc.Config) { c.Secrets = list })
	}
	one, two := secrets(arena.Secret), secrets(arena.Secret)
	rotated, gone := secrets(next, arena.Secret), secrets(next)
	b := one.Browser()
	token := b.CSRF()
	ask := func(w *arena.World, address string) *browser.Answer {
		c := b.Clone()
		c.H = w
		return c.Form("/api/auth/signin/email", url.Values{"csrfToken": {token}, "email": {address}})
	}
	for name, w := range map[string]*arena.World{"the same replica": one, "another replica": two, "the secret is older": rotated} {
		if a := ask(w, "a@app.test"); !strings.Contains(a.Location(), "verify-request") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
		}
	}
	gone.MustRefuse(t, func() *browser.Answer { return ask(gone, "a@app.test") })
	fresh := b.Clone()
	fresh.H = gone
	if a := fresh.Post("/api/auth/signin/email", "email", "a@app.test"); fresh.Cookies[gone.CSRFCookie()] == b.Cookies[gone.CSRFCookie()] || !strings.Contains(a.Location(), "verify-request") {
		t.Errorf("twin: a fresh token after the secret is gone: %d %s", a.StatusCode, a.Location())
	}
}
