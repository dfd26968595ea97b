package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// Info strings of our own keys. None is a prefix of another. A sealing key, a key id
// and a MAC key therefore never share an info string, whatever their purposes.
const (
	infoSeal   = "authsvc/v1 "
	infoKID    = "authsvc/v1/kid "
	infoMAC    = "authsvc/v1/mac "
	infoBox    = "authsvc/v1/box "
	infoBoxKID = "authsvc/v1/box-kid "
	infoDerive = "authsvc/v1/derive "
)

// Ring holds the secrets of a deployment. The first secret seals and signs; all of them
// open and verify. To rotate a secret, append the new one at every replica, then put it
// in front, and drop the old one when everything made with it has expired.
type Ring struct {
	opaque
	secrets []string
}

// NewRing makes a ring from secrets, newest first. It requires at least one secret and
// no empty ones; the caller checks that they are strong. Repeated secrets count once.
// Errors name a secret only by its position.
func NewRing(secrets ...string) (*Ring, error) {
	if len(secrets) == 0 {
		return nil, errors.New("seal: no secret")
	}
	r := new(Ring)
	for i, secret := range secrets {
		if secret == "" {
			return nil, fmt.Errorf("seal: secret %d is empty", i+1)
		}
		// In FIPS 140-only mode HKDF refuses short secrets. This check lets every later
		// derivation rely on HKDF.
		if _, err := hkdf.Key(sha256.New, []byte(secret), nil, infoSeal, 1); err != nil {
			return nil, fmt.Errorf("seal: secret %d: %w", i+1, err)
		}
		if !slices.Contains(r.secrets, secret) {
			r.secrets = append(r.secrets, secret)
		}
	}
	return r, nil
}

// Sealer returns the sealer of our own token format for a purpose: A256GCM, with a
// "kid" that names the key. It accepts only headers that this ring would write, byte
// for byte, so it tries at most one key for a token.
//
// The purpose need not be secret or random. It should contain everything that must keep
// two tokens apart: the use of the token and, if the same secret may serve several
// deployments or cookies, the deployment or cookie.
func (r *Ring) Sealer(purpose string) *Sealer {
	s := new(Sealer)
	for i, secret := range r.secrets {
		kid := b64.EncodeToString(derive(secret, "", infoKID+purpose, 9))
		raw := derive(secret, "", infoSeal+purpose, a256gcm.keySize)
		s.keys = append(s.keys, newKey(a256gcm, raw, kid, i > 0))
	}
	return s
}

// Derive returns size bytes for a purpose from each secret, newest first. size must be
// at most 255·32. The bytes are independent of the keys of a [Sealer], [MAC] or [Box]
// for a purpose of the same name.
func (r *Ring) Derive(purpose string, size int) (list [][]byte) {
	for _, secret := range r.secrets {
		list = append(list, derive(secret, "", infoDerive+purpose, size))
	}
	return list
}

// derive returns size bytes of HKDF-SHA256 output. It cannot fail: NewRing has tried
// the secret, and sizes are small constants.
func derive(secret, salt, info string, size int) []byte {
	raw, err := hkdf.Key(sha256.New, []byte(secret), []byte(salt), info, size)
	if err != nil {
		panic("seal: " + err.Error())
	}
	return raw
}
