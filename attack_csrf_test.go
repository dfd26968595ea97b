package authsvc_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
)

const csrfName = "__Host-authsvc.csrf"

// mutating are the POSTs that need the token, with what else they need.
var mutating = map[string]url.Values{
	"/api/auth/signin/op":            {},
	"/api/auth/signin/email":         {"email": {"someone@app.test"}},
	"/api/auth/signout":              {},
	"/api/auth/session":              {"data": {"x"}},
	"/api/auth/callback/credentials": {"username": {"ada"}, "password": {"right"}},
	"/api/auth/callback/email":       {"email": {"ada@app.test"}, "token": {strings.Repeat("a", 43)}},
}

func jwtOnly(c *authsvc.Config) { c.Session.Strategy = "jwt" }

func with(v url.Values, name, value string) url.Values {
	out := url.Values{}
	for k, list := range v {
		out[k] = list
	}
	out.Set(name, value)
	return out
}

func TestAttackCSRFToken(t *testing.T) {
	t.Parallel()
	w := enter(t, jwtOnly)
	b, other := w.browser(), w.browser()
	b.signIn(w.op, "ada")
	token, foreign := b.csrf(), other.csrf()
	cookie := b.cookies[csrfName]
	flip := func(s string, i int) string {
		c := byte('A')
		if s[i] == c {
			c = 'B'
		}
		return s[:i] + string(c) + s[i+1:]
	}
	cells := map[string][2]string{ // token, cookie
		"no cookie":                {token, ""},
		"no body token":            {"", cookie},
		"token of another browser": {foreign, cookie},
		"pair of another browser":  {foreign, other.cookies[csrfName]},
		"truncated token":          {token[:42], cookie},
		"flipped token":            {flip(token, 7), cookie},
		"flipped token in both":    {flip(token, 7), flip(cookie, 7)},
		"flipped MAC":              {token, flip(cookie, 50)},
		"truncated MAC":            {token, cookie[:len(cookie)-1]},
		"empty halves":             {"", "."},
		"MAC only":                 {"", cookie[43:]},
		"token only":               {token, token},
		"boundary shifted":         {token + ".", token + "." + cookie[43:]},
		"unkeyed hash":             {token, token + "." + unkeyed(token)},
		"hash with empty secret":   {token, token + "." + keyed("", token)},
		"hash with sample secret":  {token, token + "." + keyed("secret", token)},
		"format of another mode":   {strings.Repeat("a", 64), strings.Repeat("a", 64) + "|" + hexHash(strings.Repeat("a", 64)+testSecret)},
	}
	for path, fields := range mutating {
		for name, cell := range cells {
			id := "csrf-01 "
			if strings.HasPrefix(name, "hash") || name == "unkeyed hash" || name == "boundary shifted" {
				id = "csrf-02 "
			}
			t.Run(id+name+" "+path, func(t *testing.T) {
				c := b.clone()
				if c.cookies[csrfName] = cell[1]; cell[1] == "" {
					delete(c.cookies, csrfName)
				}
				form := fields
				if cell[0] != "" {
					form = with(fields, "csrfToken", cell[0])
				}
				a := w.mustRefuse(t, func() *answer { return c.form(path, form) })
				if to := a.location(); a.StatusCode != 400 && !strings.HasSuffix(to, "csrf=true") {
					t.Errorf("%d %s", a.StatusCode, to)
				}
				if w.person(t, b) == "" {
					t.Error("the session ended")
				}
				scripted := c.clone().form(path, with(form, "json", "true"))
				if scripted.StatusCode != http.StatusForbidden && path != "/api/auth/session" {
					t.Errorf("a script is answered %d", scripted.StatusCode)
				}
			})
		}
		t.Run("csrf-01 twin "+path, func(t *testing.T) {
			own := w.browser()
			own.signIn(w.op, "ada")
			if a := own.form(path, with(fields, "csrfToken", own.csrf())); strings.Contains(a.location(), "csrf=true") || a.StatusCode == 400 {
				t.Errorf("the right token is refused: %d %s", a.StatusCode, a.location())
			}
		})
	}
}

func unkeyed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func keyed(key, s string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(s))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func hexHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestAttackCSRFBinding(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		t.Run("csrf-05 token not bound to session "+strategy, func(t *testing.T) {
			t.Parallel()
			victim := w.browser()
			victim.signIn(w.op, "ada")
			attacker, anonymous := w.browser(), w.browser()
			attacker.signIn(w.op, "grace")
			for name, from := range map[string]*browser{"of a session": attacker, "of nobody": anonymous} {
				pair := from.csrf()
				mixed := victim.clone()
				mixed.cookies[csrfName] = from.cookies[csrfName]
				for _, path := range []string{"/api/auth/signout", "/api/auth/signin/op"} {
					w.mustRefuse(t, func() *answer {
						return mixed.clone().form(path, url.Values{"csrfToken": {pair}, "link": {"true"}})
					})
				}
				if w.person(t, victim) == "" {
					t.Errorf("a pair %s ended the session", name)
				}
			}
			if a := victim.post("/api/auth/signout"); a.location() != origin {
				t.Errorf("own pair: %d %s", a.StatusCode, a.location())
			}
		})
		t.Run("csrf-06 no rotation "+strategy, func(t *testing.T) {
			t.Parallel()
			b := w.browser()
			before := b.csrf()
			oldCookie := b.cookies[csrfName]
			b.signIn(w.op, "alan")
			during := b.csrf()
			duringCookie := b.cookies[csrfName]
			replay := b.clone()
			replay.cookies[csrfName] = oldCookie
			w.mustRefuse(t, func() *answer { return replay.form("/api/auth/signout", url.Values{"csrfToken": {before}}) })
			if a := b.form("/api/auth/signout", url.Values{"csrfToken": {during}}); a.location() != origin {
				t.Fatalf("sign-out with the new token: %s", a.location())
			}
			after := b.csrf()
			if before == during || during == after || before == after {
				t.Error("the token is not rotated at sign-in and sign-out")
			}
			replay = b.clone()
			replay.cookies[csrfName] = duringCookie
			w.mustRefuse(t, func() *answer { return replay.form("/api/auth/signin/op", url.Values{"csrfToken": {during}}) })
		})
	}
}

func TestAttackSafeMethods(t *testing.T) {
	t.Parallel()
	w := enter(t, func(c *authsvc.Config) {
		o := *c.Providers[0].(*authsvc.OAuth)
		o.ID, o.ResponseMode = "apple", "form_post"
		c.Providers = append(c.Providers, &o)
	})
	b := w.browser()
	b.signIn(w.op, "ada")
	me := w.person(t, b)
	pending := b.approve(w.op, b.begin("op"), "ada")
	token := b.csrf()
	quiet := func(t *testing.T, a *answer, before string) {
		t.Helper()
		if got := w.led.lasting(); got != before {
			t.Errorf("effects: %s", strings.TrimPrefix(got, before))
		}
		if strings.HasPrefix(a.location(), w.op.Issuer()) {
			t.Error("leads to the provider")
		}
		for _, c := range a.Cookies() {
			if strings.Contains(c.Name, ".tx.") {
				t.Errorf("sets %s", c.Name)
			}
		}
		if w.person(t, b) != me {
			t.Error("the session changed")
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/signout", "/signin/op", "/session?update=1", "/signin/email?email=a@b.test", "/callback/credentials?username=ada&password=right"} {
			t.Run("csrf-07 "+method+" "+path, func(t *testing.T) {
				before := w.led.lasting()
				quiet(t, b.clone().do(httptest.NewRequest(method, origin+"/api/auth"+path, nil)), before)
			})
		}
	}
	t.Run("csrf-07 HEAD of a callback", func(t *testing.T) {
		before, calls := w.led.lasting(), w.tokenCalls()
		quiet(t, b.clone().do(httptest.NewRequest("HEAD", pending, nil)), before)
		if w.tokenCalls() != calls {
			t.Error("HEAD redeems a code")
		}
		if a := b.clone().get(pending); a.location() != origin {
			t.Errorf("twin: the callback after HEAD: %s", a.location())
		}
	})
	b = w.browser()
	b.signIn(w.op, "grace")
	me = w.person(t, b)
	token = b.csrf()
	t.Run("csrf-08 method override", func(t *testing.T) {
		before := w.led.lasting()
		r := httptest.NewRequest("GET", origin+"/api/auth/signout?_method=POST&csrfToken="+token, nil)
		r.Header.Set("X-HTTP-Method-Override", "POST")
		quiet(t, b.clone().do(r), before)
	})
	t.Run("csrf-10 token in the URL", func(t *testing.T) {
		w.mustRefuse(t, func() *answer { return b.clone().form("/api/auth/signout?csrfToken="+token, url.Values{}) })
	})
	for name, body := range map[string]string{
		"good bad": "csrfToken=" + token + "&csrfToken=bad", "bad good": "csrfToken=bad&csrfToken=" + token,
		"good good": "csrfToken=" + token + "&csrfToken=" + token, "array": "csrfToken[]=" + token,
		"bad encoding": "csrfToken=" + token + "&x=%zz", "semicolon": "x=1;csrfToken=" + token,
	} {
		t.Run("csrf-11 "+name, func(t *testing.T) {
			w.mustRefuse(t, func() *answer { return b.raw("/api/auth/signout", "application/x-www-form-urlencoded", body) })
		})
	}
	t.Run("csrf-11 duplicate JSON member", func(t *testing.T) {
		w.mustRefuse(t, func() *answer {
			return b.raw("/api/auth/signout", "application/json", `{"csrfToken":"`+token+`","csrfToken":"`+token+`"}`)
		})
	})
	form, json := "csrfToken="+token, `{"csrfToken":"`+token+`"}`
	for name, v := range map[string][2]string{
		"text/plain": {"text/plain", form}, "multipart": {"multipart/form-data; boundary=x", "--x--"}, "none": {"", form},
		"JSON as text": {"text/plain; application/json", json}, "charset": {"application/json; charset=utf-7", json},
		"JSON look-alike": {"application/json-patch+json", json}, "list": {"application/json, text/plain", json},
		"form with JSON suffix": {"application/x-www-form-urlencoded+json", form},
	} {
		t.Run("csrf-09 "+name, func(t *testing.T) {
			if a := w.mustRefuse(t, func() *answer { return b.raw("/api/auth/signout", v[0], v[1]) }); a.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("status %d", a.StatusCode)
			}
		})
	}
	for _, path := range []string{"/callback/apple/", "//callback/apple", "/callback/applex", "/callback/apple/../../signout", "/callback/%61pple", "/signout"} {
		t.Run("csrf-14 exempt route too wide "+path, func(t *testing.T) {
			w.mustRefuse(t, func() *answer {
				return b.clone().form("/api/auth"+path, url.Values{"csrfToken": {token}, "state": {"x"}}, "Sec-Fetch-Site", "cross-site")
			})
		})
	}
	for _, path := range []string{"/callback/op", "/callback/email", "/callback/credentials"} {
		t.Run("csrf-14 other callbacks "+path, func(t *testing.T) {
			w.mustRefuse(t, func() *answer {
				return b.clone().form("/api/auth"+path, with(mutating["/api/auth"+path], "csrfToken", token), "Sec-Fetch-Site", "cross-site")
			})
		})
	}
	t.Run("csrf-14 repost from another site", func(t *testing.T) {
		w.mustRefuse(t, func() *answer {
			return b.clone().form("/api/auth/callback/apple", url.Values{"state": {"x"}, "repost": {"1"}}, "Sec-Fetch-Site", "cross-site")
		})
	})
	t.Run("csrf-14 twin: the exact route", func(t *testing.T) {
		apple := w.browser()
		answer, err := w.op.Approve(apple.begin("apple"), "katherine")
		if err != nil || !answer.FormPost {
			t.Fatal(err)
		}
		foreign := w.browser() // comes without Lax cookies
		a := foreign.form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "cross-site", "Origin", w.op.Issuer())
		if a.StatusCode != 200 || !strings.Contains(a.body, "/api/auth/callback/apple") {
			t.Fatalf("no page that posts again: %d %s", a.StatusCode, a.body)
		}
		answer.Params.Set("repost", "1")
		if a := apple.form("/api/auth/callback/apple", answer.Params, "Sec-Fetch-Site", "same-origin"); a.location() != origin || w.person(t, apple) == "" {
			t.Errorf("%d %s\n%s", a.StatusCode, a.location(), w.logs)
		}
	})
	t.Run("csrf-09 twin: both media types", func(t *testing.T) {
		if a := b.clone().raw("/api/auth/signin/op", "application/json; charset=UTF-8", json); !strings.HasPrefix(a.location(), w.op.Issuer()) {
			t.Errorf("JSON: %d %s", a.StatusCode, a.location())
		}
		if a := b.clone().raw("/api/auth/signout", "application/x-www-form-urlencoded;charset=UTF-8", form); a.location() != origin {
			t.Errorf("form: %d %s", a.StatusCode, a.location())
		}
	})
}

// raw posts a body as it is.
func (b *browser) raw(path, contentType, body string) *answer {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodPost, b.abs(path), strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return b.clone().do(r)
}
