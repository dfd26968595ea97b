package authsvc_test

import (
	"context"
	"strings"
	"testing"

	"authsvc"
)

func TestAttackConfiguration(t *testing.T) {
	t.Parallel()
	good := func() authsvc.Config {
		return authsvc.Config{URL: origin, Secrets: []string{testSecret}, Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorize}}}
	}
	for name, spoil := range map[string]func(*authsvc.Config){
		"config-06 http":          func(c *authsvc.Config) { c.URL = "http://app.test" },
		"config-01 same id twice": func(c *authsvc.Config) { c.Providers = append(c.Providers, c.Providers[0]) },
		"config-01 reserved parameter": func(c *authsvc.Config) {
			o := offlineProvider()
			o.AuthorizationParams = map[string]string{"state": "x"}
			c.Providers = append(c.Providers, o)
		},
		"config-01 all checks dropped": func(c *authsvc.Config) {
			o := offlineProvider()
			o.Checks = []string{"nonce"}
			c.Providers = append(c.Providers, o)
		},
		"config-01 cookie names clash":   func(c *authsvc.Config) { c.Cookies.CSRF = sessionName + ".csrf" },
		"config-01 trusted other site":   func(c *authsvc.Config) { c.TrustedOrigins = []string{"https://evil.test"} },
		"config-01 trusted http sibling": func(c *authsvc.Config) { c.TrustedOrigins = []string{"http://www.app.test"} },
		"config-01 cookie domain":        func(c *authsvc.Config) { c.Cookies.Domain = "test" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := good()
			spoil(&c)
			s, err := authsvc.New(c)
			if err == nil {
				s.Close(context.Background())
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "canary") || len(authsvc.ConfigErrors(err)) == 0 {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("config-01 twin", func(t *testing.T) {
		t.Parallel()
		s, err := authsvc.New(good())
		if err != nil {
			t.Fatal(err)
		}
		s.Close(context.Background())
	})
}
