package oidc

import (
	"fmt"
	"slices"

	jose "github.com/go-jose/go-jose/v4"
)

// asymmetricAlgs lists the algorithms accepted by default. A token's header chooses
// among them, and the key must be suitable for the chosen one.
var asymmetricAlgs = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// hmacKeyBytes holds the minimum key length of each HMAC algorithm (RFC 7518, section
// 3.2).
var hmacKeyBytes = map[jose.SignatureAlgorithm]int{jose.HS256: 32, jose.HS384: 48, jose.HS512: 64}

func symmetric(alg jose.SignatureAlgorithm) bool { return hmacKeyBytes[alg] > 0 }

// algorithms returns the allow list for a configuration.
func algorithms(names []string) []jose.SignatureAlgorithm {
	if len(names) == 0 {
		return asymmetricAlgs
	}
	algs := make([]jose.SignatureAlgorithm, len(names))
	for i, name := range names {
		algs[i] = jose.SignatureAlgorithm(name)
	}
	return algs
}

func (c *Config) checkAlgs() error {
	for _, alg := range algorithms(c.Algs) {
		switch {
		case symmetric(alg):
			if len(c.ClientSecret) < hmacKeyBytes[alg] {
				return fmt.Errorf("algs: %s needs a client secret of at least %d bytes", alg, hmacKeyBytes[alg])
			}
		case !slices.Contains(asymmetricAlgs, alg):
			return fmt.Errorf("algs: %q is not supported", string(alg))
		}
	}
	return nil
}
