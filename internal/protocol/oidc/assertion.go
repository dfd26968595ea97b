package oidc

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	assertionLife = time.Minute
)

// ErrAssertionAlg says that the provider announces none of the algorithms that the
// client's key can sign with.
var ErrAssertionAlg = errors.New("token_endpoint_auth_signing_alg_values_supported does not name an algorithm of the private key")

// assertion signs a client assertion (RFC 7523, section 3). Its audience never comes
// from the metadata. Otherwise, a provider that names another's token endpoint as its
// own would receive an assertion that is valid there (RFC 10070).
//
// typ is JWT, which servers have always accepted. Servers that compare typ, such as
// those built on Nimbus, refuse the explicit type of RFC 10070. This key signs nothing
// else that could be confused with an assertion.
func (c *Client) assertion(md *Metadata, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{
		"iss": c.cfg.ClientID, "sub": c.cfg.ClientID, "aud": c.cfg.audience(),
		"jti": rand.Text(), // 130 bits
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", errors.New("client assertion: cannot encode the claims")
	}
	alg := md.assertionAlg
	if alg == "" {
		alg = c.key.algs[0]
	}
	return c.key.sign(alg, claims)
}

// audience returns the only recipient of assertions, or "" if the configuration names
// none.
func (c *Config) audience() string {
	if c.AssertionAudience == "" && !c.multiTenant() {
		return c.Issuer
	}
	return c.AssertionAudience
}

// chooseAssertionAlg returns the first of the key's algorithms that is announced.
// Without an announcement, assertion chooses.
func (c *Client) chooseAssertionAlg(announced any) (jose.SignatureAlgorithm, error) {
	list, _ := announced.([]any)
	if c.key == nil || len(list) == 0 {
		return "", nil
	}
	for _, alg := range c.key.algs {
		if slices.Contains(list, any(string(alg))) {
			return alg, nil
		}
	}
	return "", fmt.Errorf("%w, %s", ErrAssertionAlg, c.key)
}

func (c *Config) checkAssertion() error {
	switch {
	case c.AuthMethod != PrivateKeyJWT && c.PrivateKey != "":
		return errors.New("private key: needs the method " + PrivateKeyJWT)
	case c.AuthMethod != PrivateKeyJWT:
		return nil
	case c.SecretPerGrant:
		return errors.New("auth method: " + PrivateKeyJWT + " cannot use a generated secret")
	case c.ClientSecret != "":
		return errors.New("client secret: must not be set with " + PrivateKeyJWT)
	case c.audience() == "":
		return errors.New("assertion audience: required without a single issuer")
	}
	if _, err := ParseClientKey(c.PrivateKey, c.KeyID); err != nil {
		return fmt.Errorf("private key: %w", err)
	}
	return nil
}
