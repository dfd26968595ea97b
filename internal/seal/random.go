package seal

import (
	"crypto/rand"
	"crypto/sha256"
)

// Random returns n bytes from the operating system's generator. It never fails:
// the process ends if there is no randomness, see [rand.Read].
func Random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// Token returns 256 random bits as 43 characters of base64url, fit for session
// tokens, state and nonce, and as a PKCE verifier (RFC 7636 §4.1).
func Token() string {
	return b64.EncodeToString(Random(32))
}

// Digest returns the SHA-256 of s as 43 characters of base64url. It stands in
// for random tokens where the token itself must not be kept, and is the S256
// challenge of a PKCE verifier (RFC 7636 §4.2). It hides nothing that can be
// guessed; use a [MAC] for that.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return b64.EncodeToString(sum[:])
}
