package verify

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/bearer"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var tokenChecks = checks{
	"01": {title: "a token never counts as a session", run: token01},
	"02": {title: "a token is not accepted anywhere else", run: token02},
	"03": {title: "sessions and other values that authsvc makes do not count as tokens", run: token03},
	"04": {title: "token forged: aud, iss, alg, kid, typ, time, doubled claim", run: token04},
	"05": {title: "token from another site or without the CSRF token", run: token05},
	"06": {title: "token for an audience that is not configured", run: token06},
	"07": {title: "token outlives its session", run: token07},
	"08": {title: "jwks: private keys, cookies, other origins", run: token08},
	"09": {title: "rotation under load makes requests fail", once: true, run: token09},
	"10": {title: "tokens without a limit", run: token10},
	"11": {title: "a personal access token never counts as a session", run: token11},
	"12": {title: "a personal access token is not accepted anywhere else", run: token12},
	"13": {title: "a personal access token outlives its user or its revocation, or is guessed", run: token13},
}

const (
	tokenAPI   = "https://api.test"
	tokenOther = "https://other.test"
	tokenWiki  = "https://wiki.test" // a gate host with its own cookie
)

// tokenHosts are gate hosts that let every signed-in user pass.
var tokenHosts = []authsvc.GateHost{{Origin: arena.Origin}, {Origin: tokenWiki}}

// tokenWorld returns a world with two audiences, and a browser where ada is signed
// in.
func tokenWorld(t *T, strategy string) (*arena.World, *arena.Browser) {
	t.Helper()
	w := t.Enter(func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		c.Tokens.Audiences = []authsvc.Audience{{ID: tokenAPI, Claims: []string{"email"}}, {ID: tokenOther, Alg: authsvc.SigningEdDSA}}
		c.Gate.Hosts = tokenHosts
	})
	b := w.Browser()
	if b.SignIn(w.OP, "ada"); b.Email() == "" {
		t.Fatalf("no sign-in\n%s", w.Logs)
	}
	return w, b
}

// tokenFor gets a token, which must exist.
func tokenFor(t *T, b *arena.Browser, audience string) string {
	t.Helper()
	a := b.Post("/api/auth/token", "audience", audience)
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(a.Text), &answer); err != nil || answer.AccessToken == "" || a.StatusCode != 200 {
		t.Fatalf("no token: %d %s", a.StatusCode, a.Text)
	}
	return answer.AccessToken
}

// tokenVerifier returns a verifier of a program that the world's tokens are for.
func tokenVerifier(t *T, w http.Handler, audience string) *bearer.Verifier {
	t.Helper()
	v, err := bearer.New(bearer.Config{Issuer: arena.Origin + "/api/auth", Audience: audience, HTTP: &http.Client{Transport: browser.Handler(w)}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// tokenPlaces lists the places where a request may present a token as a session.
func tokenPlaces(w *arena.World) map[string]func(b *arena.Browser, token string) {
	cookie := func(name string, form func(string) string) func(*arena.Browser, string) {
		return func(b *arena.Browser, token string) { b.Cookies[name] = form(token) }
	}
	header := func(name, prefix string) func(*arena.Browser, string) {
		return func(b *arena.Browser, token string) { b.Header.Set(name, prefix+token) }
	}
	as := func(s string) string { return s }
	session := w.SessionCookie()
	places := map[string]func(*arena.Browser, string){
		"two chunks": func(b *arena.Browser, token string) {
			b.Cookies[session+".0"], b.Cookies[session+".1"] = token[:len(token)/2], token[len(token)/2:]
		},
		"the first chunk":         cookie(session+".0", as),
		"the claims alone":        cookie(session, func(s string) string { return strings.Split(s, ".")[1] }),
		"five parts, as of a JWE": cookie(session, func(s string) string { return s + "..AAAA" }),
		"quoted":                  cookie(session, func(s string) string { return `"` + s + `"` }),
		"percent-encoded":         cookie(session, func(s string) string { return url.QueryEscape(s + "%2E") }),
		"with a digest's prefix":  cookie(session, func(s string) string { return "sha256:" + s }),
		"with its scheme":         cookie(session, func(s string) string { return "Bearer " + s }),
		"in base64":               cookie(session, func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }),
		"Basic": func(b *arena.Browser, token string) {
			b.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ada:"+token)))
		},
		"Bearer":              header("Authorization", "Bearer "),
		"bearer":              header("Authorization", "bearer "),
		"DPoP":                header("Authorization", "DPoP "),
		"bare Authorization":  header("Authorization", ""),
		"X-Access-Token":      header("X-Access-Token", ""),
		"X-Auth-Token":        header("X-Auth-Token", ""),
		"Proxy-Authorization": header("Proxy-Authorization", "Bearer "),
		"X-Forwarded-Access":  header("X-Forwarded-Access-Token", ""),
		"X-Id-Token":          header("X-Id-Token", ""),
		"X-Auth-Request":      header("X-Auth-Request-Access-Token", ""),
		"X-Session-Token":     header("X-Session-Token", ""),
	}
	for _, name := range []string{session, "authsvc.session", "__Host-authsvc.session", "__Secure-authsvc.session", "next-auth.session-token", "__Secure-next-auth.session-token",
		"authjs.session-token", "__Secure-authjs.session-token", "session", "token", "access_token", "__Host-authsvc.known", "authsvc.known",
		"jwt", "id_token", "sid", "Authorization", "__Host-authsvc.tx.x", "__Secure-authsvc.callback-url", "__Host-authsvc.last", session + ".5", session + "-token"} {
		places["cookie "+name] = cookie(name, as)
	}
	return places
}

// tokenReaders read the session in every way, and return "" if there is none.
func tokenReaders(w *arena.World) map[string]func(t *T, b *arena.Browser) string {
	request := func(b *arena.Browser, method, path string) *http.Request {
		r := httptest.NewRequest(method, b.Abs(path), nil)
		for name, list := range b.Header {
			r.Header[name] = list
		}
		for name, v := range b.Cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: v})
		}
		return r
	}
	return map[string]func(t *T, b *arena.Browser) string{
		"GET session": func(_ *T, b *arena.Browser) string {
			if user, ok := b.Clone().Session()["user"].(map[string]any); ok {
				return fmt.Sprint(user)
			}
			return ""
		},
		"POST token": func(_ *T, b *arena.Browser) string {
			a := b.Clone().Post("/api/auth/token", "audience", tokenAPI)
			if a.StatusCode == 200 || strings.Contains(a.Text, "access_token") {
				return a.Text
			}
			return ""
		},
		"Service.Session": func(t *T, b *arena.Browser) string {
			s, err := w.Session(request(b, http.MethodGet, "/"))
			if err != nil {
				t.Error(err)
			}
			if s == nil {
				return ""
			}
			return s.UserID
		},
		"Require": func(_ *T, b *arena.Browser) string { return passes(w.Require, request(b, http.MethodPost, "/")) },
		"the gate": func(_ *T, b *arena.Browser) string {
			return passes(w.Guard, request(b, http.MethodGet, "/dash"))
		},
	}
}

// passes sends a request through to a program, and returns "" if it does not arrive.
func passes(by func(http.Handler) http.Handler, r *http.Request) string {
	rec := httptest.NewRecorder()
	by(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(rec, r)
	if rec.Code == http.StatusTeapot {
		return "passed"
	}
	return ""
}

// opensNoHost checks that a token opens no gate host if it is sent as the host's own
// cookie, attempt or code.
func opensNoHost(t *T, w *arena.World, token string) {
	t.Helper()
	arrive := func() *arena.Browser {
		b := w.Browser()
		b.Origin, b.Header = tokenWiki, http.Header{"Accept": {"text/html"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
		return b
	}
	enter := "/api/auth/gate/enter?code=" + url.QueryEscape(token)
	for name, try := range map[string]func(b *arena.Browser){
		"cookie": func(b *arena.Browser) { b.Cookies["__Host-authsvc.gate"] = token },
		"code": func(b *arena.Browser) {
			if a := b.Get("/api/auth/gate/start?to=/dash"); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/gate/authorize?") {
				t.Errorf("no attempt began: %d %s", a.StatusCode, a.Location())
			}
			if a := b.Get(enter); a.StatusCode != http.StatusBadRequest {
				t.Errorf("as a code: %d %s", a.StatusCode, a.Location())
			}
		},
		"attempt": func(b *arena.Browser) {
			b.Cookies["__Host-authsvc.gate-tx."+token[:16]] = token
			if a := b.Get(enter); a.StatusCode != http.StatusBadRequest {
				t.Errorf("as an attempt: %d %s", a.StatusCode, a.Location())
			}
		},
	} {
		b := arrive()
		try(b)
		r := httptest.NewRequest(http.MethodGet, tokenWiki+"/dash", nil)
		for cookie, v := range b.Cookies {
			r.AddCookie(&http.Cookie{Name: cookie, Value: v})
		}
		if passes(w.Guard, r) != "" {
			t.Errorf("as %s of a host it passes", name)
		}
	}
}

// tokenIsNoSession sends a token in every place. No reader may accept it as a
// session.
func tokenIsNoSession(t *T, w *arena.World, places map[string]func(*arena.Browser, string), readers map[string]func(*T, *arena.Browser) string, token string) {
	t.Helper()
	for where, put := range places {
		thief := w.Browser()
		put(thief, token)
		for how, read := range readers {
			if who := read(t, thief); who != "" {
				t.Errorf("%s, %s: %s", where, how, who)
			}
		}
	}
}

// tokenReadersKnow is the twin: all readers know who is signed in.
func tokenReadersKnow(t *T, readers map[string]func(*T, *arena.Browser) string, ada *arena.Browser) {
	t.Helper()
	for how, read := range readers {
		if read(t, ada) == "" {
			t.Errorf("twin: %s does not know ada", how)
		}
	}
}

func token01(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, ada := tokenWorld(t, strategy)
		places, readers := tokenPlaces(w), tokenReaders(w)
		for _, audience := range []string{tokenAPI, tokenOther} {
			token := tokenFor(t, ada, audience)
			tokenIsNoSession(t, w, places, readers, token)
		}
		tokenReadersKnow(t, readers, ada)
		if len(places) < 40 {
			t.Errorf("only %d places", len(places))
		}
		t.Figure("%d places, %d readers", len(places), len(readers))
	})
}

func token02(t *T) {
	w, ada := tokenWorld(t, "database")
	token := tokenFor(t, ada, tokenAPI)
	query := "?" + url.Values{"access_token": {token}, "token": {token}, "session": {token}, "session_token": {token}}.Encode()
	thief := w.Browser()
	if a := thief.Get("/api/auth/session" + query); a.Text != sessionEmpty(t) {
		t.Errorf("in the address: %s", a.Text)
	}
	csrf := thief.CSRF()
	for _, form := range []url.Values{{"csrfToken": {csrf}, "audience": {tokenAPI}}, {"csrfToken": {csrf}, "access_token": {token}, "token": {token}}} {
		if a := thief.Form("/api/auth/token"+query, form); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("in address and body: %d %s", a.StatusCode, a.Text)
		}
	}
	if thief.Get("/api/auth/signout/return?state=" + url.QueryEscape(token)); ada.Email() == "" {
		t.Error("as state of a sign-out")
	}
	for name, attack := range map[string]func() *browser.Answer{
		"CSRF token": func() *browser.Answer { return ada.Clone().Form("/api/auth/token", url.Values{"csrfToken": {token}}) },
		"state": func() *browser.Answer {
			return thief.Get("/api/auth/callback/op?code=x&state=" + url.QueryEscape(token))
		},
		"code": func() *browser.Answer {
			return thief.Get("/api/auth/callback/op?state=x&code=" + url.QueryEscape(token))
		},
		"ID token": func() *browser.Answer {
			return thief.Get("/api/auth/callback/op?state=x&id_token=" + url.QueryEscape(token))
		},
		"link": func() *browser.Answer {
			return thief.Get("/api/auth/callback/email?email=ada@example.com&token=" + url.QueryEscape(token))
		},
		"password": func() *browser.Answer {
			return thief.Post("/api/auth/callback/credentials", "username", "ada", "password", token)
		},
	} {
		if a := w.NoEffect(t, ada, attack); strings.Contains(a.Text, "access_token") {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
	opensNoHost(t, w, token)
	a := thief.Raw("/api/auth/backchannel-logout/op", "application/x-www-form-urlencoded", url.Values{"logout_token": {token}}.Encode())
	if a.StatusCode != http.StatusBadRequest || ada.Email() == "" {
		t.Errorf("as logout token: %d, and ada is %q", a.StatusCode, ada.Email())
	}
}

func token03(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, ada := tokenWorld(t, strategy)
		v := tokenVerifier(t, w, tokenAPI)
		if got, err := v.Verify(t.Context(), tokenFor(t, ada, tokenAPI)); err != nil || got.Email() != "ada@example.com" {
			t.Fatalf("twin: %+v, %v", got, err)
		}
		now := time.Now()
		mine := map[string]any{"iss": arena.Origin + "/api/auth", "aud": tokenAPI, "sub": "ada", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
		byProvider, err := w.OP.Sign("JWT", mine)
		if err != nil {
			t.Fatal(err)
		}
		logout, err := w.OP.LogoutToken("app", "ada")
		if err != nil {
			t.Fatal(err)
		}
		others := map[string]string{"by the provider's key": byProvider, "logout token": logout, "CSRF token": ada.CSRF()}
		for name, value := range ada.Cookies {
			others["cookie "+name] = value
		}
		if strategy == "jwt" {
			others["claims of the session in a JWS"] = "eyJhbGciOiJub25lIn0." + strings.Split(ada.Cookies[w.SessionCookie()], ".")[0] + "."
		}
		for name, raw := range others {
			if got, err := v.Verify(t.Context(), raw); err == nil {
				t.Errorf("%s is a token of %s", name, got.Subject)
			}
		}
		if len(others) < 6 {
			t.Errorf("only %d tried", len(others))
		}
		t.Figure("%d kinds", len(others))
	})
}

func token05(t *T) {
	w, ada := tokenWorld(t, "database")
	stranger := w.Browser()
	csrf, strangers := ada.CSRF(), stranger.CSRF()
	form := func(token string) url.Values { return url.Values{"csrfToken": {token}, "audience": {tokenAPI}} }
	for name, c := range map[string]struct {
		ask    func() *browser.Answer
		status int
	}{
		"none":            {func() *browser.Answer { return ada.Form("/api/auth/token", url.Values{"audience": {tokenAPI}}) }, 400},
		"empty":           {func() *browser.Answer { return ada.Form("/api/auth/token", form("")) }, 400},
		"a stranger's":    {func() *browser.Answer { return ada.Form("/api/auth/token", form(strangers)) }, 400},
		"one bit flipped": {func() *browser.Answer { return ada.Form("/api/auth/token", form(flip(csrf, 3))) }, 400},
		"in the URL":      {func() *browser.Answer { return ada.Form("/api/auth/token?csrfToken="+csrf, url.Values{}) }, 400},
		"in a header":     {func() *browser.Answer { return ada.Form("/api/auth/token", url.Values{}, "X-CSRF-Token", csrf) }, 400},
		"Bearer alone":    {func() *browser.Answer { return ada.Form("/api/auth/token", url.Values{}, "Authorization", "Bearer x") }, 400},
		"cross-site":      {func() *browser.Answer { return ada.Form("/api/auth/token", form(csrf), "Sec-Fetch-Site", "cross-site") }, 403},
		"same-site":       {func() *browser.Answer { return ada.Form("/api/auth/token", form(csrf), "Sec-Fetch-Site", "same-site") }, 403},
		"foreign Origin":  {func() *browser.Answer { return ada.Form("/api/auth/token", form(csrf), "Origin", "https://evil.test") }, 403},
		"Origin null":     {func() *browser.Answer { return ada.Form("/api/auth/token", form(csrf), "Origin", "null") }, 403},
		"as text":         {func() *browser.Answer { return ada.Raw("/api/auth/token", "text/plain", form(csrf).Encode()) }, 415},
		"GET":             {func() *browser.Answer { return ada.Get("/api/auth/token?" + form(csrf).Encode()) }, 405},
		"PUT": {func() *browser.Answer {
			return ada.Do(httptest.NewRequest(http.MethodPut, ada.Abs("/api/auth/token"), strings.NewReader(form(csrf).Encode())))
		}, 405},
		"method override":   {func() *browser.Answer { return ada.Get("/api/auth/token?_method=POST&" + form(csrf).Encode()) }, 405},
		"no session at all": {func() *browser.Answer { return stranger.Form("/api/auth/token", form(strangers)) }, 401},
	} {
		a := c.ask()
		if a.StatusCode != c.status || strings.Contains(a.Text, "access_token") || a.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	if a := ada.Form("/api/auth/token", form(csrf), "Sec-Fetch-Site", "same-origin"); a.StatusCode != 200 {
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
}

func token06(t *T) {
	w, ada := tokenWorld(t, "jwt")
	csrf := ada.CSRF()
	ask := func(contentType, body string) *browser.Answer { return ada.Raw("/api/auth/token", contentType, body) }
	asked := 0
	for _, audience := range []string{"", " ", "https://API.test", "https://api.test/", "https://api.tes", "https://api.test.evil.test", " https://api.test", "https://api.test\x00", "*", arena.Origin + "/api/auth",
		tokenAPI + " " + tokenOther, tokenAPI + "," + tokenOther} {
		a := ask("application/x-www-form-urlencoded", url.Values{"csrfToken": {csrf}, "audience": {audience}}.Encode())
		if asked++; a.StatusCode != 400 || !strings.Contains(a.Text, "urn:authsvc:problem:unknown_audience") {
			t.Errorf("%q: %d %s", audience, a.StatusCode, a.Text)
		}
	}
	for _, audience := range []string{`["` + tokenAPI + `"]`, "null", "1", "true", `{"id":"` + tokenAPI + `"}`} {
		a := ask("application/json", `{"csrfToken":"`+csrf+`","audience":`+audience+`}`)
		if asked++; a.StatusCode != 400 || strings.Contains(a.Text, "access_token") {
			t.Errorf("%s: %d %s", audience, a.StatusCode, a.Text)
		}
	}
	if a := ada.Post("/api/auth/token"); a.StatusCode != 400 {
		t.Errorf("none of two: %d", a.StatusCode)
	}
	mine := tokenFor(t, ada, tokenOther)
	if _, err := tokenVerifier(t, w, tokenAPI).Verify(t.Context(), mine); !errors.Is(err, bearer.ErrAudience) {
		t.Errorf("one audience's token at the other: %v", err)
	}
	if _, err := tokenVerifier(t, w, tokenOther).Verify(t.Context(), mine); err != nil {
		t.Errorf("twin: %v", err)
	}
	t.Figure("%d audiences", asked)
}

func token08(t *T) {
	w := t.Enter(func(c *authsvc.Config) {
		c.TrustedOrigins = []string{"https://www.app.test"}
		c.Tokens.Audiences = []authsvc.Audience{{ID: tokenAPI}, {ID: tokenOther, Alg: authsvc.SigningRS256}, {ID: "ed", Alg: authsvc.SigningEdDSA}}
	})
	ada, visitor := w.Browser(), w.Browser()
	ada.SignIn(w.OP, "ada")
	ada.Header.Set("Origin", "https://www.app.test")
	for _, path := range []string{"jwks", ".well-known/openid-configuration"} {
		one, two := ada.Get("/api/auth/"+path), visitor.Get("/api/auth/"+path)
		if one.Text != two.Text || one.StatusCode != 200 || one.Header["Set-Cookie"] != nil || one.Header["Access-Control-Allow-Origin"] != nil || one.Header.Get("Cache-Control") != "public, max-age=900" {
			t.Errorf("%s: %d %v", path, one.StatusCode, one.Header)
		}
		visitor.Header.Set("If-None-Match", one.Header.Get("ETag"))
		if a := visitor.Get("/api/auth/" + path); a.StatusCode != 304 || a.Text != "" {
			t.Errorf("%s again: %d", path, a.StatusCode)
		}
		delete(visitor.Header, "If-None-Match")
		if a := ada.Post("/api/auth/" + path); a.StatusCode != 405 {
			t.Errorf("POST %s: %d", path, a.StatusCode)
		}
	}
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal([]byte(visitor.Get("/api/auth/jwks").Text), &set); err != nil || len(set.Keys) != 3 {
		t.Fatalf("%v, %v", set, err)
	}
	for _, key := range set.Keys {
		for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "k"} {
			if key[private] != nil {
				t.Errorf("%s of %v is published", private, key["kid"])
			}
		}
	}
	record, err := w.Store.GetMeta(t.Context(), "signing-keys")
	if err != nil || strings.ContainsAny(record, "{\" ") || len(record) < 1000 {
		t.Errorf("the record is not sealed: %.40s, %v", record, err)
	}
	for _, kid := range []string{"pkcs8", record[:40]} {
		if strings.Contains(w.Logs.String(), kid) {
			t.Errorf("%s is in the log", kid)
		}
	}
}

func token10(t *T) {
	w := t.Enter(func(c *authsvc.Config) {
		c.Tokens.Audiences = []authsvc.Audience{{ID: tokenAPI}}
		c.RateLimit = authsvc.RateLimit{Token: authsvc.Rate{N: 5, Per: time.Hour}}
	})
	ada, again := w.Browser(), w.Browser()
	ada.SignIn(w.OP, "ada")
	again.SignIn(w.OP, "ada")
	for range 5 {
		tokenFor(t, ada, tokenAPI)
	}
	ada.IP = "198.51.100.1:1" // the session counts, not the address
	if a := ada.Post("/api/auth/token", "audience", tokenAPI); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" || !strings.Contains(a.Text, "urn:authsvc:problem:rate_limited") {
		t.Errorf("the sixth: %d %s", a.StatusCode, a.Text)
	}
	tokenFor(t, again, tokenAPI)
	if ada.Email() == "" {
		t.Error("the session was affected")
	}
}
