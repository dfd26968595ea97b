package seal

import "crypto/cipher"

// key is one derived key, ready to use.
type key struct {
	header header // header of tokens sealed with this key
	aad    []byte // encoded header: the first part of the token
	aead   cipher.AEAD
	stale  bool // derived from a secret other than the first
}

// newKey prepares raw as a key for enc. It panics if raw does not have the size that
// enc requires. An empty kid is left out of the header.
func newKey(enc *encryption, raw []byte, kid string, stale bool) key {
	aead, err := enc.aead(raw)
	if err != nil {
		panic("seal: " + err.Error())
	}
	h := header{enc: enc, kid: kid, hasKID: kid != ""}
	return key{header: h, aad: []byte(h.encode()), aead: aead, stale: stale}
}
