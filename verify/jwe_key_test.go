package verify

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// jweMaybe decodes base64url, and returns nil if s is not valid.
func jweMaybe(s string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return raw
}

// jwe20Header matches the whole of a protected header.
var jwe20Header = regexp.MustCompile(`^\{"alg":"dir","enc":"(A256GCM|A256CBC-HS512)"(,"kid":"[A-Za-z0-9_-]{12,86}")?\}$`)

// jwePurposes returns the service's sealers by purpose, except the sessions' one.
func jwePurposes(t *T, w *arena.World) map[string]*seal.Sealer {
	t.Helper()
	ring, err := seal.NewRing(w.Config.Secrets...)
	if err != nil {
		t.Fatal(err)
	}
	base := arena.Origin + "/api/auth"
	return map[string]*seal.Sealer{"transaction": ring.Sealer("transaction " + base), "email": ring.Sealer("email requests " + base),
		"mail": ring.Sealer("mail"), "known": ring.Sealer("known accounts " + base)}
}

// A jweHaul holds all values in a browser with a session, a sign-in attempt and a
// requested link, by purpose.
type jweHaul struct {
	*arena.World
	b          *arena.Browser
	state      string
	link       string
	values     map[string]string // without the session
	txName     string
	emailName  string
	knownName  string
	authorized url.Values
}

func jweCollect(t *T, strategy string) *jweHaul {
	t.Helper()
	w := t.Enter(sessionStrategy(strategy))
	h := &jweHaul{World: w, b: w.Browser(), values: map[string]string{}}
	h.b.SignIn(w.OP, "ada")
	if strategy == "jwt" {
		h.b.Login("ada")
	}
	h.authorized = arena.MustURL(t, h.b.Begin("op")).Query()
	h.state = h.authorized.Get("state")
	h.b.Post("/api/auth/signin/email", "email", "x@app.test")
	h.link = arena.Link(t, w.Mail.Next(t))
	for name, v := range h.b.Cookies {
		switch {
		case name == w.SessionCookie():
			continue
		case strings.Contains(name, ".tx."):
			h.txName = name
		case strings.HasSuffix(name, ".email"):
			h.emailName = name
		case strings.HasSuffix(name, ".known"):
			h.knownName = name
		}
		h.values[name] = v
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		h.values[name] = h.authorized.Get(name)
	}
	h.values["CSRF token"], h.values["link token"] = h.b.CSRF(), arena.MustURL(t, h.link).Query().Get("token")
	for _, e := range w.Ledger.Written() { // PutToken [token id payload]
		if strings.HasPrefix(e, "PutToken") {
			words := strings.Fields(strings.TrimSuffix(e, "]"))
			h.values["mail"] = words[len(words)-1]
		}
	}
	return h
}

func jwe01(t *T) {
	t.Strategies(func(t *T, strategy string) {
		h := jweCollect(t, strategy)
		raw, _, err := jwePurposes(t, h.World)["transaction"].Open(h.values[h.txName])
		var tx map[string]any
		if err != nil || json.Unmarshal(raw, &tx) != nil {
			t.Fatalf("the transaction does not open: %v", err)
		}
		for name, v := range tx { // verifier, nonce, state and more
			if s, ok := v.(string); ok && s != "" && !strings.ContainsAny(s, " ;") {
				h.values["transaction "+name] = s
			}
		}
		if len(h.values) < 12 {
			t.Fatalf("twin: only %d values", len(h.values))
		}
		refused := func(t *T, what, v string) { sessionSignedOut(t, h.World, what, v) }
		if strategy == "jwt" {
			refused = newJWEBench(t, h.World).refused
		}
		for name, v := range h.values {
			refused(t, name+" as a session", v)
		}
		jwe01Reverse(t, h, refused)
		if h.b.Clone().Email() == "" {
			t.Error("twin: the session itself is not valid")
		}
		t.Figure("%d values", len(h.values))
	})
}

// jwe01Reverse puts the session into the other cookies, and claims into the envelopes
// of other purposes.
func jwe01Reverse(t *T, h *jweHaul, refused func(*T, string, string)) {
	token := h.b.Cookies[h.SessionCookie()]
	swapped := func(name string) *arena.Browser {
		c := h.b.Clone()
		c.Cookies[name] = token
		return c
	}
	h.NoEffect(t, h.b, func() *browser.Answer { return swapped(h.txName).Get("/api/auth/callback/op?code=x&state=" + h.state) })
	first, _, _ := strings.Cut(token, ".")
	for _, csrf := range []string{token, first} {
		h.NoEffect(t, h.b, func() *browser.Answer {
			return swapped(h.CSRFCookie()).Form("/api/auth/signout", url.Values{"csrfToken": {csrf}})
		})
	}
	before := h.Ledger.Lasting()
	c := swapped(h.emailName)
	delete(c.Cookies, h.SessionCookie())
	if a := c.Get(h.link); a.StatusCode != 200 || h.Person(t, c) != "" || h.Ledger.Lasting() != before {
		t.Errorf("the link with a session as its cookie: %d %s", a.StatusCode, a.Location())
	}
	own := h.b.Clone()
	delete(own.Cookies, h.SessionCookie())
	if own.Get(h.link); own.Email() != "x@app.test" {
		t.Errorf("twin: the link with its own cookie: %q", own.Email())
	}
	for name, s := range jwePurposes(t, h.World) {
		sealed, err := s.Seal([]byte(jweAda()))
		if err != nil {
			t.Fatal(err)
		}
		refused(t, "claims in the envelope of "+name, sealed)
	}
}

func jwe10(t *T) {
	k := jweWorld(t, nil)
	token := k.token(t)
	k.good(t, "where it was made", token)
	for what, tune := range map[string]func(*authsvc.Config){
		"staging":      func(c *authsvc.Config) { c.URL = "https://staging.app.test" },
		"a port":       func(c *authsvc.Config) { c.URL = "https://app.test:8443" },
		"other cookie": func(c *authsvc.Config) { c.Cookies.Session = "__Host-other" },
		"other secret": func(c *authsvc.Config) { c.Secrets = []string{jweNext} },
		"v4":           func(c *authsvc.Config) { c.Compat = authsvc.NextAuthV4 },
		"v5":           func(c *authsvc.Config) { c.Compat = authsvc.AuthJSV5 },
	} {
		other := t.EnterOffline(func(c *authsvc.Config) { c.Session.Strategy = "jwt"; tune(c) })
		for _, name := range []string{k.w.SessionCookie(), other.SessionCookie(), "__Host-other"} {
			if a := sessionRaw(other, name+"="+token); strings.Contains(a.Text, "ada") {
				t.Errorf("%s as %s: %s", what, name, a.Text)
			}
		}
		b := other.Browser()
		b.Login("ada")
		for _, v := range b.Cookies {
			if v != "" && strings.Count(v, ".") == 4 {
				k.refused(t, "a token of "+what, v)
			}
		}
	}
}

const jweNext = "nX2mQ7rT5uV8wB1zC3dF6gH9jK4lM0pS-rotated-now"

// jwe11 rotates the secret while sessions, sign-in attempts, links and forms are in
// use.
func jwe11(t *T) {
	people := t.Scale("sessions", 10, 100, 1000)
	before := t.Enter(sessionStrategy("jwt"))
	jars := make([]*arena.Browser, people)
	for i := range jars {
		jars[i] = before.Browser()
		jars[i].Login("ada")
	}
	pending, linking := before.Browser(), before.Browser()
	back := pending.Approve(before.OP, pending.Begin("op"), "ada")
	linking.Post("/api/auth/signin/email", "email", "link@app.test")
	link, form := arena.Link(t, before.Mail.Next(t)), linking.CSRF()

	secrets := func(list ...string) *engine.Service {
		c := before.Config
		c.Secrets = list
		s, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(t.Context()) })
		return s
	}
	grace, after := secrets(jweNext, arena.Secret), secrets(jweNext)
	old := jars[0].Clone()
	for i, b := range jars {
		was := b.Cookies[before.SessionCookie()]
		if b.H = grace; b.Email() != "ada@app.test" || b.Cookies[before.SessionCookie()] == was {
			t.Fatalf("session %d: %q, sealed again: %v", i, b.Email(), b.Cookies[before.SessionCookie()] != was)
		}
		now := b.Cookies[before.SessionCookie()]
		if b.Email(); b.Cookies[before.SessionCookie()] != now {
			t.Errorf("session %d is sealed again each time", i)
		}
	}
	pending.H, linking.H = grace, grace
	if pending.Get(back); pending.Email() != "ada@example.com" {
		t.Errorf("the attempt in progress: %q", pending.Email())
	}
	if a := linking.Form("/api/auth/signin/email", url.Values{"csrfToken": {form}, "email": {"y@app.test"}}); !strings.Contains(a.Location(), "verify-request") {
		t.Errorf("the form in progress: %d %s", a.StatusCode, a.Location())
	}
	if linking.Get(link); linking.Email() != "link@app.test" {
		t.Errorf("the link in progress: %q", linking.Email())
	}
	for i, b := range jars {
		if b.H = after; b.Email() != "ada@app.test" {
			t.Errorf("session %d has ended when the old secret is removed", i)
		}
	}
	if old.H = after; old.Email() != "" {
		t.Error("the old secret still opens after its removal")
	}
}

// jwe12 checks that a token names its key, and that the engine tries no other.
func jwe12(t *T) {
	with := func(list ...string) *jweBench {
		return jweWorld(t, func(c *authsvc.Config) { c.Secrets = list })
	}
	now, old := with(jweNext, arena.Secret), with(arena.Secret)
	now.kids = append(now.kids, old.kids...)
	now.good(t, "a token of the new secret", now.token(t))
	now.good(t, "a token of the old secret", old.token(t))
	now.refused(t, "the old kid with the new key", now.sealUnder(t, old.header, []byte(jweAda())))
	now.refused(t, "the new kid with the old key", old.sealUnder(t, now.header, []byte(jweAda())))
	now.refused(t, "an unknown kid", now.sealAs(t, `{`+now.members(t, "kid")+`,"kid":"AAAAAAAAAAAA"}`, []byte(jweAda())))
	if t.Mode == modeNone {
		now.refused(t, "no kid", now.sealAs(t, `{`+now.members(t, "kid")+`}`, []byte(jweAda())))
	}
	jwe12Many(t, with)
}

// jwe12Many compares the cost of a large forged token with one key and with a
// thousand.
func jwe12Many(t *T, with func(...string) *jweBench) {
	n := t.Scale("keys", 100, 1000, 1000)
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%04d", jweNext, i)
	}
	many, one := with(list...), with(list[n-1])
	many.kids = append(many.kids, one.kids...)
	many.good(t, "a token of the last key", one.token(t))
	token := one.seal(t, `{"x":"`+strings.Repeat("x", 12<<10)+`",`+jweAda()[1:])
	one.good(t, "a large token", token)
	forged := flip(token, len(token)-3)
	many.refused(t, "a forged one", forged)
	alone, _ := one.cost(forged, 30)
	crowd, _ := many.cost(forged, 30)
	if most := alone + 200*time.Microsecond; measures() && crowd > most {
		t.Errorf("%v with one key, %v with %d", alone, crowd, n)
	}
	t.Figure("a forged token of 16 KiB: %v with one key, %v with %d", alone, crowd, n)
}

// jwe13 makes the service seal at every request.
func jwe13(t *T) {
	n := t.Scale("seals", 2000, 10_000, 1_000_000)
	w := t.EnterOffline(func(c *authsvc.Config) { c.Session.Strategy, c.Session.UpdateAge = "jwt", -1 })
	b := w.Browser()
	b.Login("ada")
	seen := make(map[string]bool, n)
	for range n {
		b.Get("/api/auth/session")
		p := strings.Split(b.Cookies[w.SessionCookie()], ".")
		if len(p) != 5 || seen[p[2]] || len(p[2]) < 16 {
			t.Fatalf("IV %q, used before: %v", p[2], seen[p[2]])
		}
		seen[p[2]] = true
	}
	text, err := os.ReadFile("../docs/security.md")
	if err != nil || !strings.Contains(string(text), "2³² tokens") {
		t.Errorf("the bound on the use of a key is not in docs/security.md, %v", err)
	}
}

// jwe14 tries secrets with the library, which must list every mistake, and with the
// program, which must exit.
func jwe14(t *T) {
	world := t.EnterOffline(nil)
	for what, list := range map[string][]string{
		"none": nil, "empty": {""}, "newlines": {strings.Repeat("\n", 40)}, "blanks": {strings.Repeat(" \t", 40)}, "short": {"s3cret-canary-short"}, "31 bytes": {"abcdefghijklmnopqrstuvwxyz-canar"[:31]},
		"secret": {"secret"}, "padded": {"  secret" + strings.Repeat(" ", 40)}, "one character": {strings.Repeat("c", 64)}, "few characters": {strings.Repeat("changeme", 8)},
		"second is weak": {arena.Secret, "secret-canary"}, "a variable's name": {"${AUTHSVC_SECRET}"}, "ellipsis": {"…"},
	} {
		c := world.Config
		c.Secrets = list
		s, err := engine.New(c)
		if s != nil || err == nil || len(authsvc.ConfigErrors(err)) == 0 {
			t.Errorf("%s: %v, %v", what, s, err)
			continue
		}
		for _, secret := range list {
			if v := strings.TrimSpace(secret); len(v) > 6 && strings.Contains(err.Error(), v) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: the message holds it: %v", what, err)
			}
		}
		if !strings.Contains(err.Error(), "random bytes") {
			t.Errorf("%s: the message does not say how to fix it: %v", what, err)
		}
	}
	jwe14Documents(t, world)
	if t.Mode == modeNone {
		jwe14Program(t)
	}
}

// jwe14Documents checks that every example secret in the documents is refused.
func jwe14Documents(t *T, w *arena.World) {
	pattern := regexp.MustCompile(`(?im)^[ \t]*(?:-?[ \t]*)(?:secret|NEXTAUTH_SECRET|AUTHSVC_SECRET|AUTH_SECRET)[ \t]*[:=][ \t]*"?([^"\s#{}]+)`)
	files := []string{"../README.md", "../SECURITY.md", "../doc.go"}
	for _, more := range []string{"../docs/*.md", "../docs/*/*.md", "../examples/*/*"} {
		found, err := filepath.Glob(more)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	samples := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a directory
		}
		for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
			samples++
			c := w.Config
			c.Secrets = []string{m[1]}
			if s, err := engine.New(c); err == nil {
				s.Close(t.Context())
				t.Errorf("%s: the sample %q is accepted", name, m[1])
			}
		}
	}
	t.Figure("%d samples in %d documents", samples, len(files))
}

func jwe14Program(t *T) {
	yaml := func(more string) string {
		return "url: \"{origin}\"\nproviders:\n  - {id: github, client_id: a, client_secret: b}\n" + more
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		more string
		env  []string
	}{
		"unset": {"", nil}, "empty": {"", []string{"AUTHSVC_SECRET="}}, "short": {"", []string{"AUTHSVC_SECRET=s3cret-canary"}}, "in the file": {"secret: s3cret-canary\n", nil},
		"file with a newline only": {"", []string{"AUTHSVC_SECRET_FILE=" + file}}, "file missing": {"", []string{"AUTHSVC_SECRET_FILE=" + file + ".none"}},
		"variable unset": {"secret: ${AUTHSVC_NOT_SET}\n", nil},
	} {
		p := process.Prepare(t, yaml(c.more), append(c.env, "AUTHSVC_STORAGE_URL=memory:")...)
		p.Start()
		if code := p.Wait(patience); code == 0 || !strings.Contains(strings.ToLower(p.Logs.String()), "secret") && !strings.Contains(p.Logs.String(), "AUTHSVC_NOT_SET") ||
			strings.Contains(p.Logs.String(), "canary") {
			t.Errorf("%s: exit %d\n%s", what, code, p.Logs)
		}
	}
	if err := os.WriteFile(file, []byte(arena.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := process.Prepare(t, yaml(""), "AUTHSVC_SECRET_FILE="+file, "AUTHSVC_STORAGE_URL=memory:")
	p.Start()
	p.Ready(patience)
}

// jwe15 checks that each sealed value opens only with its own purpose's key, and that
// a signature is valid for one purpose.
func jwe15(t *T) {
	h := jweCollect(t, "jwt")
	sealers := jwePurposes(t, h.World)
	values := map[string]string{"transaction": h.values[h.txName], "email": h.values[h.emailName], "known": h.values[h.knownName], "mail": h.values["mail"], "session": h.b.Cookies[h.SessionCookie()]}
	ring, err := seal.NewRing(h.Config.Secrets...)
	if err != nil {
		t.Fatal(err)
	}
	switch t.Mode {
	case modeNone:
		sealers["session"] = ring.Sealer("session " + arena.Origin + " " + h.SessionCookie())
	case modeV4:
		sealers["session"] = ring.NextAuthV4("")
	case modeV5:
		sealers["session"] = ring.AuthJSV5(h.SessionCookie())
		sealers["session of another cookie"] = ring.AuthJSV5("__Secure-other")
	}
	var headers []string
	for value, v := range values {
		for purpose, s := range sealers {
			if _, _, err := s.Open(v); (err == nil) != (value == purpose) {
				t.Errorf("the value of %s with the key of %s: %v", value, purpose, err)
			}
		}
		header, _, _ := strings.Cut(v, ".")
		headers = append(headers, header)
	}
	slices.Sort(headers)
	if n := len(slices.Compact(headers)); n != len(values) {
		t.Errorf("%d key ids for %d purposes", n, len(values))
	}
	if t.Mode == modeNone {
		token, sum, _ := strings.Cut(h.b.Cookies[h.CSRFCookie()], ".")
		claims := struct{ SID string }{}
		plain, _, err := sealers["session"].Open(values["session"])
		if err != nil || json.Unmarshal(plain, &claims) != nil {
			t.Fatal(err)
		}
		for purpose, want := range map[string]bool{"csrf " + base: true, "csrf": false, "state " + base: false, "limits": false, "leases": false, "email link " + base: false} {
			if ok, _ := ring.MAC(purpose).Verify(jweMaybe(sum), token, claims.SID); ok != want {
				t.Errorf("the CSRF token is signed for %s: %v", purpose, ok)
			}
		}
	}
	t.Figure("%d values, %d keys", len(values), len(sealers))
}
