package seal

import "crypto/cipher"

// key is one derived key, ready for use.
type key struct {
	header header // of tokens sealed with this key
	aad    []byte // header, encoded: the first part of the token
	aead   cipher.AEAD
	stale  bool // derived from a secret that is not the first
}

// newKey prepares raw, which has the size that enc asks for; otherwise it
// panics. An empty kid is left out of the header.
func newKey(enc *encryption, raw []byte, kid string, stale bool) key {
	aead, err := enc.aead(raw)
	if err != nil {
		panic("seal: " + err.Error())
	}
	h := header{enc: enc, kid: kid, hasKID: kid != ""}
	return key{header: h, aad: []byte(h.encode()), aead: aead, stale: stale}
}
