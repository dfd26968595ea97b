package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// MAC authenticates lists of strings with HMAC-SHA256. Its key serves one purpose.
// [Ring.MAC] makes one.
type MAC struct {
	opaque
	keys []*macKey
}

// MAC returns the authenticator for a purpose. Its keys are independent of the keys of
// a [Sealer] for a purpose of the same name.
func (r *Ring) MAC(purpose string) *MAC {
	m := new(MAC)
	for _, secret := range r.secrets {
		m.keys = append(m.keys, newMACKey(derive(secret, "", infoMAC+purpose, sha256.Size)))
	}
	return m
}

// Sum returns the 32 bytes that authenticate parts, their order and their boundaries:
// Sum("ab", "c") and Sum("a", "bc") differ.
func (m *MAC) Sum(parts ...string) []byte {
	return m.keys[0].appendSum(nil, parts)
}

// Verify reports whether sum authenticates parts under any secret of the ring. For a
// given ring and length of parts it takes constant time, except that it stops at the
// secret that matches. stale is true if that secret is not the first.
func (m *MAC) Verify(sum []byte, parts ...string) (ok, stale bool) {
	var room [sha256.Size]byte
	for i, key := range m.keys {
		if hmac.Equal(sum, key.appendSum(room[:0], parts)) {
			return true, i > 0
		}
	}
	return false, false
}

// A macKey pools HMAC states under one key, because making a state costs more than a
// sum. One goroutine at a time uses a state.
type macKey struct{ states sync.Pool }

type macState struct {
	hash hash.Hash
	buf  []byte
}

func newMACKey(key []byte) *macKey {
	return &macKey{sync.Pool{New: func() any { return &macState{hash: hmac.New(sha256.New, key)} }}}
}

// appendSum appends the sum of the framed parts to to.
func (k *macKey) appendSum(to []byte, parts []string) []byte {
	s := k.states.Get().(*macState)
	defer k.states.Put(s)
	s.buf = appendFrame(s.buf[:0], parts)
	s.hash.Reset()
	s.hash.Write(s.buf)
	return s.hash.Sum(to)
}

// appendFrame appends each part after its length, so that different lists never give
// the same bytes.
func appendFrame(to []byte, parts []string) []byte {
	for _, part := range parts {
		to = binary.BigEndian.AppendUint64(to, uint64(len(part)))
		to = append(to, part...)
	}
	return to
}
