package authsvc_test

import (
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/idp"
)

// twoProviders adds op2, a second provider of an attacker, and plain.
func twoProviders(t *testing.T) (*arena, *idp.Server) {
	t.Helper()
	evil, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "evil-secret", RedirectURIs: redirectURIs()}},
		People: []idp.Person{{Sub: "ada", Name: "Not Ada", Email: "ada@example.com", EmailVerified: true}, {Sub: "x", Name: "X"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { evil.Close() })
	w := enter(t, func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		o := *op
		o.ID, o.Issuer, o.Client.Secret = "op2", evil.Issuer(), "evil-secret"
		p := *op
		p.ID, p.OpenID, p.Issuer = "plain", false, ""
		p.AuthorizationURL, p.TokenURL, p.UserInfoURL = op.Issuer+"/oauth2/authorize", op.Issuer+"/oauth2/token", op.Issuer+"/oauth2/user"
		p.Fields = authsvc.Fields{ID: "id", Image: "avatar_url"}
		c.Providers = append(c.Providers, &o, &p)
	})
	return w, evil
}

func TestAttackStartFlows(t *testing.T) {
	t.Parallel()
	w, _ := twoProviders(t)
	t.Run("abuse-06 start-flow spam", func(t *testing.T) {
		before := len(w.led.written())
		b := w.browser()
		for range 50 {
			b.begin("op")
		}
		if n := len(w.led.written()) - before; n != 0 {
			t.Errorf("%d writes", n)
		}
		pending, size := 0, 0
		for name, v := range b.cookies {
			if size += len(name) + len(v) + 3; strings.Contains(name, ".tx.") {
				pending++
			}
		}
		if pending > 5 || size > 8<<10 {
			t.Errorf("%d attempts are kept, %d bytes of cookies", pending, size)
		}
	})
}
