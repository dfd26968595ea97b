package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// MAC authenticates lists of strings with HMAC-SHA256, under a key that serves
// one purpose. It is made by [Ring.MAC].
type MAC struct {
	opaque
	keys [][]byte
}

// MAC returns the authenticator for a purpose. Its keys have nothing to do with
// those of a [Sealer] for a purpose of the same name.
func (r *Ring) MAC(purpose string) *MAC {
	m := new(MAC)
	for _, secret := range r.secrets {
		m.keys = append(m.keys, derive(secret, "", infoMAC+purpose, sha256.Size))
	}
	return m
}

// Sum returns the 32 bytes that authenticate parts, in this order and cut up in
// this way: Sum("ab", "c") and Sum("a", "bc") differ.
func (m *MAC) Sum(parts ...string) []byte {
	return hmacSHA256(m.keys[0], frame(parts))
}

// Verify reports whether sum authenticates parts under any secret of the ring,
// in constant time for a given ring and length of parts, except that it stops at
// the secret that matches. stale is true if that is not the first.
func (m *MAC) Verify(sum []byte, parts ...string) (ok, stale bool) {
	message := frame(parts)
	for i, key := range m.keys {
		if hmac.Equal(sum, hmacSHA256(key, message)) {
			return true, i > 0
		}
	}
	return false, false
}

// frame puts the length in front of every part, so that the list can be read
// back from the message and no two lists share one.
func frame(parts []string) []byte {
	size := 0
	for _, part := range parts {
		size += 8 + len(part)
	}
	message := make([]byte, 0, size)
	for _, part := range parts {
		message = binary.BigEndian.AppendUint64(message, uint64(len(part)))
		message = append(message, part...)
	}
	return message
}

func hmacSHA256(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}
