package seal

import (
	"crypto/sha256"
	"crypto/sha512"
)

// NextAuthV4 returns a sealer that shares tokens with NextAuth.js v4: A256GCM,
// no "kid", so the secrets are tried in order when opening. The salt is empty
// for session tokens and the cookie's full name for check cookies.
//
// Opening also takes headers that another library spelled differently; see
// parseHeader for what is let through. A "kid" has no meaning in this format and
// is ignored, as NextAuth.js does.
func (r *Ring) NextAuthV4(salt string) *Sealer {
	s := &Sealer{foreign: true}
	for i, secret := range r.secrets {
		s.keys = append(s.keys, newKey(a256gcm, nextAuthV4Key(secret, salt), "", i > 0))
	}
	return s
}

// AuthJSV5 returns a sealer that shares tokens with Auth.js v5 (@auth/core): it
// seals with A256CBC-HS512 and a "kid", and opens A256GCM too. The salt is the
// cookie's full name, for session tokens as well.
//
// Opening also takes headers that another library spelled differently; see
// parseHeader for what is let through. A "kid" chooses the key; without one the
// secrets are tried in order.
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

// thumbprintInput returns the canonical JWK of a symmetric key, RFC 7638 §3.2.
// Auth.js hashes it with the SHA-2 function that is as wide as the key.
func thumbprintInput(key []byte) []byte {
	return []byte(`{"k":"` + b64.EncodeToString(key) + `","kty":"oct"}`)
}
