package seal

import (
	"errors"
	"fmt"
)

// ErrOpen is the one error of [Sealer.Open]. What was wrong with a token helps
// nobody but the one who forged it.
var ErrOpen = errors.New("seal: token does not open")

// Sealer turns bytes into tokens that only the holder of the secret can read or
// make, and back. It is made by a [Ring], for one purpose.
//
// IVs are random. With A256GCM one key may therefore seal 2³² tokens, after
// which the odds of a repeated IV reach 2⁻³² (NIST SP 800-38D §8.3): one
// hundred tokens a second for over a year. Busier deployments rotate the secret
// sooner.
type Sealer struct {
	opaque
	keys    []key // keys[0] seals
	foreign bool  // headers that we would not write ourselves are parsed
}

// Seal encrypts plaintext with the first secret and returns a compact JWE. The
// only error is a token longer than [MaxToken], which Open would refuse. The
// length of the plaintext shows in the length of the token.
func (s *Sealer) Seal(plaintext []byte) (string, error) {
	k := &s.keys[0]
	sealed := k.aead.Seal(nil, nil, plaintext, k.aad) // #nosec G407 -- the AEAD draws its nonce
	token := join(k.aad, sealed, k.header.enc)
	if len(token) > MaxToken {
		return "", fmt.Errorf("seal: token of %d bytes is longer than %d", len(token), MaxToken)
	}
	return token, nil
}

// Open returns the plaintext of a token that was sealed for this purpose. stale
// is true if that was done with a secret that is not the first; the token is as
// good as any, but should be replaced with a fresh one before that secret goes.
// Every failure is [ErrOpen].
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
		// A failure overwrites what it writes to, which other keys still need.
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

// NamesOther reports whether the header of a token names a key that this process
// does not have, such as that of a secret which it does not have yet. The header
// is not authenticated.
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

// readHeader returns what a token's first part says, and its bytes, which are
// the additional authenticated data. Nearly every token bears a header that one
// of our keys writes; then nothing is parsed.
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
