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
		"jwe-14 no secret":      func(c *authsvc.Config) { c.Secrets = nil },
		"jwe-14 empty":          func(c *authsvc.Config) { c.Secrets = []string{""} },
		"jwe-14 newline":        func(c *authsvc.Config) { c.Secrets = []string{strings.Repeat("\n", 40)} },
		"jwe-14 short":          func(c *authsvc.Config) { c.Secrets = []string{"s3cret-canary-short"} },
		"jwe-14 one character":  func(c *authsvc.Config) { c.Secrets = []string{strings.Repeat("s", 64)} },
		"jwe-14 second is weak": func(c *authsvc.Config) { c.Secrets = append(c.Secrets, "secret") },
		"outbound-06 issuer": func(c *authsvc.Config) {
			o := offlineProvider()
			o.OpenID, o.Issuer = true, "http://id.test"
			c.Providers = append(c.Providers, o)
		},
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
	t.Run("twin", func(t *testing.T) {
		t.Parallel()
		s, err := authsvc.New(good())
		if err != nil {
			t.Fatal(err)
		}
		s.Close(context.Background())
	})
}
