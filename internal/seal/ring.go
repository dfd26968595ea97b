package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// Info strings of our own keys. None is a prefix of another, so whatever the
// purpose, a sealing key, a key id and a MAC key never share an info string.
const (
	infoSeal   = "authsvc/v1 "
	infoKID    = "authsvc/v1/kid "
	infoMAC    = "authsvc/v1/mac "
	infoBox    = "authsvc/v1/box "
	infoBoxKID = "authsvc/v1/box-kid "
	infoDerive = "authsvc/v1/derive "
)

// Ring holds the secrets of a deployment, newest first. The first seals and
// signs; all open and verify, which is how a secret is rotated: put the new one
// in front, and drop the old one when nothing made with it is alive any more.
type Ring struct {
	opaque
	secrets []string
}

// NewRing makes a ring of secrets, newest first. At least one is needed and none
// may be empty; whether they are strong enough is judged elsewhere. A secret
// that is given twice counts once. Errors name a secret by its position only.
func NewRing(secrets ...string) (*Ring, error) {
	if len(secrets) == 0 {
		return nil, errors.New("seal: no secret")
	}
	r := new(Ring)
	for i, secret := range secrets {
		if secret == "" {
			return nil, fmt.Errorf("seal: secret %d is empty", i+1)
		}
		// In FIPS 140-only mode HKDF refuses short secrets. Asking here lets
		// every later derivation rely on it.
		if _, err := hkdf.Key(sha256.New, []byte(secret), nil, infoSeal, 1); err != nil {
			return nil, fmt.Errorf("seal: secret %d: %w", i+1, err)
		}
		if !slices.Contains(r.secrets, secret) {
			r.secrets = append(r.secrets, secret)
		}
	}
	return r, nil
}

// Sealer returns the sealer of our own token format for a purpose: A256GCM, with
// a "kid" that names the key. Only headers that this ring would write itself are
// accepted, byte for byte, so at most one key is ever tried.
//
// The purpose is not secret and need not be random. It should say all that must
// keep two tokens apart: what the token is for and, where the same secret may
// serve several deployments or cookies, which one.
func (r *Ring) Sealer(purpose string) *Sealer {
	s := new(Sealer)
	for i, secret := range r.secrets {
		kid := b64.EncodeToString(derive(secret, "", infoKID+purpose, 9))
		raw := derive(secret, "", infoSeal+purpose, a256gcm.keySize)
		s.keys = append(s.keys, newKey(a256gcm, raw, kid, i > 0))
	}
	return s
}

// Derive returns size bytes for a purpose from each secret, newest first, at most
// 255·32. They have nothing to do with the keys of a [Sealer], [MAC] or [Box] for
// a purpose of the same name.
func (r *Ring) Derive(purpose string, size int) (list [][]byte) {
	for _, secret := range r.secrets {
		list = append(list, derive(secret, "", infoDerive+purpose, size))
	}
	return list
}

// derive returns size bytes of HKDF-SHA256 output. It cannot fail: NewRing has
// tried the secret, and sizes are small constants.
func derive(secret, salt, info string, size int) []byte {
	raw, err := hkdf.Key(sha256.New, []byte(secret), []byte(salt), info, size)
	if err != nil {
		panic("seal: " + err.Error())
	}
	return raw
}
