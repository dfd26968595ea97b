package engine

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal/personaltoken"
)

// oneCredential is a store with one user, who has one credential.
type oneCredential struct {
	adapter.Adapter
	user authsvc.User
	c    adapter.Credential
}

func (s *oneCredential) GetUser(context.Context, string) (authsvc.User, error) { return s.user, nil }
func (s *oneCredential) PutCredential(_ context.Context, c adapter.Credential, _ int64, _ int) error {
	s.c = c
	return nil
}

// GetCredential compares loosely, as a table with a wrong collation does.
func (s *oneCredential) GetCredential(context.Context, adapter.CredentialKind, string) (adapter.Credential, error) {
	return s.c, nil
}
func (s *oneCredential) UpdateCredential(context.Context, adapter.Credential) error {
	return adapter.ErrStale
}
func (s *oneCredential) GetMeta(context.Context, string) (string, error) {
	return "", adapter.ErrNotFound
}

// TestPersonalTokenJudged checks that judgePersonal, which the gate also uses, says
// which hosts a token is for.
func TestPersonalTokenJudged(t *testing.T) {
	t.Parallel()
	store := &oneCredential{Adapter: fleet.NoStorage(), user: authsvc.User{ID: "ada", Email: "ada@example.com", EmailVerified: time.Now()}}
	s, err := NewOperator(authsvc.Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Adapter: store, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}, PersonalTokens: authsvc.PersonalTokenOptions{Enabled: true}})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := s.CreatePersonalToken(t.Context(), "ada", authsvc.PersonalTokenRequest{Name: "n", Hosts: []string{"grafana.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(header ...string) (*personalGrant, error) {
		r := httptest.NewRequest("GET", "https://grafana.example.com/api/x", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		return s.issuer.personalToken(s.site.newRequest(r))
	}
	g, err := judge("Authorization", "Bearer "+token)
	if err != nil || !g.forHost("https://grafana.example.com") || g.session.UserID != "ada" || !g.session.EmailVerified || !g.session.AuthTime.IsZero() || g.session.Provider != "" {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, other := range []string{"", "grafana.example.com", "http://grafana.example.com", "https://grafana.example.com:8443", "https://evil.example.com", "https://x.grafana.example.com"} {
		if g.forHost(other) {
			t.Errorf("for %q, too", other)
		}
	}
	if g.forAudience("") || g.forAudience("https://grafana.example.com") || slices.Contains(g.uses.Audiences, "") {
		t.Error("for an audience, too")
	}
	for name, c := range map[string]struct {
		header []string
		want   error
	}{
		"no header":          {nil, errPersonalMixed},
		"cookies":            {[]string{"Authorization", "Bearer " + token, "Cookie", "a=b"}, errPersonalMixed},
		"another, by chance": {[]string{"Authorization", "Bearer " + personaltoken.New()}, errPersonalRefused},
	} {
		if g, err := judge(c.header...); !errors.Is(err, c.want) || g != nil {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}
