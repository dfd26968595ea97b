package authsvc

import (
	"context"
	"testing"
	"time"
)

// TestOpenID2AccountID: whatever the functions say, the id is the verified one.
func TestOpenID2AccountID(t *testing.T) {
	t.Parallel()
	info := func(p Profile) func(context.Context, *Exchange) (Profile, error) {
		return func(context.Context, *Exchange) (Profile, error) { return p, nil }
	}
	for name, c := range map[string]struct {
		o  OpenID2
		ok bool
	}{
		"plain":       {OpenID2{}, true},
		"profile":     {OpenID2{UserInfo: info(Profile{"n": "Ada"}), Fields: Fields{Name: "n"}}, true},
		"same id":     {OpenID2{UserInfo: info(Profile{"id": "7"}), Fields: Fields{ID: "id"}}, true},
		"another id":  {OpenID2{UserInfo: info(Profile{"id": "8"}), Fields: Fields{ID: "id"}}, false},
		"no id":       {OpenID2{UserInfo: info(Profile{}), Fields: Fields{ID: "id"}}, false},
		"map":         {OpenID2{MapProfile: func(Profile) (User, error) { return User{Name: "Ada"}, nil }}, true},
		"map same":    {OpenID2{MapProfile: func(Profile) (User, error) { return User{ID: "7"}, nil }}, true},
		"map another": {OpenID2{MapProfile: func(Profile) (User, error) { return User{ID: "8"}, nil }}, false},
		"verified": {OpenID2{MapProfile: func(Profile) (User, error) {
			return User{Email: "ada@app.test", EmailVerified: time.Now()}, nil
		}}, true},
		"panics": {OpenID2{UserInfo: func(context.Context, *Exchange) (Profile, error) { panic("of the test") }}, false},
		"no call": {OpenID2{UserInfo: func(ctx context.Context, x *Exchange) (Profile, error) {
			_, err := x.Get(ctx, "https://old.test/x")
			return nil, err
		}}, false},
		"another host": {OpenID2{UserInfo: func(ctx context.Context, x *Exchange) (Profile, error) {
			_, err := x.Do(ctx, APIRequest{URL: "https://evil.test/x"})
			return nil, err
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.ID, c.o.Endpoint, c.o.ClaimedIDPrefix = "old", "https://old.test/openid", "https://old.test/id/"
			s, err := New(Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Providers: []Provider{&c.o}})
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
