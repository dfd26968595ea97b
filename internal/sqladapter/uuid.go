package sqladapter

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
)

// canonical is a UUID as databases return it, RFC 9562 §4.
var canonical = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func isUUID(id string) bool { return canonical.MatchString(id) }

// newUUID is a random UUID, RFC 9562 §5.4.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	s := hex.EncodeToString(u[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
