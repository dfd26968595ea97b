package seal

import (
	"encoding/base64"
	"strings"
)

// MaxToken is the longest token that Seal returns and Open accepts, in bytes. It is
// more than five session cookies hold.
const MaxToken = 24 << 10

// b64 is base64url without padding (RFC 7515 §2). It requires trailing bits to be zero.
// It still skips CR and LF; see split.
var b64 = base64.RawURLEncoding.Strict()

// compact is a token in the compact serialization of RFC 7516 §7.1, cut at its dots. It
// has no field for the encrypted key, which is always empty with "dir".
type compact struct {
	header, iv, ciphertext, tag string
}

// split cuts a token at its dots. Together, split and b64 accept exactly one spelling
// of a token.
func split(token string) (compact, bool) {
	if len(token) > MaxToken || strings.Count(token, ".") != 4 {
		return compact{}, false
	}
	// Package base64 ignores line breaks anywhere.
	if strings.IndexByte(token, '\n') >= 0 || strings.IndexByte(token, '\r') >= 0 {
		return compact{}, false
	}
	var c compact
	var encryptedKey, rest string
	c.header, rest, _ = strings.Cut(token, ".")
	encryptedKey, rest, _ = strings.Cut(rest, ".")
	c.iv, rest, _ = strings.Cut(rest, ".")
	c.ciphertext, c.tag, _ = strings.Cut(rest, ".")
	return c, encryptedKey == ""
}

// decode returns IV, ciphertext and tag, concatenated, if IV and tag have the sizes of
// enc.
func (c compact) decode(enc *encryption) ([]byte, bool) {
	if len(c.iv) != b64.EncodedLen(enc.ivSize) || len(c.tag) != b64.EncodedLen(enc.tagSize) {
		return nil, false
	}
	sealed := make([]byte, 0, enc.ivSize+b64.DecodedLen(len(c.ciphertext))+enc.tagSize)
	for _, part := range [...]string{c.iv, c.ciphertext, c.tag} {
		var err error
		if sealed, err = b64.AppendDecode(sealed, []byte(part)); err != nil {
			return nil, false
		}
	}
	return sealed, true
}

// join makes a token from header, which is already encoded, and from sealed: IV,
// ciphertext and tag, concatenated as decode returns them.
func join(header, sealed []byte, enc *encryption) string {
	body := len(sealed) - enc.tagSize
	const slack = 8 // four dots, and rounding up three parts instead of one
	token := make([]byte, 0, len(header)+b64.EncodedLen(len(sealed))+slack)
	token = append(token, header...)
	token = append(token, ".."...)
	token = b64.AppendEncode(token, sealed[:enc.ivSize])
	token = append(token, '.')
	token = b64.AppendEncode(token, sealed[enc.ivSize:body])
	token = append(token, '.')
	token = b64.AppendEncode(token, sealed[body:])
	return string(token)
}
