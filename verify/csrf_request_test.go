package verify

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// csrf03 runs the test that checks how the source compares secrets.
func csrf03(t *T) {
	out, err := exec.Command("go", "test", "-count=1", "-v", "-run", "TestBans$", "..").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestBans") {
		t.Errorf("%v\n%s", err, out)
	}
}

// csrfForms returns a world with a provider "apple" that answers by form_post.
func csrfForms(t *T) (*arena.World, *arena.Browser) {
	return csrfWorld(t, func(c *authsvc.Config) {
		o := *c.Providers[0].(*authsvc.OAuth)
		o.ID, o.ResponseMode = "apple", "form_post"
		c.Providers = append(c.Providers, &o)
	})
}

// quiet checks that a request did not affect the signed-in user.
func quiet(t *T, w *arena.World, b *arena.Browser, request func() *browser.Answer) *browser.Answer {
	t.Helper()
	before, me, calls := w.Ledger.Lasting(), w.Person(t, b), w.TokenCalls()
	a := request()
	if got := w.Ledger.Lasting(); got != before {
		t.Errorf("effects: %s", strings.TrimPrefix(got, before))
	}
	if strings.HasPrefix(a.Location(), w.OP.Issuer()) || w.TokenCalls() != calls {
		t.Error("asks the provider")
	}
	for _, c := range a.Cookies() {
		if strings.Contains(c.Name, ".tx.") {
			t.Errorf("sets %s", c.Name)
		}
	}
	if w.Person(t, b) != me {
		t.Error("the session changed")
	}
	return a
}

func csrf07(t *T) {
	w, b := csrfForms(t)
	pending := b.Approve(w.OP, b.Begin("op"), "ada")
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/signout", "/signin/op", "/signin/op?csrfToken=" + b.CSRF(), "/session?update=1", "/signin/email?email=a@b.test", "/callback/credentials?username=ada&password=right",
			"/account/profile?name=Eve", "/account/unlink?id=x", "/account/signout?all=true", "/account/delete?confirm=ada@example.com", "/account/keep?pending=true", "/account?name=Eve", "/confirm?provider=op"} {
			quiet(t, w, b, func() *browser.Answer {
				return b.Clone().Do(httptest.NewRequest(method, arena.Origin+"/api/auth"+path, nil))
			})
		}
	}
	quiet(t, w, b, func() *browser.Answer { return b.Clone().Do(httptest.NewRequest("HEAD", pending, nil)) })
	if a := b.Clone().Get(pending); a.Location() != arena.Origin {
		t.Errorf("twin: the callback after HEAD: %s", a.Location())
	}
}

func csrf08(t *T) {
	w, b := csrfWorld(t, nil)
	token := b.CSRF()
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		r := httptest.NewRequest("GET", arena.Origin+"/api/auth/signout?_method=POST&csrfToken="+token, nil)
		r.Header.Set(header, "POST")
		quiet(t, w, b, func() *browser.Answer { return b.Clone().Do(r) })
	}
	if a := b.Post("/api/auth/signout", "csrfToken", token); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
}

func csrf09(t *T) {
	w, b := csrfWorld(t, nil)
	token := b.CSRF()
	form, json := "csrfToken="+token, `{"csrfToken":"`+token+`"}`
	for name, v := range map[string][2]string{
		"text/plain": {"text/plain", form}, "multipart": {"multipart/form-data; boundary=x", "--x--"}, "none": {"", form},
		"JSON as text": {"text/plain; application/json", json}, "JSON under text": {"text/plain", json}, "charset": {"application/json; charset=utf-7", json},
		"JSON look-alike": {"application/json-patch+json", json}, "list": {"application/json, text/plain", json},
		"form with JSON suffix": {"application/x-www-form-urlencoded+json", form},
	} {
		a := w.NoEffect(t, b, func() *browser.Answer { return b.Clone().Raw("/api/auth/signout", v[0], v[1]) })
		if a.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%s: status %d", name, a.StatusCode)
		}
	}
	r := httptest.NewRequest("POST", arena.Origin+"/api/auth/signout", strings.NewReader(form))
	r.Header["Content-Type"] = []string{"text/plain", "application/x-www-form-urlencoded"}
	w.NoEffect(t, b, func() *browser.Answer { return b.Clone().Do(r) })
	if a := b.Clone().Raw("/api/auth/signin/op", "application/json; charset=UTF-8", json); !strings.HasPrefix(a.Location(), w.OP.Issuer()) {
		t.Errorf("twin, JSON: %d %s", a.StatusCode, a.Location())
	}
	if a := b.Clone().Raw("/api/auth/signout", "application/x-www-form-urlencoded;charset=UTF-8", form); a.Location() != arena.Origin {
		t.Errorf("twin, form: %d %s", a.StatusCode, a.Location())
	}
}

func csrf10(t *T) {
	w, b := csrfWorld(t, nil)
	token := b.CSRF()
	w.NoEffect(t, b, func() *browser.Answer {
		return b.Clone().Form("/api/auth/signout?csrfToken="+token, url.Values{})
	})
	w.NoEffect(t, b, func() *browser.Answer {
		return b.Clone().Form("/api/auth/signout", url.Values{}, "X-CSRF-Token", token)
	})
	if a := b.Post("/api/auth/signout", "csrfToken", token); a.Location() != arena.Origin {
		t.Errorf("twin: %s", a.Location())
	}
}

func csrf11(t *T) {
	w, b := csrfWorld(t, nil)
	token := b.CSRF()
	for _, body := range []string{
		"csrfToken=" + token + "&csrfToken=bad", "csrfToken=bad&csrfToken=" + token, "csrfToken=" + token + "&csrfToken=" + token,
		"csrfToken[]=" + token, "csrfToken=" + token + "&x=%zz", "x=1;csrfToken=" + token, "CSRFToken=" + token,
		"csrfToken=" + token + "&callbackUrl=%2Fa&callbackUrl=%2Fb",
	} {
		w.NoEffect(t, b, func() *browser.Answer {
			return b.Clone().Raw("/api/auth/signout", "application/x-www-form-urlencoded", body)
		})
	}
	for _, body := range []string{
		`{"csrfToken":"` + token + `","csrfToken":"` + token + `"}`, `{"csrfToken":"bad","csrfToken":"` + token + `"}`,
		`{"csrfToken":["` + token + `"]}`, `{"csrftoken":"` + token + `"}`, `{"csrfToken":"` + token + `"}{}`,
	} {
		w.NoEffect(t, b, func() *browser.Answer { return b.Clone().Raw("/api/auth/signout", "application/json", body) })
	}
	if a := b.Raw("/api/auth/signout", "application/json", `{"csrfToken":"`+token+`"}`); !strings.HasPrefix(a.Location()+a.Text, arena.Origin) && a.StatusCode != 200 {
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
}

// csrfHeaders posts a valid pair with headers.
func csrfHeaders(w *arena.World, b *arena.Browser, token string, header []string) func() *browser.Answer {
	return func() *browser.Answer {
		return b.Clone().Form("/api/auth/signin/op", url.Values{"csrfToken": {token}}, header...)
	}
}

func csrfWalls(t *T, refused, passes map[string][]string) {
	w, b := csrfWorld(t, func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://www.app.test"} })
	token := b.CSRF()
	for name, header := range refused {
		if a := w.NoEffect(t, b, csrfHeaders(w, b, token, header)); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, a.StatusCode)
		}
	}
	for name, header := range passes {
		if a := csrfHeaders(w, b, token, header)(); !strings.HasPrefix(a.Location(), w.OP.Issuer()) {
			t.Errorf("twin, %s: %d %s", name, a.StatusCode, a.Location())
		}
	}
}

func csrf12(t *T) {
	csrfWalls(t, map[string][]string{
		"cross-site":                    {"Sec-Fetch-Site", "cross-site"},
		"same-site":                     {"Sec-Fetch-Site", "same-site"},
		"cross-site with our Origin":    {"Sec-Fetch-Site", "cross-site", "Origin", arena.Origin},
		"unknown word":                  {"Sec-Fetch-Site", "sideways"},
		"empty word":                    {"Sec-Fetch-Site", ""},
		"two lines":                     {"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Site", "cross-site"},
		"same-site, trusted look-alike": {"Sec-Fetch-Site", "same-site", "Origin", "https://www.app.test.evil.test"},
		"foreign Origin":                {"Origin", "https://evil.test"},
	}, map[string][]string{
		"same-origin":       {"Sec-Fetch-Site", "same-origin"},
		"none":              {"Sec-Fetch-Site", "none"},
		"both absent":       {},
		"trusted same-site": {"Sec-Fetch-Site", "same-site", "Origin", "https://www.app.test"},
	})
}

func csrf13(t *T) {
	csrfWalls(t, map[string][]string{
		"null":                             {"Origin", "null"},
		"other port":                       {"Origin", arena.Origin + ":8443"},
		"http":                             {"Origin", "http://app.test"},
		"trailing dot":                     {"Origin", arena.Origin + "."},
		"two Origin lines":                 {"Origin", arena.Origin, "Origin", "https://evil.test"},
		"two Origins in a line":            {"Origin", arena.Origin + " https://evil.test"},
		"with a path":                      {"Origin", arena.Origin + "/x"},
		"credentials":                      {"Origin", "https://app.test@evil.test"},
		"empty":                            {"Origin", ""},
		"untrusted sibling":                {"Origin", "https://sub.app.test"},
		"prefix of a trusted origin":       {"Origin", "https://www.app.tes"},
		"trusted origin with another port": {"Origin", "https://www.app.test:444"},
	}, map[string][]string{
		"our Origin":           {"Origin", arena.Origin},
		"default port":         {"Origin", arena.Origin + ":443"},
		"upper case":           {"Origin", "HTTPS://APP.TEST"},
		"trusted origin alone": {"Origin", "https://www.app.test"},
	})
}

func csrf14(t *T) {
	w, b := csrfForms(t)
	token := b.CSRF()
	for _, path := range []string{"/callback/apple/", "//callback/apple", "/callback/applex", "/callback/apple/../../signout", "/callback/%61pple", "/signout"} {
		w.NoEffect(t, b, func() *browser.Answer {
			return b.Clone().Form("/api/auth"+path, url.Values{"csrfToken": {token}, "state": {"x"}}, "Sec-Fetch-Site", "cross-site")
		})
	}
	for _, path := range []string{"/callback/op", "/callback/email", "/callback/credentials"} {
		w.NoEffect(t, b, func() *browser.Answer {
			return b.Clone().Form("/api/auth"+path, with(csrfMutating["/api/auth"+path], "csrfToken", token), "Sec-Fetch-Site", "cross-site")
		})
	}
	w.NoEffect(t, b, func() *browser.Answer {
		return b.Clone().Form("/api/auth/callback/apple", url.Values{"state": {"x"}, "repost": {"1"}}, "Sec-Fetch-Site", "cross-site")
	})
	apple := w.Browser()
	answer, err := w.OP.Approve(apple.Begin("apple"), "katherine")
	if err != nil || !answer.FormPost {
		t.Fatal(err)
	}
	foreign := w.Browser() // the request has no Lax cookies
	a := foreign.Form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "cross-site", "Origin", w.OP.Issuer())
	if a.StatusCode != 200 || !strings.Contains(a.Text, "/api/auth/callback/apple") {
		t.Fatalf("twin: no page that posts again: %d %s", a.StatusCode, a.Text)
	}
	answer.Params.Set("repost", "1")
	if a := apple.Form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "same-origin"); a.Location() != arena.Origin || w.Person(t, apple) == "" {
		t.Errorf("twin: %d %s\n%s", a.StatusCode, a.Location(), w.Logs)
	}
}

func csrf16(t *T) {
	w := t.Enter(nil)
	attacker, victim := w.Browser(), w.Browser()
	theirs := attacker.Approve(w.OP, attacker.Begin("op"), "grace")
	victim.SignIn(w.OP, "ada")
	for _, dest := range []string{"document", "image", "iframe", "empty"} {
		w.NoEffect(t, victim, func() *browser.Answer {
			r := httptest.NewRequest("GET", theirs, nil)
			r.Header.Set("Sec-Fetch-Dest", dest)
			return victim.Clone().Do(r)
		})
	}
	w.MustRefuse(t, func() *browser.Answer { return w.Browser().Get(theirs) })
	if a := attacker.Get(theirs); a.Location() != arena.Origin || attacker.Email() != "grace@example.com" {
		t.Errorf("twin: in the attacker's own browser: %s\n%s", a.Location(), w.Logs)
	}
}

func csrf17(t *T) {
	w := t.Enter(nil)
	attacker, victim := w.Browser(), w.Browser()
	attacker.SignIn(w.OP, "alan")
	theirs := attacker.Approve(w.OP, attacker.Begin("op", "link", "true"), "grace")
	victim.SignIn(w.OP, "ada")
	w.NoEffect(t, victim, func() *browser.Answer { return victim.Get(theirs) })
	if _, err := w.Store.GetUserByAccount(t.Context(), "op", "grace"); err == nil {
		t.Error("the attacker's identity is linked")
	}
	mine := victim.Approve(w.OP, victim.Begin("op", "link", "true"), "katherine")
	if victim.Get(mine); t.Mode == modeNone {
		if u, err := w.Store.GetUserByAccount(t.Context(), "op", "katherine"); err != nil || u.ID != w.Person(t, victim) {
			t.Errorf("twin: the victim's own linking: %v", err)
		}
	}
}

func csrf21(t *T) {
	w := t.Enter(func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://www.app.test"} })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	shared := func(path, method, from string) bool {
		r := httptest.NewRequest(method, arena.Origin+"/api/auth"+path, nil)
		r.Header.Set("Origin", from)
		r.Header.Set("Access-Control-Request-Method", "POST")
		for name := range b.Clone().Do(r).Header {
			if strings.HasPrefix(name, "Access-Control-") {
				return true
			}
		}
		return false
	}
	for _, path := range []string{"/csrf", "/session", "/providers", "/signin", "/signout"} {
		for _, method := range []string{"GET", "OPTIONS"} {
			if shared(path, method, "https://evil.test") || shared(path, method, "null") {
				t.Errorf("%s %s is shared with another site", method, path)
			}
		}
	}
	if !shared("/session", "GET", "https://www.app.test") {
		t.Error("twin: a trusted origin cannot read the session")
	}
}

func csrf23(t *T) {
	_, b := csrfWorld(t, nil)
	b.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	for _, path := range []string{"/signin?callbackUrl=/aaaa", "/signout", "/csrf"} {
		if a := b.Get("/api/auth" + path); a.StatusCode != 200 || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d, Content-Encoding %q", path, a.StatusCode, a.Header.Get("Content-Encoding"))
		}
	}
}
