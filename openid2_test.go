package authsvc

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestNonceEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for nonce, fresh := range map[string]bool{
		"2026-03-01T12:00:00Zabc": true, "2026-03-01T12:00:00Z": true, "2026-03-01T11:55:00Zx": true, "2026-03-01T12:05:00Zx": true,
		"2026-03-01T11:54:59Zx": false, "2026-03-01T12:05:01Zx": false, "": false, "abc": false, "2026-03-01T12:00:00": false,
		"2026-03-01 12:00:00Zx": false, "2026-03-01T12:00:00+00:00": false, "2026-13-01T12:00:00Zx": false, "2026-03-01T12:00:00Za b": false,
		"2026-03-01T12:00:00Zé": false, "2026-03-01T12:00:00Z" + strings.Repeat("x", 235): true, "2026-03-01T12:00:00Z" + strings.Repeat("x", 236): false,
	} {
		over, err := nonceEnds(nonce, now)
		if (err == nil) != fresh {
			t.Errorf("%q: %v", nonce, err)
		}
		// Whoever remembers it until then remembers it as long as it is accepted.
		if _, again := nonceEnds(nonce, over); err == nil && again == nil {
			t.Errorf("%q is fresh until after %s", nonce, over)
		}
	}
}

func TestIsValid(t *testing.T) {
	t.Parallel()
	const ns = "ns:http://specs.openid.net/auth/2.0\n"
	for body, valid := range map[string]bool{
		ns + "is_valid:true\n": true, "is_valid:true": true, ns + "is_valid:true\r\n": true, ns + "is_valid:true\ninvalidate_handle:a:b\n": true,
		"": false, ns: false, ns + "is_valid:false\n": false, ns + "is_valid:TRUE\n": false, ns + "is_valid: true\n": false, ns + " is_valid:true\n": false,
		"is_valid:true\nis_valid:true\n": false, "ns:other\nis_valid:true\n": false, "is_valid:true\nnothing\n": false, "is_valid:true\n\n": false, "is_valid=true": false,
	} {
		if err := isValid([]byte(body)); (err == nil) != valid {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestReadAssertion(t *testing.T) {
	t.Parallel()
	many := url.Values{}
	for i := range maxAssertion + 1 {
		many.Set("openid."+strings.Repeat("x", i+1), "1")
	}
	for name, c := range map[string]struct {
		q  url.Values
		ok bool
	}{
		"one": {url.Values{"openid.mode": {"id_res"}, "state": {"a", "b"}}, true}, "none": {url.Values{}, true},
		"twice": {url.Values{"openid.mode": {"id_res", "id_res"}}, false}, "empty list": {url.Values{"openid.mode": {}}, false},
		"line break": {url.Values{"openid.mode": {"a\nb"}}, false}, "line break in name": {url.Values{"openid.a\r": {"a"}}, false},
		"colon in name": {url.Values{"openid.a:b": {"a"}}, false}, "comma in name": {url.Values{"openid.a,b": {"a"}}, false}, "upper case in name": {url.Values{"openid.Mode": {"a"}}, false},
		"no name": {url.Values{"openid.": {"a"}}, false}, "extension": {url.Values{"openid.sreg.e-mail": {"a"}}, false}, "extension, right": {url.Values{"openid.ns.ext1_a": {"a"}}, true},
		"not UTF-8": {url.Values{"openid.mode": {"\xff"}}, false}, "long": {url.Values{"openid.mode": {strings.Repeat("x", maxAssertionV+1)}}, false},
		"many": {many, false},
	} {
		a, err := readAssertion(c.q)
		if (err == nil) != c.ok || c.ok && len(a) != min(1, len(c.q)) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}

// TestOpenID2Person: whatever the functions say, the id is the verified one.
func TestOpenID2Person(t *testing.T) {
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
			f := s.flows["old"].(*openID2Flow)
			rq := &request{Service: s, ctx: t.Context(), now: time.Now(), flow: f}
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
