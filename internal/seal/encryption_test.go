package seal

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"strings"
	"testing"

	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

// TestA256CBCHS512Vector uses the test vector of RFC 7518 appendix B.3.
func TestA256CBCHS512Vector(t *testing.T) {
	t.Parallel()
	raw := make([]byte, 64)
	for i := range raw {
		raw[i] = byte(i)
	}
	plaintext := []byte("A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy without inconvenience")
	aad := []byte("The second principle of Auguste Kerckhoffs")
	iv := unhex(t, "1af38c2dc2b96ffdd86694092341bc04")
	ciphertext := unhex(t, `4affaaadb78c31c5da4b1b590d10ffbd 3dd8d5d302423526912da037ecbcc7bd
		822c301dd67c373bccb584ad3e9279c2 e6d12a1374b77f077553df829410446b
		36ebd97066296ae6427ea75c2e0846a1 1a09ccf5370dc80bfecbad28c73f09b3
		a3b75e662a2594410ae496b2e2e6609e 31e6e02cc837f053d21f37ff4f51950b
		be2638d09dd7a4930930806d0703b1f6`)
	tag := unhex(t, "4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5")

	aead, err := a256cbcHS512.aead(raw)
	if err != nil {
		t.Fatal(err)
	}
	sealed := bytes.Join([][]byte{iv, ciphertext, tag}, nil)
	got, err := aead.Open(nil, nil, sealed, aad)
	if err != nil || !bytes.Equal(got, plaintext) {
		t.Errorf("Open = %q, %v", got, err)
	}
	inner, err := josecipher.NewCBCHMAC(raw, aes.NewCipher)
	if err != nil {
		t.Fatal(err)
	}
	if got := inner.Seal(nil, iv, plaintext, aad); !bytes.Equal(got, sealed[len(iv):]) {
		t.Errorf("Seal = %x, want %x", got, sealed[len(iv):])
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEncryptions checks the AEADs against encryption: the sizes are correct, the IV
// comes first, and Seal keeps dst.
func TestEncryptions(t *testing.T) {
	t.Parallel()
	for _, enc := range []*encryption{a256gcm, a256cbcHS512} {
		if encryptionNamed(enc.name) != enc {
			t.Errorf("%s is not found by its name", enc.name)
		}
		aead, err := enc.aead(make([]byte, enc.keySize))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := enc.aead(make([]byte, enc.keySize+1)); err == nil {
			t.Errorf("%s takes a key that is too long", enc.name)
		}
		if aead.NonceSize() != 0 {
			t.Errorf("%s: nonce of %d bytes, want none", enc.name, aead.NonceSize())
		}
		sealed := aead.Seal([]byte("dst"), nil, []byte("plaintext"), []byte("aad"))
		if !bytes.HasPrefix(sealed, []byte("dst")) {
			t.Errorf("%s: Seal lost dst", enc.name)
		}
		sealed = sealed[3:]
		if min, max := enc.ivSize+9+enc.tagSize, 9+aead.Overhead(); len(sealed) < min || len(sealed) > max {
			t.Errorf("%s: %d bytes, want %d to %d", enc.name, len(sealed), min, max)
		}
		got, err := aead.Open([]byte("dst"), nil, sealed, []byte("aad"))
		if err != nil || string(got) != "dstplaintext" {
			t.Errorf("%s: Open = %q, %v", enc.name, got, err)
		}
		if _, err := aead.Open(nil, nil, sealed, []byte("AAD")); err == nil {
			t.Errorf("%s: other additional data accepted", enc.name)
		}
	}
	for _, name := range []string{"", "A128GCM", "A192GCM", "a256gcm", "A128CBC-HS256", "A256CBC-HS512 "} {
		if encryptionNamed(name) != nil {
			t.Errorf("%q has an encryption", name)
		}
	}
}
