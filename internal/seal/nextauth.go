package seal

import (
	"crypto/sha256"
	"crypto/sha512"
)

// NextAuthV4 returns a sealer that shares tokens with NextAuth.js v4: A256GCM without a
// "kid", so Open tries the secrets in order. The salt is empty for session tokens and
// the cookie's full name for check cookies.
//
// Open also accepts headers that another library spelled differently; see parseHeader
// for the limits. Like NextAuth.js, it ignores a "kid", which has no meaning in this
// format.
func (r *Ring) NextAuthV4(salt string) *Sealer {
	s := &Sealer{foreign: true}
	for i, secret := range r.secrets {
		s.keys = append(s.keys, newKey(a256gcm, nextAuthV4Key(secret, salt), "", i > 0))
	}
	return s
}

// AuthJSV5 returns a sealer that shares tokens with Auth.js v5 (@auth/core). It seals
// with A256CBC-HS512 and a "kid", and also opens A256GCM. The salt is the cookie's full
// name, also for session tokens.
//
// Open also accepts headers that another library spelled differently; see parseHeader
// for the limits. A "kid" chooses the key; without one, Open tries the secrets in
// order.
func (r *Ring) AuthJSV5(salt string) *Sealer {
	s := &Sealer{foreign: true}
	for i, secret := range r.secrets {
		cbc := authJSV5Key(secret, salt, a256cbcHS512)
		gcm := authJSV5Key(secret, salt, a256gcm)
		sum512 := sha512.Sum512(thumbprintInput(cbc))
		sum256 := sha256.Sum256(thumbprintInput(gcm))
		s.keys = append(s.keys,
			newKey(a256cbcHS512, cbc, b64.EncodeToString(sum512[:]), i > 0),
			newKey(a256gcm, gcm, b64.EncodeToString(sum256[:]), i > 0))
	}
	return s
}

func nextAuthV4Key(secret, salt string) []byte {
	info := "NextAuth.js Generated Encryption Key"
	if salt != "" {
		info += " (" + salt + ")"
	}
	return derive(secret, salt, info, a256gcm.keySize)
}

func authJSV5Key(secret, salt string, enc *encryption) []byte {
	return derive(secret, salt, "Auth.js Generated Encryption Key ("+salt+")", enc.keySize)
}

// thumbprintInput returns the canonical JWK of a symmetric key, RFC 7638 §3.2. Auth.js
// hashes it with the SHA-2 function that has the width of the key.
func thumbprintInput(key []byte) []byte {
	return []byte(`{"k":"` + b64.EncodeToString(key) + `","kty":"oct"}`)
}
