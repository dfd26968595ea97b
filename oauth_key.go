package authsvc

import (
	"errors"

	"authsvc/internal/oidc"
)

// checkClientKey checks what private_key_jwt takes, and that nothing of it is
// given in vain.
func (f *oauthFlow) checkClientKey(b *builder) {
	if f.AuthMethod != oidc.PrivateKeyJWT {
		for _, given := range [][2]string{{"private_key", f.Client.PrivateKey}, {"key_id", f.Client.KeyID}, {"assertion_audience", f.AssertionAudience}} {
			if given[1] != "" {
				b.fail(given[0], "is given, but auth_method is not private_key_jwt", "set auth_method: private_key_jwt, or remove it")
			}
		}
		return
	}
	if f.ClientSecret != nil || f.ExchangeCode != nil {
		b.fail("auth_method", "is private_key_jwt, but this provider authenticates the client in a way of its own", "remove it")
		return
	}
	if f.Client.Secret != "" {
		b.fail("client_secret", "is given, but auth_method private_key_jwt takes none", "remove it, or use another auth_method without private_key")
	}
	if f.AssertionAudience == "" && (f.Issuer == "" || oidc.MultiTenant(f.Issuer)) {
		b.fail("assertion_audience", "is missing", "write the issuer identifier of the provider's token endpoint; without one issuer nothing else says who the signature is for")
	}
	if f.Client.PrivateKey == "" {
		b.fail("private_key", "is missing", "give the key whose public half you registered at the provider, PKCS #8 in PEM or a JWK")
		return
	}
	var wrong *oidc.KeyError
	if _, err := oidc.ParseClientKey(f.Client.PrivateKey, f.Client.KeyID); errors.As(err, &wrong) {
		b.fail("private_key", wrong.Problem, wrong.Fix)
	}
}
