package engine_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutToken returns a valid logout token for sub, changed by set; nil removes a
// claim.
func logoutToken(w *arena.World, t testing.TB, sub string, set map[string]any) string {
	t.Helper()
	now := time.Now()
	claims := map[string]any{"iss": w.OP.Issuer(), "aud": "app", "sub": sub, "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(),
		"jti": now.String(), "events": map[string]any{logoutEvent: map[string]any{}}}
	maps.Copy(claims, set)
	for k, v := range set {
		if v == nil {
			delete(claims, k)
		}
	}
	raw, err := w.OP.Sign("logout+jwt", claims)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// postLogoutToken posts a logout token as the provider's server does: without
// cookies and without Origin.
func postLogoutToken(w *arena.World, t testing.TB, provider string, form url.Values, kind ...string) *browser.Answer {
	t.Helper()
	b := w.Browser()
	r := httptest.NewRequest(http.MethodPost, b.Abs("/api/auth/backchannel-logout/"+provider), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(kind) > 0 {
		r.Header.Set("Content-Type", kind[0])
		r.Body = http.NoBody
		if len(kind) > 1 {
			r = httptest.NewRequest(http.MethodPost, r.URL.String(), strings.NewReader(kind[1]))
			r.Header.Set("Content-Type", kind[0])
		}
	}
	a := b.Do(r)
	if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || len(a.Cookies()) > 0 {
		t.Errorf("headers %v", a.Header)
	}
	return a
}

// TestBackchannelLogoutStoreFails breaks every call of the store. The answer is 200
// only if the sessions have ended, and they do end eventually.
func TestBackchannelLogoutStoreFails(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for how, kind := range map[string]arena.Failure{"before": arena.FailBefore, "after": arena.FailAfter} {
			t.Run(strategy+" "+how, func(t *testing.T) {
				t.Parallel()
				w := arena.Enter(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
				for n := 1; ; n++ {
					b := w.Browser()
					b.SignIn(w.OP, "ada")
					raw, broken := logoutToken(w, t, "ada", nil), ""
					w.Ledger.BreakAt(func(i int, method string) arena.Failure {
						if i == n {
							broken = method
							return kind
						}
						return arena.Works
					})
					a := postLogoutToken(w, t, "op", url.Values{"logout_token": {raw}})
					w.Ledger.BreakAt(nil)
					if broken == "" {
						if n < 4 || a.StatusCode != 200 {
							t.Errorf("twin: %d calls, %d", n-1, a.StatusCode)
						}
						return
					}
					if a.StatusCode == 200 && b.Email() != "" {
						t.Errorf("%s: 200, but signed in", broken)
					}
					if a.StatusCode != 200 && a.StatusCode != 400 {
						t.Errorf("%s: %d", broken, a.StatusCode)
					}
					// The provider sends another token, or the service already ends the
					// sessions by itself.
					if a := postLogoutToken(w, t, "op", url.Values{"logout_token": {logoutToken(w, t, "ada", nil)}}); a.StatusCode != 200 || b.Email() != "" {
						t.Errorf("%s, next: %d", broken, a.StatusCode)
					}
				}
			})
		}
	}
}

// failingDeletes fails to delete sessions while it is broken.
type failingDeletes struct {
	adapter.Adapter
	broken atomic.Bool
}

func (f *failingDeletes) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	if f.broken.Load() {
		return adapter.SessionRecord{}, arena.ErrBroken
	}
	return f.Adapter.DeleteSession(ctx, token)
}

// TestBackchannelLogoutWithoutProvider checks that the service carries out a used
// logout token without the provider.
func TestBackchannelLogoutWithoutProvider(t *testing.T) {
	t.Parallel()
	store := &failingDeletes{Adapter: memory.New()}
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	store.broken.Store(true)
	a := postLogoutToken(w, t, "op", url.Values{"logout_token": {logoutToken(w, t, "ada", nil)}})
	if a.StatusCode != 400 || b.Email() != "ada@example.com" {
		t.Fatalf("%d %s, %q", a.StatusCode, a.Text, b.Email())
	}
	store.broken.Store(false)
	for end := time.Now().Add(time.Minute); b.Email() != ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the session continues\n%s", w.Logs)
		}
	}
}
