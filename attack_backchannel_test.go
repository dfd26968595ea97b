package authsvc_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
)

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutToken is a good one for sub, changed by set; nil removes.
func (w *world) logoutToken(t *testing.T, sub string, set map[string]any) string {
	t.Helper()
	now := time.Now()
	claims := map[string]any{"iss": w.op.Issuer(), "aud": "app", "sub": sub, "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(),
		"jti": now.String(), "events": map[string]any{logoutEvent: map[string]any{}}}
	maps.Copy(claims, set)
	for k, v := range set {
		if v == nil {
			delete(claims, k)
		}
	}
	raw, err := w.op.Sign("logout+jwt", claims)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// told is what the provider's server gets for a logout token: no cookies, no
// origin.
func (w *world) told(t *testing.T, provider string, form url.Values, kind ...string) *answer {
	t.Helper()
	b := w.browser()
	r := httptest.NewRequest(http.MethodPost, b.abs("/api/auth/backchannel-logout/"+provider), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(kind) > 0 {
		r.Header.Set("Content-Type", kind[0])
		r.Body = http.NoBody
		if len(kind) > 1 {
			r = httptest.NewRequest(http.MethodPost, r.URL.String(), strings.NewReader(kind[1]))
			r.Header.Set("Content-Type", kind[0])
		}
	}
	a := b.do(r)
	if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || len(a.Cookies()) > 0 {
		t.Errorf("headers %v", a.Header)
	}
	return a
}

func TestBackchannelLogout(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			ended := 0
			w := enter(t, func(c *authsvc.Config) {
				c.Session.Strategy = strategy
				c.Events.SignOut = func(context.Context, authsvc.SignOutEvent) { mu.Lock(); ended++; mu.Unlock() }
			})
			one, two, grace, mail := w.browser(), w.browser(), w.browser(), w.browser()
			one.signIn(w.op, "ada")
			two.signIn(w.op, "ada")
			grace.signIn(w.op, "grace")
			mail.signInByMail(w.world, "ada@example.com")
			raw := w.logoutToken(t, "ada", map[string]any{"sid": "any"})
			if a := w.told(t, "op", url.Values{"logout_token": {raw}}); a.StatusCode != 200 || a.body != "" {
				t.Fatalf("%d %s\n%s", a.StatusCode, a.body, w.logs)
			}
			if one.email()+two.email() != "" {
				t.Errorf("signed in: %q, %q", one.email(), two.email())
			}
			if grace.email() != "grace@example.com" || mail.email() != "ada@example.com" {
				t.Errorf("sessions of others: %q; by mail: %q", grace.email(), mail.email())
			}
			if mu.Lock(); strategy == "database" && ended != 2 {
				t.Errorf("%d sign-outs were told", ended)
			}
			mu.Unlock()
			// The next sign-in counts, and the token does no more.
			time.Sleep(2 * time.Millisecond)
			one.signIn(w.op, "ada")
			if a := w.told(t, "op", url.Values{"logout_token": {raw}}); a.StatusCode != 400 || !strings.Contains(a.body, "used before") {
				t.Errorf("replay: %d %s", a.StatusCode, a.body)
			}
			if one.email() != "ada@example.com" {
				t.Error("a replay ends a later session")
			}
			// A stranger has no sessions, which is no fault of the provider's.
			if a := w.told(t, "op", url.Values{"logout_token": {w.logoutToken(t, "nobody", nil)}}); a.StatusCode != 200 {
				t.Errorf("stranger: %d %s", a.StatusCode, a.body)
			}
		})
	}
}

func TestAttackBackchannelLogout(t *testing.T) {
	t.Parallel()
	w := enter(t, func(c *authsvc.Config) {
		o := *c.Providers[0].(*authsvc.OAuth)
		o.ID, o.Fields.ID = "op2", "email"
		p := o
		p.ID, p.OpenID, p.Issuer, p.UserInfoURL, p.AuthorizationURL, p.TokenURL = "plain", false, "", o.Issuer+"/u", o.Issuer+"/a", o.Issuer+"/t"
		c.Providers = append(c.Providers, &o, &p)
	})
	victim := w.browser()
	victim.signIn(w.op, "ada")
	good := func() string { return w.logoutToken(t, "ada", nil) }
	form := func(raw string) url.Values { return url.Values{"logout_token": {raw}} }
	idToken := func() string {
		raw, err := w.op.Sign("JWT", map[string]any{"iss": w.op.Issuer(), "aud": "app", "sub": "ada", "iat": time.Now().Unix(),
			"exp": time.Now().Add(time.Hour).Unix(), "jti": "x"})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	accessToken, err := w.op.Sign("at+jwt", map[string]any{"iss": w.op.Issuer(), "aud": "app", "sub": "ada", "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(), "jti": "x", "events": map[string]any{logoutEvent: map[string]any{}}})
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(map[string]string{"logout_token": good()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		provider string
		form     url.Values
		kind     []string
		status   int
	}{
		"no token":         {form: url.Values{}, status: 400},
		"empty":            {form: form(""), status: 400},
		"twice":            {form: url.Values{"logout_token": {good(), good()}}, status: 400},
		"garbage":          {form: form("a.b.c"), status: 400},
		"ID token":         {form: form(idToken()), status: 400},
		"access token":     {form: form(accessToken), status: 400},
		"flipped":          {form: form(flip(good(), len(good())-10)), status: 400},
		"other audience":   {form: form(w.logoutToken(t, "ada", map[string]any{"aud": "other"})), status: 400},
		"other issuer":     {form: form(w.logoutToken(t, "ada", map[string]any{"iss": "https://evil.test"})), status: 400},
		"expired":          {form: form(w.logoutToken(t, "ada", map[string]any{"exp": 1})), status: 400},
		"nonce":            {form: form(w.logoutToken(t, "ada", map[string]any{"nonce": "n"})), status: 400},
		"no jti":           {form: form(w.logoutToken(t, "ada", map[string]any{"jti": nil})), status: 400},
		"no events":        {form: form(w.logoutToken(t, "ada", map[string]any{"events": nil})), status: 400},
		"sid only":         {form: form(w.logoutToken(t, "ada", map[string]any{"sub": nil, "sid": "s"})), status: 400},
		"JSON":             {kind: []string{"application/json", string(asJSON)}, status: 400},
		"text":             {kind: []string{"text/plain", "x"}, status: 415},
		"ids of its own":   {provider: "op2", form: form(good()), status: 400},
		"no OpenID":        {provider: "plain", form: form(good()), status: 404},
		"mail":             {provider: "email", form: form(good()), status: 404},
		"unknown provider": {provider: "nobody", form: form(good()), status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			provider := "op"
			if c.provider != "" {
				provider = c.provider
			}
			if a := w.told(t, provider, c.form, c.kind...); a.StatusCode != c.status {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
			if victim.email() != "ada@example.com" {
				t.Fatal("signed out")
			}
		})
	}
	for _, method := range []string{"GET", "HEAD", "PUT"} {
		if a := w.browser().do(httptest.NewRequest(method, origin+"/api/auth/backchannel-logout/op?logout_token="+good(), nil)); a.StatusCode != 405 {
			t.Errorf("%s: %d", method, a.StatusCode)
		}
	}
	if a := w.told(t, "op", form(good())); a.StatusCode != 200 || victim.email() != "" {
		t.Errorf("twin: %d, %q\n%s", a.StatusCode, victim.email(), w.logs)
	}
	if strings.Contains(w.logs.String(), "eyJ") {
		t.Error("a token is in the log")
	}
}

// A limit of its own, which does not take from that of sign-ins.
func TestBackchannelLogoutIsLimited(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *authsvc.Config) { c.RateLimit.BackchannelLogout = authsvc.Rate{N: 2, Per: time.Hour} })
	for i, want := range []int{400, 400, 429, 429} {
		if a := w.told(t, "op", url.Values{"logout_token": {"x"}}); a.StatusCode != want || (a.Header.Get("Retry-After") != "") != (want == 429) {
			t.Errorf("%d: %d", i, a.StatusCode)
		}
	}
	if b := w.browser(); b.signIn(w.op, "ada").location() != origin {
		t.Error("sign-ins are limited, too")
	}
}

// TestBackchannelLogoutStoreFails breaks every call of the store: the answer is
// never 200 unless the sessions have ended, and they end in the end.
func TestBackchannelLogoutStoreFails(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for how, kind := range map[string]failure{"before": failBefore, "after": failAfter} {
			t.Run(strategy+" "+how, func(t *testing.T) {
				t.Parallel()
				w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
				for n := 1; ; n++ {
					b := w.browser()
					b.signIn(w.op, "ada")
					raw, broken := w.logoutToken(t, "ada", nil), ""
					w.led.breakAt(func(i int, method string) failure {
						if i == n {
							broken = method
							return kind
						}
						return works
					})
					a := w.told(t, "op", url.Values{"logout_token": {raw}})
					w.led.breakAt(nil)
					if broken == "" {
						if n < 4 || a.StatusCode != 200 {
							t.Errorf("twin: %d calls, %d", n-1, a.StatusCode)
						}
						return
					}
					if a.StatusCode == 200 && b.email() != "" {
						t.Errorf("%s: 200, but signed in", broken)
					}
					if a.StatusCode != 200 && a.StatusCode != 400 {
						t.Errorf("%s: %d", broken, a.StatusCode)
					}
					// The provider sends another, or it was taken over already.
					if a := w.told(t, "op", url.Values{"logout_token": {w.logoutToken(t, "ada", nil)}}); a.StatusCode != 200 || b.email() != "" {
						t.Errorf("%s, next: %d", broken, a.StatusCode)
					}
				}
			})
		}
	}
}

// failingDeletes does not delete sessions while it is broken.
type failingDeletes struct {
	authsvc.Adapter
	broken atomic.Bool
}

func (f *failingDeletes) DeleteSession(ctx context.Context, token string) (authsvc.SessionRecord, error) {
	if f.broken.Load() {
		return authsvc.SessionRecord{}, errBroken
	}
	return f.Adapter.DeleteSession(ctx, token)
}

// A logout token that is used up is carried out without the provider.
func TestBackchannelLogoutIsCarriedOut(t *testing.T) {
	t.Parallel()
	store := &failingDeletes{Adapter: memory.New()}
	w := start(t, func(c *authsvc.Config) { c.Adapter = store })
	b := w.browser()
	b.signIn(w.op, "ada")
	store.broken.Store(true)
	a := w.told(t, "op", url.Values{"logout_token": {w.logoutToken(t, "ada", nil)}})
	if a.StatusCode != 400 || b.email() != "ada@example.com" {
		t.Fatalf("%d %s, %q", a.StatusCode, a.body, b.email())
	}
	store.broken.Store(false)
	for end := time.Now().Add(10 * time.Second); b.email() != ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the session goes on\n%s", w.logs)
		}
	}
}
