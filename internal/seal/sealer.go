package seal

import (
	"errors"
	"fmt"
)

// ErrOpen is the only error of [Sealer.Open]. Details about an invalid token would help
// only its forger.
var ErrOpen = errors.New("seal: cannot open the token")

// Sealer turns bytes into tokens and back. Only the holder of the secret can read or
// make these tokens. A [Ring] makes a sealer for one purpose.
//
// IVs are random. With A256GCM one key may therefore seal 2³² tokens: after that, the
// probability of a repeated IV reaches 2⁻³² (NIST SP 800-38D §8.3). That is one hundred
// tokens a second for over a year. Busier deployments must rotate the secret sooner.
type Sealer struct {
	opaque
	keys    []key // keys[0] seals
	foreign bool  // parse headers that we would not write ourselves
}

// Seal encrypts plaintext with the first secret and returns a compact JWE. Its only
// error is a token longer than [MaxToken], which Open would refuse. The length of the
// token reveals the length of the plaintext.
func (s *Sealer) Seal(plaintext []byte) (string, error) {
	k := &s.keys[0]
	sealed := k.aead.Seal(nil, nil, plaintext, k.aad) // #nosec G407 -- the AEAD draws its nonce
	token := join(k.aad, sealed, k.header.enc)
	if len(token) > MaxToken {
		return "", fmt.Errorf("seal: token of %d bytes is longer than %d", len(token), MaxToken)
	}
	return token, nil
}

// Open returns the plaintext of a token that was sealed for this purpose. stale is true
// if a secret other than the first sealed it: the token is valid, but the caller should
// replace it before that secret is removed. Every failure is [ErrOpen].
func (s *Sealer) Open(token string) (plaintext []byte, stale bool, err error) {
	c, ok := split(token)
	if !ok {
		return nil, false, ErrOpen
	}
	h, aad, ok := s.readHeader(c.header)
	if !ok {
		return nil, false, ErrOpen
	}
	sealed, ok := c.decode(h.enc)
	if !ok {
		return nil, false, ErrOpen
	}
	for i := range s.keys {
		k := &s.keys[i]
		if !h.selects(k) {
			continue
		}
		// A failed Open overwrites its destination, so only the last key may decrypt in
		// place: earlier keys must leave the ciphertext intact.
		var to []byte
		if h.enc.inPlace && i == len(s.keys)-1 {
			to = sealed[:0]
		}
		if plaintext, err := k.aead.Open(to, nil, sealed, aad); err == nil {
			return plaintext, k.stale, nil
		}
	}
	return nil, false, ErrOpen
}

// NamesOther reports whether the header of a token names a key that this process does
// not have, such as a key of a secret that it has not received yet. The header is not
// authenticated.
func (s *Sealer) NamesOther(token string) bool {
	c, ok := split(token)
	if !ok {
		return false
	}
	h, ok := parseHeader(c.header)
	if !ok || !h.hasKID {
		return false
	}
	for i := range s.keys {
		if k := &s.keys[i]; !k.header.hasKID || h.kid == k.header.kid {
			return false
		}
	}
	return true
}

// readHeader returns the header of a token and its encoded bytes, the additional
// authenticated data. Nearly every token has a header that one of our keys writes;
// readHeader then parses nothing.
func (s *Sealer) readHeader(segment string) (header, []byte, bool) {
	for i := range s.keys {
		if k := &s.keys[i]; string(k.aad) == segment {
			return k.header, k.aad, true
		}
	}
	if !s.foreign {
		return header{}, nil, false
	}
	h, ok := parseHeader(segment)
	if !ok {
		return header{}, nil, false
	}
	return h, []byte(segment), true
}
