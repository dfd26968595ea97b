package authsvc

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// newID proposes an id for a new record: a UUIDv7 (RFC 9562 §5.7), which sorts
// by time and so keeps index pages together.
func newID() string {
	var u [16]byte
	rand.Read(u[:]) //nolint:errcheck // never fails since Go 1.24
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(u[:6], ms[2:])
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return formatUUID(u)
}

// newUUID4 is a random UUID (RFC 9562 §5.4), as NextAuth.js uses for jti.
func newUUID4() string {
	var u [16]byte
	rand.Read(u[:]) //nolint:errcheck
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return formatUUID(u)
}

func formatUUID(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
