// Package uuid makes UUIDs (RFC 9562).
package uuid

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// V7 is a UUID that begins with the time in milliseconds (§5.7), so that
// those made one after the other are neighbours in an index.
func V7() string {
	u := random()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(u[:6], ms[2:])
	u[6] = u[6]&0x0f | 0x70
	return format(u)
}

// V4 is a random UUID (§5.4).
func V4() string {
	u := random()
	u[6] = u[6]&0x0f | 0x40
	return format(u)
}

// random has the variant of RFC 9562 §4.1 and no version.
func random() (u [16]byte) {
	rand.Read(u[:]) //nolint:errcheck // never fails since Go 1.24
	u[8] = u[8]&0x3f | 0x80
	return u
}

func format(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
