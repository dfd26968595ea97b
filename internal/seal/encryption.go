package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"

	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

// encryption is a content encryption algorithm of RFC 7518 §5. Sizes are in bytes.
//
// Its AEADs draw a fresh IV for every message and put it in front of the ciphertext, as
// [cipher.NewGCMWithRandomNonce] does; callers pass a nil nonce. No caller can repeat
// an IV, and GCM works in FIPS 140-only mode.
type encryption struct {
	name    string // header member "enc"
	keySize int
	ivSize  int
	tagSize int
	inPlace bool // Open can write over the ciphertext
	aead    func(key []byte) (cipher.AEAD, error)
}

// a256gcm is AES-256 in Galois/Counter Mode, RFC 7518 §5.3.
var a256gcm = &encryption{
	name:    "A256GCM",
	keySize: 32,
	ivSize:  12,
	tagSize: 16,
	inPlace: true,
	aead: func(key []byte) (cipher.AEAD, error) {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCMWithRandomNonce(block)
	},
}

// a256cbcHS512 is AES-256-CBC with HMAC-SHA-512, RFC 7518 §5.2.5. go-jose, which the
// OpenID Connect code needs anyway, combines the two. It compares the tag in constant
// time before it looks at the padding. A second implementation would only be a second
// place to get that wrong.
var a256cbcHS512 = &encryption{
	name:    "A256CBC-HS512",
	keySize: 64,
	ivSize:  16,
	tagSize: 32,
	aead: func(key []byte) (cipher.AEAD, error) {
		aead, err := josecipher.NewCBCHMAC(key, aes.NewCipher)
		return randomIV{aead}, err
	},
}

// encryptionNamed returns the algorithm that an "enc" member names, or nil.
func encryptionNamed(name string) *encryption {
	switch name {
	case a256gcm.name:
		return a256gcm
	case a256cbcHS512.name:
		return a256cbcHS512
	}
	return nil
}

// randomIV wraps an AEAD that takes an IV into one that draws it.
type randomIV struct{ aead cipher.AEAD }

func (r randomIV) NonceSize() int { return 0 }

func (r randomIV) Overhead() int { return r.aead.NonceSize() + r.aead.Overhead() }

func (r randomIV) Seal(dst, _, plaintext, aad []byte) []byte {
	iv := make([]byte, r.aead.NonceSize())
	rand.Read(iv) // never fails; see its documentation
	return r.aead.Seal(append(dst, iv...), iv, plaintext, aad)
}

// Open requires sealed to hold at least an IV; decode ensures that.
func (r randomIV) Open(dst, _, sealed, aad []byte) ([]byte, error) {
	n := r.aead.NonceSize()
	return r.aead.Open(dst, sealed[:n], sealed[n:], aad)
}
