package engine

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// TestCancelledAttemptsAreNotRemembered: without storage, cancelled attempts do not
// fill the set of used keys. An attempt with a code is in it.
func TestCancelledAttemptsAreNotRemembered(t *testing.T) {
	t.Parallel()
	s, err := New(authsvc.Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", Endpoints: authsvc.Endpoints{Authorization: "https://id.test/a", Token: "https://id.test/t", UserInfo: "https://id.test/u"}, Client: authsvc.Client{ID: "app", Secret: "s"}},
			&authsvc.OpenID2{ID: "steam", Endpoint: "https://id.test/openid", ClaimedIDPrefix: "https://id.test/users/"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	once := &onceCounted{Adapter: s.common.Adapter, used: map[string]time.Time{}}
	s.common.Adapter = once
	end := func(provider, query string) *httptest.ResponseRecorder {
		begun := fuzzedRequest(s, "")
		begun.ensureCSRF()
		at := s.site.flows[provider].(interface{ remote() remote }).remote()
		tx := transaction{Provider: provider, Issuer: at.issuer, RedirectURI: at.redirectURI, CallbackURL: "https://app.test"}
		if err := s.desk.startTx(begun, &tx); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "https://app.test/api/auth/callback/"+provider+"?state="+tx.State+"&"+query, nil)
		for _, c := range begun.set {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec
	}
	for provider, query := range map[string]string{"op": "error=access_denied", "steam": "openid.ns=http://specs.openid.net/auth/2.0&openid.mode=cancel"} {
		rec := end(provider, query)
		if n := len(once.used); n != 0 || !strings.Contains(rec.Header().Get("Location"), "error=AccessDenied") {
			t.Errorf("%s: %d remembered, back at %s", provider, n, rec.Header().Get("Location"))
		}
	}
	if end("op", "code=x"); len(once.used) != 1 {
		t.Errorf("twin: %d attempts with a code are remembered", len(once.used))
	}
	for key, expires := range once.used {
		if err := s.common.Adapter.UseOnce(t.Context(), key, expires); !errors.Is(err, adapter.ErrConflict) {
			t.Errorf("twin: it counts again: %v", err)
		}
	}
}

// onceCounted records which keys were used.
type onceCounted struct {
	adapter.Adapter
	used map[string]time.Time
}

func (a *onceCounted) UseOnce(ctx context.Context, key string, expires time.Time) error {
	err := a.Adapter.UseOnce(ctx, key, expires)
	if err == nil {
		a.used[key] = expires
	}
	return err
}
