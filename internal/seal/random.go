package seal

import (
	"crypto/rand"
	"crypto/sha256"
)

// Random returns n bytes from the operating system's generator. It never fails: without
// randomness the process ends, see [rand.Read].
func Random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// Token returns 256 random bits as 43 characters of base64url. It is suitable as a
// session token, a state, a nonce, or a PKCE verifier (RFC 7636 §4.1).
func Token() string {
	return b64.EncodeToString(Random(32))
}

// Digest returns the SHA-256 of s as 43 characters of base64url. Use it to store a
// random token without the token itself, and as the S256 challenge of a PKCE verifier
// (RFC 7636 §4.2). It does not hide values that can be guessed; use a [MAC] for those.
func Digest(s string) string { return DigestAfter("", s) }

// DigestAfter returns prefix and the Digest of s, in one string.
func DigestAfter(prefix, s string) string {
	sum := sha256.Sum256([]byte(s))
	var room [64]byte
	return string(b64.AppendEncode(append(room[:0], prefix...), sum[:]))
}
