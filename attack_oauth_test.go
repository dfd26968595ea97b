package authsvc_test

import (
	"encoding/base64"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/idp"
)

// twoProviders adds op2, a second provider of an attacker, and plain.
func twoProviders(t *testing.T) (*arena, *idp.Server) {
	t.Helper()
	evil, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "evil-secret", RedirectURIs: redirectURIs()}},
		People: []idp.Person{{Sub: "ada", Name: "Not Ada", Email: "ada@example.com", EmailVerified: true}, {Sub: "x", Name: "X"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { evil.Close() })
	w := enter(t, func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		o := *op
		o.ID, o.Issuer, o.Client.Secret = "op2", evil.Issuer(), "evil-secret"
		p := *op
		p.ID, p.OpenID, p.Issuer = "plain", false, ""
		p.AuthorizationURL, p.TokenURL, p.UserInfoURL = op.Issuer+"/oauth2/authorize", op.Issuer+"/oauth2/token", op.Issuer+"/oauth2/user"
		p.Fields = authsvc.Fields{ID: "id", Image: "avatar_url"}
		c.Providers = append(c.Providers, &o, &p)
	})
	return w, evil
}

func query(t *testing.T, raw string, change func(url.Values)) string {
	t.Helper()
	u := mustURL(t, raw)
	q := u.Query()
	change(q)
	u.RawQuery = q.Encode()
	return u.String()
}

// flip changes the character at i.
func flip(s string, i int) string {
	c := "A"
	if s[i] == 'A' {
		c = "B"
	}
	return s[:i] + c + s[i+1:]
}

func TestAttackState(t *testing.T) {
	t.Parallel()
	w, evil := twoProviders(t)
	other := w.browser()
	foreign := mustURL(t, other.begin("op")).Query().Get("state")
	cells := map[string]func(q url.Values){
		"missing": func(q url.Values) { q.Del("state") }, "empty": func(q url.Values) { q.Set("state", "") },
		"twice":             func(q url.Values) { q.Add("state", q.Get("state")) },
		"of other browser":  func(q url.Values) { q.Set("state", foreign) },
		"flipped random":    func(q url.Values) { q.Set("state", flip(q.Get("state"), 0)) },
		"flipped MAC":       func(q url.Values) { s := q.Get("state"); q.Set("state", flip(s, len(s)-2)) },
		"truncated":         func(q url.Values) { s := q.Get("state"); q.Set("state", s[:len(s)-1]) },
		"huge":              func(q url.Values) { q.Set("state", strings.Repeat("s", 10_000)) },
		"oauth2-15 error":   func(q url.Values) { q.Set("error", "x") },
		"oauth2-15 code*2":  func(q url.Values) { q.Add("code", "x") },
		"oauth2-15 no code": func(q url.Values) { q.Set("code", "") },
		"oauth2-15 64 KB":   func(q url.Values) { q.Set("code", strings.Repeat("c", 64<<10)) },
		"oauth2-15 CRLF":    func(q url.Values) { q.Set("code", q.Get("code")+"\r\nX: y") },
		"oauth2-15 NUL":     func(q url.Values) { q.Set("code", "\x00") },
		"oauth2-17 tokens":  func(q url.Values) { q.Del("code"); q.Set("access_token", "x"); q.Set("id_token", "y") },
		"oauth2-10 no iss":  func(q url.Values) { q.Del("iss") },
		"oauth2-10 wrong":   func(q url.Values) { q.Set("iss", evil.Issuer()) },
		"oauth2-10 twice":   func(q url.Values) { q.Add("iss", q.Get("iss")) },
		"oauth2-10 slash":   func(q url.Values) { q.Set("iss", q.Get("iss")+"/") },
		"oauth2-10 case":    func(q url.Values) { q.Set("iss", strings.Replace(q.Get("iss"), "http", "HTTP", 1)) },
	}
	for name, change := range cells {
		t.Run("oauth2-01 "+name, func(t *testing.T) {
			b := w.browser()
			back := b.approve(w.op, b.begin("op"), "grace")
			w.mustRefuse(t, func() *answer { return b.get(query(t, back, change)) })
			if b.email() != "" {
				t.Error("signed in")
			}
		})
	}
	t.Run("oauth2-05 used", func(t *testing.T) {
		b := w.browser()
		back := b.approve(w.op, b.begin("op"), "grace")
		jar := b.clone()
		if a := b.get(back); a.location() != origin {
			t.Fatalf("twin: %s\n%s", a.location(), w.logs)
		}
		w.mustRefuse(t, func() *answer { return b.get(back) })
		w.mustRefuse(t, func() *answer { return jar.get(back) })
		if b.email() != "grace@example.com" {
			t.Error("the session is gone")
		}
	})
	t.Run("oauth2-02 not per transaction", func(t *testing.T) {
		b, seen := w.browser(), map[string]bool{}
		for range 5 {
			s := mustURL(t, b.begin("op")).Query().Get("state")
			raw, err := base64.RawURLEncoding.DecodeString(s[:strings.Index(s, ".")])
			if err != nil || len(raw) < 16 || seen[s] {
				t.Errorf("state %s", s)
			}
			seen[s] = true
		}
	})
	t.Run("oauth2-03 not bound to browser", func(t *testing.T) {
		b, swapped := w.browser(), w.browser()
		back := b.approve(w.op, b.begin("op"), "grace")
		swapped.begin("op")
		csrf, tx := b.clone(), b.clone()
		csrf.cookies[csrfName] = swapped.cookies[csrfName]
		for name := range tx.cookies {
			if strings.Contains(name, ".tx.") {
				delete(tx.cookies, name)
			}
		}
		for name, v := range swapped.cookies {
			if strings.Contains(name, ".tx.") {
				tx.cookies[name] = v
			}
		}
		none := b.clone()
		delete(none.cookies, csrfName)
		for _, jar := range []*browser{csrf, tx, none} {
			w.mustRefuse(t, func() *answer { return jar.get(back) })
		}
		if a := b.get(back); a.location() != origin {
			t.Errorf("twin: %s", a.location())
		}
	})
	t.Run("oauth2-04 not bound to provider", func(t *testing.T) {
		for from, to := range map[string]string{"op2": "op", "op": "op2"} {
			b := w.browser()
			start := b.begin(from)
			server := map[string]*idp.Server{"op": w.op, "op2": evil}[from]
			back := strings.Replace(b.approve(server, start, "ada"), "/callback/"+from, "/callback/"+to, 1)
			before := evil.Calls(idp.EndpointToken)
			w.mustRefuse(t, func() *answer { return b.get(back) })
			if evil.Calls(idp.EndpointToken) != before {
				t.Error("the code went to the other provider")
			}
		}
	})
	t.Run("oauth2-13 full mix-up run", func(t *testing.T) {
		b := w.browser()
		state := mustURL(t, b.begin("op2")).Query().Get("state")
		honest := query(t, b.begin("op"), func(q url.Values) {
			q.Set("state", state)
			q.Set("redirect_uri", origin+"/api/auth/callback/op2")
		})
		back := b.approve(w.op, honest, "ada")
		for _, id := range []string{"op2", "op"} {
			w.mustRefuse(t, func() *answer {
				return b.get(query(t, strings.Replace(back, "/callback/op2", "/callback/"+id, 1), func(url.Values) {}))
			})
		}
		if evil.Calls(idp.EndpointToken) != 0 || b.email() != "" {
			t.Error("the honest provider's code reached the attacker")
		}
	})
	t.Run("oauth2-14 error response", func(t *testing.T) {
		b := w.browser()
		start := b.begin("op")
		w.mustRefuse(t, func() *answer { return b.get("/api/auth/callback/op?error=access_denied") })
		w.mustRefuse(t, func() *answer { return b.get("/api/auth/callback/op?error=access_denied&state=" + foreign) })
		if a := b.get(b.approve(w.op, start, "grace")); a.location() != origin {
			t.Errorf("the live attempt is lost: %s", a.location())
		}
		start = b.begin("op")
		denied := b.approve(w.op, start, "")
		if a := w.mustRefuse(t, func() *answer { return b.get(denied) }); !strings.Contains(a.location(), "AccessDenied") {
			t.Errorf("%s", a.location())
		}
		w.mustRefuse(t, func() *answer { return b.get(b.approve(w.op, start, "grace")) })
	})
	t.Run("oauth2-08 code injection", func(t *testing.T) {
		victim, attacker := w.browser(), w.browser()
		code := mustURL(t, victim.approve(w.op, victim.begin("op"), "ada")).Query().Get("code")
		back := attacker.approve(w.op, attacker.begin("op"), "grace")
		w.mustRefuseLate(t, func() *answer { return attacker.get(query(t, back, func(q url.Values) { q.Set("code", code) })) })
	})
	t.Run("oauth2-16 wrong response mode", func(t *testing.T) {
		b := w.browser()
		back := b.approve(w.op, b.begin("op"), "grace")
		w.mustRefuse(t, func() *answer {
			return b.form("/api/auth/callback/op", with(mustURL(t, back).Query(), "csrfToken", b.csrf()))
		})
		if a := b.get(back); a.location() != origin {
			t.Errorf("twin: %s", a.location())
		}
	})
	t.Run("oauth2-29 prefetch", func(t *testing.T) {
		b := w.browser()
		back := b.approve(w.op, b.begin("op"), "grace")
		calls := w.tokenCalls()
		for _, header := range []string{"Sec-Purpose", "Purpose"} {
			r := httptest.NewRequest("GET", back, nil)
			r.Header.Set(header, "prefetch")
			b.do(r)
		}
		if w.tokenCalls() != calls {
			t.Error("a prefetch redeems the code")
		}
		if a := b.get(back); a.location() != origin {
			t.Errorf("twin: %s", a.location())
		}
	})
}

func TestAttackAuthorizationRequest(t *testing.T) {
	t.Parallel()
	w, _ := twoProviders(t)
	t.Run("oauth2-26 parameter override", func(t *testing.T) {
		hostile := url.Values{}
		for _, name := range []string{"redirect_uri", "client_id", "scope", "state", "nonce", "code_challenge", "code_challenge_method", "response_type", "response_mode", "request", "request_uri", "registration", "claims", "resource", "audience", "x"} {
			hostile.Set(name, "hostile")
		}
		hostile.Set("login_hint", "ada@example.com")
		b := w.browser()
		a := b.form("/api/auth/signin/op?"+hostile.Encode(), with(hostile, "csrfToken", b.csrf()))
		if strings.Contains(a.location(), "hostile") {
			t.Errorf("%s", a.location())
		}
		q := mustURL(t, a.location()).Query()
		if q.Get("login_hint") != "ada@example.com" {
			t.Error("twin: login_hint does not pass")
		}
		for name, v := range q {
			if len(v) != 1 {
				t.Errorf("%s is there %d times", name, len(v))
			}
		}
	})
	t.Run("oauth2-06 oauth2-09 oauth2-12 PKCE and redirect URI", func(t *testing.T) {
		seen := map[string]bool{}
		for _, id := range []string{"op", "op2", "plain"} {
			for range 10 {
				b := w.browser()
				q := mustURL(t, b.begin(id)).Query()
				if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || seen[q.Get("code_challenge")] {
					t.Errorf("%s: challenge %q %q", id, q.Get("code_challenge_method"), q.Get("code_challenge"))
				}
				seen[q.Get("code_challenge")] = true
				if q.Get("redirect_uri") != origin+"/api/auth/callback/"+id || q.Get("response_type") != "code" {
					t.Errorf("%s: %v", id, q)
				}
				if got := q.Get("nonce") != ""; got != (id != "plain") {
					t.Errorf("%s: nonce %v", id, got)
				}
			}
		}
	})
	t.Run("oauth2-24 token substitution", func(t *testing.T) {
		b := w.browser()
		for _, path := range []string{"/signin/op", "/callback/op", "/session", "/callback/credentials"} {
			b.post("/api/auth"+path, "access_token", "x", "id_token", "y.z.a", "token", "x")
		}
		if b.email() != "" {
			t.Error("signed in by a token")
		}
	})
	t.Run("oauth2-11 plain provider begins to send iss", func(t *testing.T) {
		b := w.browser()
		back := query(t, b.approve(w.op, b.begin("plain"), "katherine"), func(q url.Values) { q.Set("iss", "https://id.test") })
		if a := b.get(back); a.location() != origin {
			t.Errorf("%s\n%s", a.location(), w.logs)
		}
	})
}
