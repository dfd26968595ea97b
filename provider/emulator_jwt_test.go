package provider_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// The keys that sign the JWTs of all emulators.
var (
	rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return key
	})
	ecKey = sync.OnceValue(func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		return key
	})
)

// strangersKey is not in the key set.
var strangersKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func keySet() jose.JSONWebKeySet {
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: rsaKey().Public(), KeyID: "rsa", Algorithm: "RS256", Use: "sig"},
		{Key: ecKey().Public(), KeyID: "ec", Algorithm: "ES256", Use: "sig"},
	}}
}

// identity returns the ID token of this sign-in.
func (e *emulator) identity() string {
	if e.idToken != "" {
		return e.idToken
	}
	issuer, _ := e.rec.Discovery["issuer"].(string)
	now := time.Now().Unix()
	claims := map[string]any{"iss": cmp.Or(e.rec.Issuer, issuer), "aud": clientID, "iat": now, "exp": now + 600}
	if nonce := e.asked.Get("nonce"); nonce != "" {
		claims["nonce"] = nonce
	}
	maps.Copy(claims, e.rec.IDToken)
	e.idToken = e.signBy(e.rec.Forged, claims)
	return e.idToken
}

// signBy creates a JWT, signed with a stranger's key if forged is set. Times may be
// given as "now" and seconds, such as "now+60".
func (e *emulator) signBy(forged bool, claims map[string]any) string {
	key := e.signingKey()
	if forged {
		key = strangers(key.Algorithm)
	}
	claims = maps.Clone(claims)
	for name, v := range claims {
		if s, ok := v.(string); ok && strings.HasPrefix(s, "now") {
			d, err := time.ParseDuration(strings.TrimPrefix(s+"+0", "now") + "s")
			if s != "now" {
				d, err = time.ParseDuration(strings.TrimPrefix(s, "now") + "s")
			}
			if err != nil {
				e.t.Errorf("recording: %s: %v", name, err)
			}
			claims[name] = time.Now().Add(d).Unix()
		}
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		e.t.Error(err)
	}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		e.t.Error(err)
		return ""
	}
	signed, err := signer.Sign(e.fill(payload))
	if err != nil {
		e.t.Error(err)
		return ""
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		e.t.Error(err)
	}
	return compact
}

func (e *emulator) signingKey() jose.SigningKey {
	switch alg := cmp.Or(e.rec.Alg, "RS256"); alg {
	case "RS256":
		return jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: rsaKey(), KeyID: "rsa"}}
	case "ES256":
		return jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: ecKey(), KeyID: "ec"}}
	case "HS256":
		return jose.SigningKey{Algorithm: jose.HS256, Key: []byte(clientSecret)}
	default:
		e.t.Errorf("recording: alg %q", alg)
		return jose.SigningKey{}
	}
}

// strangers returns a key that claims to be the provider's.
func strangers(alg jose.SignatureAlgorithm) jose.SigningKey {
	if alg == jose.HS256 {
		return jose.SigningKey{Algorithm: alg, Key: []byte("a secret that is as long but is another one")}
	}
	return jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: strangersKey(), KeyID: "rsa"}}
}
