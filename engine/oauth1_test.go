package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// oauth1Client returns the client of a provider with OAuth 1.0a.
func oauth1Client(op *idp.Server) *authsvc.OAuth1 {
	return &authsvc.OAuth1{ID: "old", Name: "Old", Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret},
		RequestTokenURL: op.Issuer() + "/oauth1/initiate", AuthorizationURL: op.Issuer() + "/oauth1/authorize",
		AccessTokenURL: op.Issuer() + "/oauth1/token", UserInfoURL: op.Issuer() + "/oauth1/user?a=b%20c&a=%2B",
		Fields: authsvc.Fields{ID: "token.user_id"}}
}

// enterOAuth1 adds such a provider, "old", to the arena.
func enterOAuth1(t *testing.T, tune func(*authsvc.OAuth1)) *arena.World {
	t.Helper()
	other, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: arena.ClientSecret, RedirectURIs: arena.RedirectURIs()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	w := arena.Enter(t, func(c *authsvc.Config) {
		o := oauth1Client(other)
		if tune != nil {
			tune(o)
		}
		c.Providers = append(c.Providers, o)
	})
	w.OP = other
	return w
}

func TestOAuth1Linking(t *testing.T) {
	t.Parallel()
	w := enterOAuth1(t, nil)
	b := w.Browser()
	b.Get(b.Approve(w.OP, b.Begin("old"), "grace"))
	if to := b.Begin("old", "link", "true"); !strings.Contains(to, "/confirm?") { // OAuth 1 reports no proof
		t.Errorf("a link without a proof leads to %s", to)
	}
	proved := b.Post("/api/auth/confirm", "provider", "old")
	b.Get(b.Approve(w.OP, proved.Location(), "grace"))
	if to := w.Browser().Begin("old", "link", "true"); !strings.Contains(to, "error=SessionRequired") {
		t.Errorf("a link without a session leads to %s", to)
	}
	if a := b.Get(b.Approve(w.OP, b.Begin("old", "link", "true"), "alan")); a.Location() != arena.Origin || b.Email() != "grace@example.com" {
		t.Errorf("twin: %s as %q", a.Location(), b.Email())
	}
	back := b.Approve(w.OP, b.Begin("old", "link", "true"), "katherine")
	stolen := b.Clone()
	b.Post("/api/auth/signout")
	w.MustRefuse(t, func() *browser.Answer { return b.Get(back) })
	w.MustRefuse(t, func() *browser.Answer { return stolen.Get(back) })
}

// TestOAuth1Hooks checks that the hooks are restricted like OAuth's and sign what they
// send.
func TestOAuth1Hooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tune func(*authsvc.OAuth1)
		want string // part of where it leads; "": signed in
	}{
		"none": {tune: func(*authsvc.OAuth1) {}},
		"default request": {tune: func(o *authsvc.OAuth1) {
			o.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) { return x.UserInfo(ctx) }
		}},
		"headers": {tune: func(o *authsvc.OAuth1) { o.Headers = map[string]string{"X-Client": "{client_id}"} }},
		"map": {tune: func(o *authsvc.OAuth1) {
			o.MapProfile = func(p authsvc.Profile) (authsvc.User, error) {
				return authsvc.User{ID: "7", Email: "grace@example.com"}, nil
			}
		}},
		"no id": {tune: func(o *authsvc.OAuth1) { o.Fields.ID = "nothing" }, want: "OAuthCallback"},
		"panics": {tune: func(o *authsvc.OAuth1) {
			o.UserInfo = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { panic("of the test") }
		}, want: "OAuthCallback"},
		"denies": {tune: func(o *authsvc.OAuth1) {
			o.UserInfo = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) { return nil, authsvc.ErrAccessDenied }
		}, want: "AccessDenied"},
		"another host": {tune: func(o *authsvc.OAuth1) {
			o.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
				_, err := x.Get(ctx, "https://evil.test/x")
				return authsvc.Profile{}, err
			}
		}, want: "OAuthCallback"},
		"own signature": {tune: func(o *authsvc.OAuth1) {
			url := o.UserInfoURL
			o.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
				_, err := x.Do(ctx, authsvc.APIRequest{URL: url, WithToken: true, Header: map[string]string{"authorization": "OAuth x"}})
				if err == nil {
					return nil, errors.New("sent")
				}
				return authsvc.Profile{"id": "7"}, nil
			}
		}},
		"unsigned": {tune: func(o *authsvc.OAuth1) {
			url := o.UserInfoURL
			o.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
				_, err := x.Do(ctx, authsvc.APIRequest{URL: url})
				return authsvc.Profile{}, err
			}
		}, want: "OAuthCallback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enterOAuth1(t, c.tune)
			b := w.Browser()
			a := b.Get(b.Approve(w.OP, b.Begin("old"), "grace"))
			if c.want == "" && a.Location() != arena.Origin || c.want != "" && !strings.Contains(a.Location(), "error="+c.want) {
				t.Errorf("%s\n%s", a.Location(), w.Logs)
			}
			if signedIn := b.Session()["user"] != nil; signedIn != (c.want == "") {
				t.Errorf("signed in: %v", signedIn)
			}
		})
	}
}

// TestOAuth1ProviderDown checks that a provider that does not answer affects only this
// attempt.
func TestOAuth1ProviderDown(t *testing.T) {
	t.Parallel()
	w := enterOAuth1(t, nil)
	for endpoint, word := range map[idp.Endpoint]string{idp.EndpointOAuth1Initiate: "OAuthSignin", idp.EndpointOAuth1Token: "OAuthCallback", idp.EndpointOAuth1User: "OAuthCallback"} {
		w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{endpoint: 503}})
		b := w.Browser()
		to := b.Begin("old")
		if !strings.Contains(to, "error=") {
			to = b.Get(b.Approve(w.OP, to, "grace")).Location()
		}
		if !strings.Contains(to, "error="+word) || b.Email() != "" {
			t.Errorf("%s: %s", endpoint, to)
		}
		for name := range b.Cookies {
			if strings.Contains(name, ".tx.") {
				t.Errorf("%s: %s is left", endpoint, name)
			}
		}
		w.OP.SetFault(idp.Fault{})
		if a := b.Get(b.Approve(w.OP, b.Begin("old"), "grace")); a.Location() != arena.Origin {
			t.Errorf("%s: the next try: %s\n%s", endpoint, a.Location(), w.Logs)
		}
	}
}

// TestOAuth1AndOpenID2ConfigErrors checks that missing and refused fields are named by
// key.
func TestOAuth1AndOpenID2ConfigErrors(t *testing.T) {
	t.Parallel()
	oauth1 := func(tune func(*authsvc.OAuth1)) authsvc.Provider {
		o := &authsvc.OAuth1{ID: "old", Client: authsvc.Client{ID: "a", Secret: "b"}, RequestTokenURL: "https://old.test/r",
			AuthorizationURL: "https://old.test/a", AccessTokenURL: "https://old.test/t", UserInfoURL: "https://old.test/u"}
		tune(o)
		return o
	}
	openID := func(tune func(*authsvc.OpenID2)) authsvc.Provider {
		o := &authsvc.OpenID2{ID: "old", Endpoint: "https://old.test/openid", ClaimedIDPrefix: "https://old.test/id/"}
		tune(o)
		return o
	}
	for key, p := range map[string]authsvc.Provider{
		"":                        oauth1(func(*authsvc.OAuth1) {}),
		"Client.ID":               oauth1(func(o *authsvc.OAuth1) { o.Client.ID = "" }),
		"Client.Secret":           oauth1(func(o *authsvc.OAuth1) { o.Client.Secret = "" }),
		"RequestTokenURL":         oauth1(func(o *authsvc.OAuth1) { o.RequestTokenURL = "" }),
		"RequestTokenURL http":    oauth1(func(o *authsvc.OAuth1) { o.RequestTokenURL = "http://old.test/r" }),
		"AuthorizationURL":        oauth1(func(o *authsvc.OAuth1) { o.AuthorizationURL = "" }),
		"AuthorizationURL script": oauth1(func(o *authsvc.OAuth1) { o.AuthorizationURL = "javascript:alert(1)" }),
		"AccessTokenURL":          oauth1(func(o *authsvc.OAuth1) { o.AccessTokenURL = "" }),
		"UserInfoURL":             oauth1(func(o *authsvc.OAuth1) { o.UserInfoURL = "" }),
		"UserInfoURL user":        oauth1(func(o *authsvc.OAuth1) { o.UserInfoURL = "https://a:b@old.test/u" }),
		"Hosts":                   oauth1(func(o *authsvc.OAuth1) { o.Hosts = []string{"*"} }),
		"Headers":                 oauth1(func(o *authsvc.OAuth1) { o.Headers = map[string]string{"authorization": "x"} }),
		"Fields.ID":               oauth1(func(o *authsvc.OAuth1) { o.Fields.ID = "a[" }),
		" ":                       openID(func(*authsvc.OpenID2) {}),
		"Endpoint":                openID(func(o *authsvc.OpenID2) { o.Endpoint = "" }),
		"Endpoint http":           openID(func(o *authsvc.OpenID2) { o.Endpoint = "http://old.test/openid" }),
		"ClaimedIDPrefix":         openID(func(o *authsvc.OpenID2) { o.ClaimedIDPrefix = "" }),
		"ClaimedIDPrefix bare":    openID(func(o *authsvc.OpenID2) { o.ClaimedIDPrefix = "https://old.test" }),
		"Hosts ":                  openID(func(o *authsvc.OpenID2) { o.Hosts = []string{"https://old.test"} }),
		"Headers ":                openID(func(o *authsvc.OpenID2) { o.Headers = map[string]string{"Host": "x"} }),
		"Fields.Name":             openID(func(o *authsvc.OpenID2) { o.Fields.Name = "{" }),
	} {
		s, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Providers: []authsvc.Provider{p}})
		if s != nil {
			s.Close(t.Context())
		}
		want, _, _ := strings.Cut(key, " ")
		mistakes := authsvc.ConfigErrors(err)
		if want == "" && err != nil || want != "" && (len(mistakes) != 1 || mistakes[0].Field != "Providers[0]."+want || mistakes[0].Fix == "") {
			t.Errorf("%q: %v", key, err)
		}
	}
}
