package seal

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"authsvc/internal/text"
)

// canonical matches a UUID in the form of RFC 9562 §4, in lower case.
var canonical = text.LazyRegexp(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// IsUUID reports whether id is a UUID as UUIDv7 and databases write it.
func IsUUID(id string) bool { return canonical.MatchString(id) }

// UUIDv7 returns a UUID (RFC 9562) that begins with the time in milliseconds (§5.7).
// Consecutive UUIDs are therefore neighbours in an index.
func UUIDv7() string {
	u := randomUUID()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(u[:6], ms[2:])
	u[6] = u[6]&0x0f | 0x70
	return formatUUID(u)
}

// UUIDv4 returns a random UUID (RFC 9562 §5.4).
func UUIDv4() string {
	u := randomUUID()
	u[6] = u[6]&0x0f | 0x40
	return formatUUID(u)
}

// randomUUID returns a UUID with the variant of RFC 9562 §4.1 and no version.
func randomUUID() (u [16]byte) {
	rand.Read(u[:]) //nolint:errcheck // never fails since Go 1.24
	u[8] = u[8]&0x3f | 0x80
	return u
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
