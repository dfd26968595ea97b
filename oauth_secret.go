package authsvc

import (
	"context"
	"errors"
	"strings"
	"time"

	"authsvc/internal/oidc"
)

// secretMargin is how long before its expiry a client secret is made anew, at
// most: a tenth of a short life.
const secretMargin = 5 * time.Minute

// clientSecrets calls Hooks.ClientSecret, one call at a time, and caches the
// secret until it expires.
type clientSecrets struct {
	make   func(c Client, now time.Time) (secret string, expires time.Time, err error)
	client Client

	turn   chan struct{} // holds one while the fields below are in use
	secret string
	until  time.Time // secret is used before
}

func newClientSecrets(o *OAuth) *clientSecrets {
	if o.Hooks.ClientSecret == nil {
		return nil
	}
	return &clientSecrets{make: o.Hooks.ClientSecret, client: o.Client, turn: make(chan struct{}, 1)}
}

// get returns the current secret. Errors are not cached: the next sign-in tries
// again.
func (m *clientSecrets) get(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case m.turn <- struct{}{}:
	}
	defer func() { <-m.turn }()
	now := time.Now()
	if now.Before(m.until) {
		return m.secret, nil
	}
	secret, expires, err := m.make(m.client, now)
	switch {
	case err != nil:
		return "", err
	case secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("the secret is empty or not printable")
	case expires.IsZero():
		return secret, nil
	case !now.Before(expires):
		return "", errors.New("the secret has expired already")
	}
	m.secret, m.until = secret, expires.Add(-min(secretMargin, expires.Sub(now)/10))
	return secret, nil
}

// checkClientKey checks what private_key_jwt takes, and that nothing of it is
// used without effect.
func (f *oauthFlow) checkClientKey(b *builder) {
	if f.AuthMethod != PrivateKeyJWT {
		for _, given := range [][2]string{{"Client.PrivateKey", f.Client.PrivateKey}, {"Client.KeyID", f.Client.KeyID}, {"AssertionAudience", f.AssertionAudience}} {
			if given[1] != "" {
				b.fail(given[0], "is given, but AuthMethod is not private_key_jwt", "set AuthMethod: private_key_jwt, or remove it", "AuthMethod")
			}
		}
		return
	}
	if f.Hooks.ClientSecret != nil || f.Hooks.ExchangeCode != nil {
		b.fail("AuthMethod", "is private_key_jwt, but this provider authenticates the client in a way of its own", "remove it")
		return
	}
	if f.Client.Secret != "" {
		b.fail("Client.Secret", "is given, but AuthMethod private_key_jwt takes none", "remove it, or use another AuthMethod without Client.PrivateKey")
	}
	if f.AssertionAudience == "" && (f.Issuer == "" || oidc.MultiTenant(f.Issuer)) {
		b.fail("AssertionAudience", "is missing", "write the issuer identifier of the provider's token endpoint; without one issuer nothing else says who the signature is for", "Issuer")
	}
	if f.Client.PrivateKey == "" {
		b.fail("Client.PrivateKey", "is missing", "give the key whose public half you registered at the provider, PKCS #8 in PEM or a JWK", "AuthMethod")
		return
	}
	var wrong *oidc.KeyError
	if _, err := oidc.ParseClientKey(f.Client.PrivateKey, f.Client.KeyID); errors.As(err, &wrong) {
		b.fail("Client.PrivateKey", wrong.Problem, wrong.Fix, "Client.KeyID")
	}
}
