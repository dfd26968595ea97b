package engine_test

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestAttackExchangeHosts checks that the calls of a provider's function stay on the
// provider's hosts even if an answer directs them elsewhere, and so do token and
// secret.
func TestAttackExchangeHosts(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{
		"another host": "https://evil.test/x", "suffix": "https://api.odd.test.evil.test/x", "user information": "https://api.odd.test@evil.test/x",
		"http": "http://api.odd.test/x", "port": "https://api.odd.test:8443/x", "parent": "https://users.odd.test/x",
		"no label": "https://.users.odd.test/x", "no dot": "https://evilusers.odd.test/x", "loopback": "http://127.0.0.1/x",
		"metadata": "http://169.254.169.254/latest", "file": "file:///etc/passwd", "nothing": "", "relative": "/x", "fragment": "https://api.odd.test/x#y",
		"backslash": `https://evil.test\.users.odd.test/x`, "redirect": "https://api.odd.test/away", "blank": "https://a b.users.odd.test/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOdd(map[string]string{"api.odd.test/away": "Location: https://evil.test/x", "eu.users.odd.test/x": `{"id":1}`})
			target := to
			var got error
			w := startOdd(t, o, func(p *authsvc.OAuth) {
				p.Hosts = []string{"*.users.odd.test"}
				p.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
					if _, got = x.Get(ctx, target); got != nil {
						return nil, got
					}
					_, got = x.Do(ctx, authsvc.APIRequest{URL: target, Form: url.Values{"secret": {x.Client.Secret}}})
					return authsvc.Profile{"id": "7"}, got
				}
			})
			if oddUser(w) != nil || got == nil {
				t.Errorf("not refused: %v", got)
			}
			if to != "" && strings.Contains(got.Error(), to) || strings.Contains(w.Logs.String(), "the-token") {
				t.Errorf("the error says too much: %v", got)
			}
			for host := range o.hosts() {
				if host != "odd.test" && host != "api.odd.test" {
					t.Errorf("%s was called", host)
				}
			}
			target = "https://eu.users.odd.test/x"
			if oddUser(w) == nil {
				t.Errorf("twin: %v", got)
			}
		})
	}
}

// TestAttackHooks checks that a function that panics or fails refuses the sign-in, and
// that one without an answer signs no one in.
func TestAttackHooks(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, f := range map[string]func(p *authsvc.OAuth, err error){
		"ClientSecret": func(p *authsvc.OAuth, err error) {
			p.Hooks.ClientSecret = func(authsvc.Client, time.Time) (string, time.Time, error) { return "", time.Time{}, raise(err) }
		},
		"ExchangeCode": func(p *authsvc.OAuth, err error) {
			p.Hooks.ExchangeCode = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { return nil, raise(err) }
		},
		"ConformTokens": func(p *authsvc.OAuth, err error) {
			p.Hooks.ConformTokens = func(authsvc.Profile) (authsvc.Profile, error) { return nil, raise(err) }
		},
		"UserInfo": func(p *authsvc.OAuth, err error) {
			p.Hooks.UserInfo = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { return nil, raise(err) }
		},
		"MapProfile": func(p *authsvc.OAuth, err error) {
			p.Hooks.MapProfile = func(authsvc.Profile) (authsvc.User, error) { return authsvc.User{}, raise(err) }
		},
	} {
		for cause, err := range map[string]error{"panics": nil, "fails": broken, "denies": authsvc.ErrAccessDenied, "answers nothing": errNothing} {
			t.Run(name+" "+cause, func(t *testing.T) {
				t.Parallel()
				w := startOdd(t, newOdd(nil), func(p *authsvc.OAuth) { f(p, err) })
				b := w.Browser()
				a := signInOdd(w, b)
				want := map[bool]string{true: "error=AccessDenied", false: "error=OAuthCallback"}[errors.Is(err, authsvc.ErrAccessDenied)]
				if !strings.Contains(a.Location(), want) || b.Session()["user"] != nil {
					t.Errorf("%s %v", a.Location(), b.Session())
				}
				if logged := strings.Contains(w.Logs.String(), "panic in the application's code"); logged != (err == nil) {
					t.Errorf("log: %s", w.Logs)
				}
			})
		}
	}
	if w := startOdd(t, newOdd(nil), nil); oddUser(w)["name"] != "Ada" {
		t.Errorf("twin: %s", w.Logs)
	}
}

var errNothing = errors.New("nothing")

// raise panics for nil and does nothing for errNothing.
func raise(err error) error {
	switch err {
	case nil:
		panic("of the test")
	case errNothing:
		return nil
	}
	return err
}

// TestAttackAuthorizeHook checks that the function that edits the authorization request
// can add to it, but cannot loosen what binds the answer to the browser.
func TestAttackAuthorizeHook(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(url.Values){
		"state removed":     func(q url.Values) { q.Del("state") },
		"state replaced":    func(q url.Values) { q.Set("state", "x") },
		"state twice":       func(q url.Values) { q.Add("state", "x") },
		"challenge removed": func(q url.Values) { q.Del("code_challenge") },
		"plain challenge":   func(q url.Values) { q.Set("code_challenge_method", "plain") },
		"redirect":          func(q url.Values) { q.Set("redirect_uri", "https://evil.test") },
		"edited in place":   func(q url.Values) { q["state"][0] = "x" },
		"panic":             func(url.Values) { panic("of the test") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startOdd(t, newOdd(nil), func(p *authsvc.OAuth) { p.Hooks.Authorize = edit })
			if a := w.Browser().Post("/api/auth/signin/odd"); !strings.Contains(a.Location(), "error=OAuthSignin") {
				t.Errorf("%s", a.Location())
			}
		})
	}
	w := startOdd(t, newOdd(nil), func(p *authsvc.OAuth) {
		p.Hooks.Authorize = func(q url.Values) { q.Set("scope", "a,b"); q.Del("response_type"); q.Del("redirect_uri") }
		p.ClientIDParam, p.AuthorizationFragment = "appid", "wechat_redirect"
	})
	to := arena.MustURL(t, w.Browser().Begin("odd"))
	if q := to.Query(); q.Get("scope") != "a,b" || q.Get("appid") != "odd-client" || q.Has("client_id") || q.Has("response_type") || to.Fragment != "wechat_redirect" {
		t.Errorf("twin: %s", to)
	}
}

// TestAttackCallbackParams checks that parameters from the browser are bounded, read
// once, and cannot bypass the flow.
func TestAttackCallbackParams(t *testing.T) {
	t.Parallel()
	var got map[string]string
	remember := func(p *authsvc.OAuth) {
		p.Hooks.UserInfo = func(_ context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			got = map[string]string{}
			for _, name := range []string{"shop", "twice", "long", "bytes", "absent"} {
				got[name] = x.Callback(name)
			}
			return authsvc.Profile{"id": "7"}, nil
		}
	}
	w := startOdd(t, newOdd(nil), remember)
	if oddUser(w, "shop", "acme", "twice", "1", "twice", "2", "bytes", "\xff", "access_token", "evil", "id_token", "evil") == nil {
		t.Fatalf("%s", w.Logs)
	}
	if want := map[string]string{"shop": "acme", "twice": "", "long": "", "bytes": "", "absent": ""}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if oddUser(w, "code", "another") != nil || oddUser(w, "error", "access_denied") != nil {
		t.Error("a second code or an error beside the code is accepted")
	}
	w = startOdd(t, newOdd(nil), func(p *authsvc.OAuth) { remember(p); p.ResponseMode = "form_post" })
	b := w.Browser()
	state := arena.MustURL(t, b.Begin("odd")).Query().Get("state")
	b.Post("/api/auth/callback/odd", "repost", "1", "code", "c", "state", state, "shop", "acme", "long", strings.Repeat("x", 16<<10+1))
	if b.Session()["user"] == nil || got["shop"] != "acme" || got["long"] != "" {
		t.Errorf("form_post: %.40v %s", got, w.Logs)
	}
}

// TestAttackLargeAnswers checks that answers are bounded, however they come in.
func TestAttackLargeAnswers(t *testing.T) {
	t.Parallel()
	token := func(s string) map[string]string { return map[string]string{"odd.test/token": s} }
	me := func(s string) map[string]string { return map[string]string{"api.odd.test/me": s} }
	deep := func(n int) string {
		return `{"id":7,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	for name, answers := range map[string][2]map[string]string{
		"deep":              {me(deep(32)), me(deep(31))},
		"large":             {me(`{"id":7,"x":"` + strings.Repeat("x", 1<<20) + `"}`), me(`{"id":7,"x":"` + strings.Repeat("x", 1<<19) + `"}`)},
		"twice":             {me(`{"id":7,"id":8}`), nil},
		"html":              {me("Content-Type: text/html\n<html>id=7</html>"), nil},
		"list":              {me(`[7]`), nil},
		"empty":             {me(``), nil},
		"token html":        {token("Content-Type: text/html\n<html>access_token=a&token_type=bearer"), token("Content-Type: text/html\naccess_token=a&token_type=bearer")},
		"token error":       {token(`{"access_token":"a","token_type":"bearer","error":"x"}`), token("Content-Type: text/plain\n" + `{"access_token":"a","token_type":"bearer"}`)},
		"token form error":  {token("Content-Type: application/x-www-form-urlencoded\nerror=x&access_token=a&token_type=bearer"), token("Content-Type: application/x-www-form-urlencoded\n" + `{"access_token":"a","token_type":"bearer"}`)},
		"token elsewhere":   {token("Location: https://evil.test/token"), nil},
		"unsigned userinfo": {me("Content-Type: application/jwt\neyJhbGciOiJub25lIn0.eyJpZCI6N30."), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOdd(answers[0])
			if w := startOdd(t, o, nil); oddUser(w) != nil || o.hosts()["evil.test"] {
				t.Errorf("not refused: %s", w.Logs)
			}
			if w := startOdd(t, newOdd(answers[1]), nil); oddUser(w) == nil {
				t.Errorf("twin: %s", w.Logs)
			}
		})
	}
}

// TestAttackProviderConfig checks that mistakes in the data of a provider are found at
// start, under the key that the file uses.
func TestAttackProviderConfig(t *testing.T) {
	t.Parallel()
	for key, tune := range map[string]func(*authsvc.OAuth){
		"Fields.ID":            func(p *authsvc.OAuth) { p.Fields.ID = "a..b" },
		"Fields.Name":          func(p *authsvc.OAuth) { p.Fields.Name = "{a} {b" },
		"Fields.Email":         func(p *authsvc.OAuth) { p.Fields.Email = "emails[primary=].email" },
		"Fields.EmailVerified": func(p *authsvc.OAuth) { p.Fields.EmailVerified = "{a}" },
		"Fields.Image":         func(p *authsvc.OAuth) { p.Fields.Image = "https://x.test/id" },
		"Hosts":                func(p *authsvc.OAuth) { p.Hosts = []string{"*.com"} },
		"TokenParams":          func(p *authsvc.OAuth) { p.TokenParams = map[string]string{"redirect_uri": "x"} },
		"AuthorizationParams": func(p *authsvc.OAuth) {
			p.ClientIDParam, p.AuthorizationParams = "appid", map[string]string{"appid": "x"}
		},
		"ClientIDParam":   func(p *authsvc.OAuth) { p.ClientIDParam = "state" },
		"UserInfo.Auth":   func(p *authsvc.OAuth) { p.UserInfo.Auth = "cookie:x" },
		"UserInfo.Method": func(p *authsvc.OAuth) { p.UserInfo.Method = "DELETE" },
		"UserInfo.Body":   func(p *authsvc.OAuth) { p.UserInfo.Body = "{}" },
		"UserInfo.Headers": func(p *authsvc.OAuth) {
			p.UserInfo.Auth, p.UserInfo.Headers = "header:x-token", map[string]string{"X-Token": "y"}
		},
		"Headers":              func(p *authsvc.OAuth) { p.Headers = map[string]string{"authorization": "y"} },
		"Endpoints.Revocation": func(p *authsvc.OAuth) { p.Endpoints.Revocation = "http://odd.test/revoke" },
		"Endpoints.EndSession": func(p *authsvc.OAuth) { p.Endpoints.EndSession = "javascript:alert(1)" },
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			_, err := engine.New(oddConfig(newOdd(nil), oddClient(tune), &arena.LogBuffer{}))
			mistakes := authsvc.ConfigErrors(err)
			if !slices.ContainsFunc(mistakes, func(e *authsvc.ConfigError) bool { return e.Field == "Providers[0]."+key }) {
				t.Errorf("%v", err)
			}
		})
	}
}
