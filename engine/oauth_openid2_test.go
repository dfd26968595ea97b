package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/internal/protocol/openid2"
)

// TestOpenID2AccountID checks that the id is the verified one, whatever the functions
// return.
func TestOpenID2AccountID(t *testing.T) {
	t.Parallel()
	info := func(p authsvc.Profile) func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
		return func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { return p, nil }
	}
	for name, c := range map[string]struct {
		o  authsvc.OpenID2
		ok bool
	}{
		"plain":       {authsvc.OpenID2{}, true},
		"profile":     {authsvc.OpenID2{UserInfo: info(authsvc.Profile{"n": "Ada"}), Fields: authsvc.Fields{Name: "n"}}, true},
		"same id":     {authsvc.OpenID2{UserInfo: info(authsvc.Profile{"id": "7"}), Fields: authsvc.Fields{ID: "id"}}, true},
		"another id":  {authsvc.OpenID2{UserInfo: info(authsvc.Profile{"id": "8"}), Fields: authsvc.Fields{ID: "id"}}, false},
		"no id":       {authsvc.OpenID2{UserInfo: info(authsvc.Profile{}), Fields: authsvc.Fields{ID: "id"}}, false},
		"map":         {authsvc.OpenID2{MapProfile: func(authsvc.Profile) (authsvc.User, error) { return authsvc.User{Name: "Ada"}, nil }}, true},
		"map same":    {authsvc.OpenID2{MapProfile: func(authsvc.Profile) (authsvc.User, error) { return authsvc.User{ID: "7"}, nil }}, true},
		"map another": {authsvc.OpenID2{MapProfile: func(authsvc.Profile) (authsvc.User, error) { return authsvc.User{ID: "8"}, nil }}, false},
		"verified": {authsvc.OpenID2{MapProfile: func(authsvc.Profile) (authsvc.User, error) {
			return authsvc.User{Email: "ada@app.test", EmailVerified: time.Now()}, nil
		}}, true},
		"panics": {authsvc.OpenID2{UserInfo: func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { panic("of the test") }}, false},
		"no call": {authsvc.OpenID2{UserInfo: func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			_, err := x.Get(ctx, "https://old.test/x")
			return nil, err
		}}, false},
		"another host": {authsvc.OpenID2{UserInfo: func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			_, err := x.Do(ctx, authsvc.APIRequest{URL: "https://evil.test/x"})
			return nil, err
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.ID, c.o.Endpoint, c.o.ClaimedIDPrefix = "old", "https://old.test/openid", "https://old.test/id/"
			s, err := New(authsvc.Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Providers: []authsvc.Provider{&c.o}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(t.Context())
			f := s.site.flows["old"].(*openID2Flow)
			rq := &request{site: s.site, ctx: t.Context(), now: time.Now(), flow: f}
			id, err := f.person(rq, &transaction{}, "7", "https://old.test/id/7")
			if (err == nil) != c.ok || c.ok && id.account.ProviderAccountID != "7" {
				t.Errorf("%+v, %v", id.account, err)
			}
			if id.verified || !id.user.EmailVerified.IsZero() {
				t.Error("an address is vouched for")
			}
		})
	}
}

// TestOpenID2Refusal checks that the log gets the provider's words, plain and short, and
// that they are marked: anyone can write them.
func TestOpenID2Refusal(t *testing.T) {
	t.Parallel()
	f := &openID2Flow{}
	for name, tt := range map[string]struct {
		a    openid2.Assertion
		want string
	}{
		"cancelled": {openid2.Assertion{"mode": "cancel"}, "the person or the provider refused"},
		"error":     {openid2.Assertion{"mode": "error", "error": "No such\nassociation"}, `the provider answered with error "No such?association"`},
		"long":      {openid2.Assertion{"mode": "error", "error": strings.Repeat("a", 500)}, `the provider answered with error "` + strings.Repeat("a", 200) + `"`},
		"other":     {openid2.Assertion{"mode": "x", "error": "no"}, "the answer is not in the format of OpenID Authentication 2.0"},
	} {
		_, err := f.identify(nil, &transaction{}, tt.a)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		var quoting audit.Quoting
		if quotes := strings.Contains(tt.want, "with error"); errors.As(err, &quoting) != quotes {
			t.Errorf("%s: marked as a cause that quotes the request is %v, want %v", name, !quotes, quotes)
		}
	}
}
