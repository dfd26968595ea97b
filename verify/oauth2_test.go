package verify

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var oauth2Checks = checks{
	"01": {title: "state failures", run: oauth201},
	"02": {title: "state not per transaction", run: oauth202},
	"03": {title: "state not bound to browser", run: oauth203},
	"04": {title: "state not bound to provider", run: oauth204},
	"05": {title: "callback replay", run: oauth205},
	"06": {title: "PKCE absent or weak", run: oauth206},
	"07": {title: "PKCE downgrade", run: oauth207},
	"08": {title: "code injection", run: oauth208},
	"09": {title: "verifier exposure", run: oauth209},
	"10": {title: "mix-up, iss announced", run: oauth210},
	"11": {title: "mix-up, iss not announced", run: oauth211},
	"12": {title: "shared redirect URI", run: oauth212},
	"13": {title: "full mix-up run", run: oauth213},
	"14": {title: "error response handling", run: oauth214},
	"15": {title: "ambiguous response", run: oauth215},
	"16": {title: "wrong response mode", run: oauth216},
	"17": {title: "front-channel tokens", run: oauth217},
	"18": {title: "scope creep", run: oauth218},
	"19": {title: "client secret handling", run: oauth219},
	"20": {title: "audience injection", run: oauth220},
	"21": {title: "malformed token response", run: oauth221},
	"22": {title: "hostile token error", run: oauth222},
	"23": {title: "missing user id", run: oauth223},
	"24": {title: "token substitution", run: oauth224},
	"25": {title: "bearer token in the URL", run: oauth225},
	"26": {title: "parameter override", run: oauth226},
	"27": {title: "authorization request of another browser", run: oauth227},
	"28": {title: "provider id abuse", run: oauth228},
	"29": {title: "prefetch burns the code", run: oauth229},
}

// A pair is a world with two more providers: op2, run by an attacker, and plain,
// which is OAuth 2.0 without OpenID Connect.
type pair struct {
	*arena.World
	evil *idp.Server
}

func oauth2Pair(t *T, tune func(*authsvc.Config)) pair {
	t.Helper()
	evil, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "evil-secret", RedirectURIs: arena.RedirectURIs()}},
		People: []idp.Person{{Sub: "ada", Name: "Not Ada", Email: "ada@example.com", EmailVerified: true}, {Sub: "x", Name: "X"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { evil.Close() })
	w := t.Enter(func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		o := *op
		o.ID, o.Issuer, o.Client.Secret = "op2", evil.Issuer(), "evil-secret"
		p := *op
		p.ID, p.OpenID, p.Issuer = "plain", false, ""
		p.Endpoints.Authorization, p.Endpoints.Token, p.Endpoints.UserInfo = op.Issuer+"/oauth2/authorize", op.Issuer+"/oauth2/token", op.Issuer+"/oauth2/user"
		p.Fields = authsvc.Fields{ID: "id", Image: "avatar_url"}
		c.Providers = append(c.Providers, &o, &p)
		if tune != nil {
			tune(c)
		}
	})
	return pair{w, evil}
}

// query changes the parameters of an address.
func query(t *T, raw string, change func(url.Values)) string {
	t.Helper()
	u := arena.MustURL(t, raw)
	q := u.Query()
	change(q)
	u.RawQuery = q.Encode()
	return u.String()
}

// oauth2Cells changes the callback in each way. No changed callback may reach the
// token endpoint; the unchanged one signs in.
func oauth2Cells(t *T, w *arena.World, cells map[string]func(q url.Values)) {
	t.Helper()
	for name, change := range cells {
		b := w.Browser()
		back := b.Approve(w.OP, b.Begin("op"), "grace")
		w.MustRefuse(t, func() *browser.Answer { return b.Get(query(t, back, change)) })
		if b.Email() != "" {
			t.Errorf("%s: signed in", name)
		}
	}
	if b := w.Browser(); b.SignIn(w.OP, "grace").Location() != arena.Origin {
		t.Error("twin: no sign-in")
	}
	t.Figure("%d callbacks", len(cells))
}

func oauth201(t *T) {
	w := t.Enter(nil)
	foreign := arena.MustURL(t, w.Browser().Begin("op")).Query().Get("state")
	oauth2Cells(t, w, map[string]func(q url.Values){
		"missing": func(q url.Values) { q.Del("state") }, "empty": func(q url.Values) { q.Set("state", "") },
		"twice":            func(q url.Values) { q.Add("state", q.Get("state")) },
		"of other browser": func(q url.Values) { q.Set("state", foreign) },
		"flipped random":   func(q url.Values) { q.Set("state", flip(q.Get("state"), 0)) },
		"flipped MAC":      func(q url.Values) { s := q.Get("state"); q.Set("state", flip(s, len(s)-2)) },
		"truncated":        func(q url.Values) { s := q.Get("state"); q.Set("state", s[:len(s)-1]) },
		"huge":             func(q url.Values) { q.Set("state", strings.Repeat("s", 10_000)) },
	})
}

func oauth202(t *T) {
	b, seen := t.Enter(nil).Browser(), map[string]bool{}
	for range 20 {
		s := arena.MustURL(t, b.Begin("op")).Query().Get("state")
		random, _, _ := strings.Cut(s, ".")
		raw, err := base64.RawURLEncoding.DecodeString(random)
		if err != nil || len(raw) < 16 || seen[s] || seen[random] {
			t.Errorf("state %s", s)
		}
		seen[s], seen[random] = true, true
	}
}

func oauth203(t *T) {
	w := t.Enter(nil)
	b, swapped := w.Browser(), w.Browser()
	back := b.Approve(w.OP, b.Begin("op"), "grace")
	swapped.Begin("op")
	csrf, tx, none := b.Clone(), b.Clone(), b.Clone()
	csrf.Cookies[w.CSRFCookie()] = swapped.Cookies[w.CSRFCookie()]
	delete(none.Cookies, w.CSRFCookie())
	for name := range tx.Cookies {
		if strings.Contains(name, ".tx.") {
			delete(tx.Cookies, name)
		}
	}
	for name, v := range swapped.Cookies {
		if strings.Contains(name, ".tx.") {
			tx.Cookies[name] = v
		}
	}
	for _, jar := range []*arena.Browser{csrf, tx, none} {
		w.MustRefuse(t, func() *browser.Answer { return jar.Get(back) })
	}
	if a := b.Get(back); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
}

func oauth204(t *T) {
	w := oauth2Pair(t, nil)
	for from, to := range map[string]string{"op2": "op", "op": "op2"} {
		b := w.Browser()
		server := map[string]*idp.Server{"op": w.OP, "op2": w.evil}[from]
		back := b.Approve(server, b.Begin(from), "ada")
		before := w.evil.Calls(idp.EndpointToken)
		w.MustRefuse(t, func() *browser.Answer { return b.Get(strings.Replace(back, "/callback/"+from, "/callback/"+to, 1)) })
		if w.evil.Calls(idp.EndpointToken) != before {
			t.Error("the code went to the other provider")
		}
		own := w.Browser()
		if a := own.Get(own.Approve(server, own.Begin(from), map[string]string{"op": "grace", "op2": "x"}[from])); a.Location() != arena.Origin {
			t.Errorf("twin at %s: %s", from, a.Location())
		}
	}
}

func oauth205(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	back := b.Approve(w.OP, b.Begin("op"), "grace")
	jar := b.Clone()
	if a := b.Get(back); a.Location() != arena.Origin {
		t.Fatalf("twin: %s\n%s", a.Location(), w.Logs)
	}
	w.MustRefuse(t, func() *browser.Answer { return b.Get(back) })
	w.MustRefuse(t, func() *browser.Answer { return jar.Get(back) })
	if b.Email() != "grace@example.com" {
		t.Error("the session is gone")
	}
}

func oauth208(t *T) {
	w := t.Enter(nil)
	victim, attacker := w.Browser(), w.Browser()
	theirs := victim.Approve(w.OP, victim.Begin("op"), "ada")
	code := arena.MustURL(t, theirs).Query().Get("code")
	back := attacker.Approve(w.OP, attacker.Begin("op"), "grace")
	w.MustRefuseLate(t, func() *browser.Answer {
		return attacker.Get(query(t, back, func(q url.Values) { q.Set("code", code) }))
	})
	if b := w.Browser(); b.SignIn(w.OP, "ada").Location() != arena.Origin {
		t.Error("twin: no sign-in")
	}
}

func oauth210(t *T) {
	w := oauth2Pair(t, nil)
	oauth2Cells(t, w.World, map[string]func(q url.Values){
		"absent": func(q url.Values) { q.Del("iss") },
		"empty":  func(q url.Values) { q.Set("iss", "") },
		"wrong":  func(q url.Values) { q.Set("iss", w.evil.Issuer()) },
		"twice":  func(q url.Values) { q.Add("iss", q.Get("iss")) },
		"slash":  func(q url.Values) { q.Set("iss", q.Get("iss")+"/") },
		"case":   func(q url.Values) { q.Set("iss", strings.Replace(q.Get("iss"), "http", "HTTP", 1)) },
	})
}

func oauth211(t *T) {
	w := oauth2Pair(t, nil)
	w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }})
	sign := func(provider, sub string, change func(url.Values)) *browser.Answer {
		b := w.Browser()
		return b.Get(query(t, b.Approve(w.OP, b.Begin(provider), sub), change))
	}
	w.MustRefuse(t, func() *browser.Answer { return sign("op", "ada", func(q url.Values) { q.Set("iss", w.evil.Issuer()) }) })
	for name, change := range map[string]func(url.Values){"equal": func(url.Values) {}, "absent": func(q url.Values) { q.Del("iss") }} {
		if a := sign("op", "grace", change); a.Location() != arena.Origin {
			t.Errorf("twin, %s: %s", name, a.Location())
		}
	}
	if a := sign("plain", "katherine", func(q url.Values) { q.Set("iss", "https://id.test") }); a.Location() != arena.Origin {
		t.Errorf("twin, a plain provider begins to send iss: %s\n%s", a.Location(), w.Logs)
	}
}

func oauth213(t *T) {
	w := oauth2Pair(t, nil)
	b := w.Browser()
	state := arena.MustURL(t, b.Begin("op2")).Query().Get("state")
	honest := query(t, b.Begin("op"), func(q url.Values) {
		q.Set("state", state)
		q.Set("redirect_uri", arena.Origin+"/api/auth/callback/op2")
	})
	back := b.Approve(w.OP, honest, "ada")
	for _, id := range []string{"op2", "op"} {
		w.MustRefuse(t, func() *browser.Answer { return b.Get(strings.Replace(back, "/callback/op2", "/callback/"+id, 1)) })
	}
	if w.evil.Calls(idp.EndpointToken) != 0 || b.Email() != "" {
		t.Error("the honest provider's code reached the attacker")
	}
	if b := w.Browser(); b.SignIn(w.OP, "grace").Location() != arena.Origin {
		t.Error("twin: no sign-in")
	}
}

func oauth214(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	foreign := arena.MustURL(t, w.Browser().Begin("op")).Query().Get("state")
	start := b.Begin("op")
	w.MustRefuse(t, func() *browser.Answer { return b.Get("/api/auth/callback/op?error=access_denied") })
	w.MustRefuse(t, func() *browser.Answer { return b.Get("/api/auth/callback/op?error=access_denied&state=" + foreign) })
	if a := b.Get(b.Approve(w.OP, start, "grace")); a.Location() != arena.Origin {
		t.Errorf("twin: the live attempt is lost: %s", a.Location())
	}
	start = b.Begin("op")
	denied := b.Approve(w.OP, start, "")
	if a := w.MustRefuse(t, func() *browser.Answer { return b.Get(denied) }); !strings.Contains(a.Location(), "AccessDenied") {
		t.Errorf("%s", a.Location())
	}
	w.MustRefuse(t, func() *browser.Answer { return b.Get(b.Approve(w.OP, start, "grace")) })
}

func oauth215(t *T) {
	oauth2Cells(t, t.Enter(nil), map[string]func(q url.Values){
		"code and error": func(q url.Values) { q.Set("error", "x") },
		"code twice":     func(q url.Values) { q.Add("code", "x") },
		"empty":          func(q url.Values) { q.Set("code", "") },
		"64 KB":          func(q url.Values) { q.Set("code", strings.Repeat("c", 64<<10)) },
		"CRLF":           func(q url.Values) { q.Set("code", q.Get("code")+"\r\nX: y") },
		"NUL":            func(q url.Values) { q.Set("code", "\x00") },
		"error twice":    func(q url.Values) { q.Del("code"); q["error"] = []string{"a", "b"} },
	})
}

func oauth216(t *T) {
	w := t.Enter(func(c *authsvc.Config) {
		o := *c.Providers[0].(*authsvc.OAuth)
		o.ID, o.ResponseMode = "apple", "form_post"
		c.Providers = append(c.Providers, &o)
	})
	b := w.Browser()
	back := b.Approve(w.OP, b.Begin("op"), "grace")
	w.MustRefuse(t, func() *browser.Answer {
		return b.Form("/api/auth/callback/op", with(arena.MustURL(t, back).Query(), "csrfToken", b.CSRF()))
	})
	if a := b.Get(back); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
	apple := w.Browser()
	answer, err := w.OP.Approve(apple.Begin("apple"), "katherine")
	if err != nil {
		t.Fatal(err)
	}
	w.MustRefuse(t, func() *browser.Answer { return apple.Clone().Get("/api/auth/callback/apple?" + answer.Params.Encode()) })
	answer.Params.Set("repost", "1")
	if a := apple.Form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "same-origin"); a.Location() != arena.Origin {
		t.Errorf("twin, form_post: %s\n%s", a.Location(), w.Logs)
	}
}

func oauth217(t *T) {
	w := t.Enter(nil)
	if q := arena.MustURL(t, w.Browser().Begin("op")).Query(); q.Get("response_type") != "code" {
		t.Errorf("response_type %q", q.Get("response_type"))
	}
	oauth2Cells(t, w, map[string]func(q url.Values){
		"tokens in place of the code": func(q url.Values) { q.Del("code"); q.Set("access_token", "x"); q.Set("id_token", "y") },
		"token alone":                 func(q url.Values) { q.Del("code"); q.Set("access_token", "x"); q.Set("token_type", "bearer") },
	})
}

func oauth224(t *T) {
	w := t.Enter(nil)
	var token, id string
	w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) {
		token, id = a["access_token"].(string), a["id_token"].(string)
	}})
	if w.Browser().SignIn(w.OP, "ada"); token == "" || id == "" {
		t.Fatal("twin: no tokens")
	}
	b := w.Browser()
	for _, path := range []string{"/signin/op", "/callback/op", "/session", "/callback/credentials", "/signout"} {
		b.Post("/api/auth"+path, "access_token", token, "id_token", id, "token", id, "credential", id)
		b.Get("/api/auth" + path + "?access_token=" + token + "&id_token=" + id)
	}
	b.Header.Set("Authorization", "Bearer "+id)
	if b.Email() != "" {
		t.Error("signed in by a token")
	}
}

func oauth226(t *T) {
	w := t.Enter(nil)
	hostile := url.Values{}
	for _, name := range []string{"redirect_uri", "client_id", "scope", "state", "nonce", "code_challenge", "code_challenge_method", "response_type", "response_mode", "request", "request_uri", "registration", "claims", "resource", "audience", "x"} {
		hostile.Set(name, "hostile")
	}
	hostile.Set("login_hint", "ada@example.com")
	b := w.Browser()
	a := b.Form("/api/auth/signin/op?"+hostile.Encode(), with(hostile, "csrfToken", b.CSRF()))
	if strings.Contains(a.Location(), "hostile") {
		t.Errorf("%s", a.Location())
	}
	q := arena.MustURL(t, a.Location()).Query()
	if q.Get("login_hint") != "ada@example.com" {
		t.Error("twin: login_hint does not pass")
	}
	for name, v := range q {
		if len(v) != 1 {
			t.Errorf("%s is there %d times", name, len(v))
		}
	}
}

func oauth227(t *T) {
	w := t.Enter(nil)
	start := w.Browser().Begin("op")
	for _, begun := range []bool{false, true} {
		victim := w.Browser()
		if begun {
			victim.Begin("op")
		}
		w.MustRefuse(t, func() *browser.Answer { return victim.Get(victim.Approve(w.OP, start, "ada")) })
	}
	if b := w.Browser(); b.SignIn(w.OP, "ada").Location() != arena.Origin {
		t.Error("twin: no sign-in")
	}
}

func oauth228(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	token := b.CSRF()
	long := strings.Repeat("marker", 700)
	for _, id := range []string{"OP", "op%00", "__proto__", "constructor", long, "unknownmarker", "op%2f", "..%2fcsrf", "op%20", "%6fp%6d"} {
		for _, path := range []string{"/signin/", "/callback/"} {
			r := httptest.NewRequest(http.MethodPost, arena.Origin+"/api/auth/x", strings.NewReader("csrfToken="+token))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			u, err := url.Parse(arena.Origin + "/api/auth" + path + id)
			if err != nil {
				t.Fatal(err)
			}
			r.URL = u
			a := w.MustRefuse(t, func() *browser.Answer { return b.Clone().Do(r) })
			if t.Mode == modeNone && a.StatusCode != http.StatusNotFound || strings.Contains(a.Text+a.Location(), "marker") || strings.Contains(a.Text, "__proto__") {
				t.Errorf("%s%.20s: %d", path, id, a.StatusCode)
			}
		}
	}
	if to := b.Begin("op"); !strings.HasPrefix(to, w.OP.Issuer()) {
		t.Errorf("twin: %s", to)
	}
}

func oauth229(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	back := b.Approve(w.OP, b.Begin("op"), "grace")
	calls := w.TokenCalls()
	for _, header := range []string{"Sec-Purpose", "Purpose"} {
		r := httptest.NewRequest("GET", back, nil)
		r.Header.Set(header, "prefetch")
		b.Do(r)
	}
	b.Do(httptest.NewRequest("HEAD", back, nil))
	if w.TokenCalls() != calls {
		t.Error("a prefetch redeems the code")
	}
	if a := b.Get(back); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
}
