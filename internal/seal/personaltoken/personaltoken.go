// Package personaltoken makes personal access tokens and recognizes them by their form:
// the prefix asv1_, 256 random bits as 43 characters of base62, and the CRC-32 (IEEE)
// of the preceding text as 6 more characters. Source code scanners can find a token
// without asking a server, and a mistyped token is rejected without a store.
package personaltoken

import (
	"hash/crc32"
	"math/big"
	"strings"

	"authsvc/internal/seal"
)

// Pattern is the regular expression (RE2, PCRE) with which scanners find tokens.
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

// of returns the token for the given random bytes.
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

// checksum returns the CRC-32 of text in base62, most significant digit first.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, check)
	for i := check - 1; i >= 0; i-- {
		out[i] = digits[sum%base]
		sum /= base
	}
	return string(out)
}

// Prefixed reports whether text has the prefix of a token, valid or not.
func Prefixed(text string) bool { return strings.HasPrefix(text, prefix) }

// WellFormed reports whether token has the form of a token and a correct checksum. The
// checksum is not a secret: anyone can compute it.
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
