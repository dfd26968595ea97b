// Package personaltoken makes personal access tokens and knows them by their
// form: asv1_, 256 random bits as 43 characters of base62, and the CRC-32 (IEEE)
// of what comes before it as 6 more. Scanners of source code find one without
// asking anybody, and a mistyped one is told apart without a store.
package personaltoken

import (
	"hash/crc32"
	"math/big"
	"strings"

	"authsvc/internal/seal"
)

// Pattern is the regular expression (RE2, PCRE) by which scanners find tokens.
const Pattern = `\basv1_[0-9A-Za-z]{49}\b`

const (
	prefix  = "asv1_"
	secret  = 43 // characters of 256 bits
	check   = 6  // characters of 32 bits
	base    = 62
	digits  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	entropy = 32 // bytes
)

// New returns a new token.
func New() string { return of(seal.Random(entropy)) }

// of is the token of some random bytes.
func of(random []byte) string {
	n, rest, by := new(big.Int).SetBytes(random), new(big.Int), big.NewInt(base)
	text := make([]byte, secret)
	for i := secret - 1; i >= 0; i-- {
		n.QuoRem(n, by, rest)
		text[i] = digits[rest.Int64()]
	}
	token := prefix + string(text)
	return token + checksum(token)
}

// checksum is the CRC-32 of a text in base62, the most significant digit first.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, check)
	for i := check - 1; i >= 0; i-- {
		out[i] = digits[sum%base]
		sum /= base
	}
	return string(out)
}

// Prefixed reports whether a text says of itself that it is a token, good or not.
func Prefixed(text string) bool { return strings.HasPrefix(text, prefix) }

// WellFormed reports whether a text has the form of a token and its checksum.
// The checksum is no secret: everybody can compute it.
func WellFormed(token string) bool {
	if len(token) != len(prefix)+secret+check || !strings.HasPrefix(token, prefix) {
		return false
	}
	for i := len(prefix); i < len(token); i++ {
		if strings.IndexByte(digits, token[i]) < 0 {
			return false
		}
	}
	body := token[:len(token)-check]
	return token[len(body):] == checksum(body)
}
