package authsvc_test

import (
	"context"
	"strings"
	"testing"

	"authsvc"
)

func TestAttackHooks(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"jwt": func(c *authsvc.Config) {
			c.Session.Strategy = "jwt"
			c.Callbacks.JWT = func(context.Context, authsvc.JWTParams) (authsvc.Claims, error) { panic("jwt") }
		},
		"mapProfile": func(c *authsvc.Config) {
			c.Providers[0].(*authsvc.OAuth).MapProfile = func(authsvc.Profile) (authsvc.User, error) { panic("map") }
		},
		"authorize": func(c *authsvc.Config) {
			c.Providers[2] = &authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { panic("authorize") }}
		},
		"session": func(c *authsvc.Config) {
			c.Callbacks.Session = func(context.Context, authsvc.SessionParams) (map[string]any, error) { panic("session") }
		},
	} {
		t.Run("httpwire-14 panic in "+name, func(t *testing.T) {
			t.Parallel()
			told := 0
			w := enter(t, func(c *authsvc.Config) {
				tune(c)
				c.Events.CreateUser = func(context.Context, authsvc.User) { told++; panic("event") }
			})
			b := w.browser()
			if name != "authorize" {
				b.signIn(w.op, "ada")
			}
			b.post("/api/auth/callback/credentials", "username", "ada", "password", "right")
			if a := b.get("/api/auth/session"); a.body != "{}" {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
			if got := strings.Count(w.led.lasting(), "SignUp "); got != told {
				t.Errorf("%d sign-ups, %d createUser events", got, told)
			}
			if a := w.browser().get("/api/auth/providers"); a.StatusCode != 200 {
				t.Error("twin: the service is down")
			}
		})
	}
}
