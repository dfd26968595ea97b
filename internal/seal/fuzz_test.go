package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"strings"
	"testing"

	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

// FuzzOpen checks the essential property: a token that opens is, byte for byte, the
// token that an independent implementation seals with one of our keys for this purpose,
// under the same header and IV. Open answers everything else with ErrOpen and no other
// result.
func FuzzOpen(f *testing.F) {
	secrets := []string{"s3cret", "older"}
	r := ring(f, secrets...)
	sealers := []struct {
		*Sealer
		key func(secret string, enc *encryption) []byte
	}{
		{r.Sealer("p"), func(secret string, _ *encryption) []byte { return derive(secret, "", infoSeal+"p", 32) }},
		{r.NextAuthV4(""), func(secret string, _ *encryption) []byte { return nextAuthV4Key(secret, "") }},
		{r.AuthJSV5("c"), func(secret string, enc *encryption) []byte { return authJSV5Key(secret, "c", enc) }},
	}
	for _, s := range sealers {
		addSeeds(f, s.Sealer)
	}
	f.Add(v4Session)
	f.Add(v4State)
	f.Add("....")
	f.Add(strings.Repeat(".", 100))

	f.Fuzz(func(t *testing.T, token string) {
		for _, s := range sealers {
			plaintext, stale, err := s.Open(token)
			if err != nil {
				if err != ErrOpen || plaintext != nil || stale {
					t.Errorf("Open(%q) = %q, %t, %v", token, plaintext, stale, err)
				}
				continue
			}
			same := false
			for i, secret := range secrets {
				if reseal(t, s.key, secret, token, plaintext) == token {
					same = stale == (i > 0)
				}
			}
			if !same {
				t.Errorf("%q opens to %q, stale %t, but is not what sealing gives", token, plaintext, stale)
			}
		}
	})
}

// addSeeds adds valid tokens of s and near misses.
func addSeeds(f *testing.F, s *Sealer) {
	for _, plaintext := range []string{"", "0123456789012345", v4SessionPlaintext} {
		token := mustSeal(f, s, plaintext)
		f.Add(token)
		f.Add(token + "=")
		f.Add(token[:len(token)-1] + "\n")
	}
	for i := range s.keys {
		enc := s.keys[i].header.enc.name
		for _, members := range []string{
			``, `,"kid":"x"`, `,"typ":"JWT"`, `,"zip":"DEF"`, `,"alg":"dir"`, `,"jwk":{}`, `,"crit":["exp"]`, `,`,
		} {
			f.Add(forge(&s.keys[i], `{"alg":"dir","enc":"`+enc+`"`+members+`}`))
		}
		f.Add(forge(&s.keys[i], `{"alg":"none","enc":"`+enc+`"}`))
	}
}

// reseal encrypts plaintext again under the header and IV of token.
func reseal(t *testing.T, key func(string, *encryption) []byte, secret, token string, plaintext []byte) string {
	parts := strings.Split(token, ".")
	text, err := b64.DecodeString(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	var h struct{ Alg, Enc string }
	if err := json.Unmarshal(text, &h); err != nil || h.Alg != "dir" {
		t.Fatalf("header %s: %v", text, err)
	}
	iv, err := b64.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	var aead cipher.AEAD
	tagSize := 16
	switch h.Enc {
	case "A256GCM":
		block, _ := aes.NewCipher(key(secret, a256gcm))
		aead, err = cipher.NewGCM(block)
	case "A256CBC-HS512":
		tagSize = 32
		aead, err = josecipher.NewCBCHMAC(key(secret, a256cbcHS512), aes.NewCipher)
	default:
		t.Fatalf("header %s", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	sealed := aead.Seal(nil, iv, plaintext, []byte(parts[0]))
	body, tag := sealed[:len(sealed)-tagSize], sealed[len(sealed)-tagSize:]
	return parts[0] + ".." + parts[2] + "." + b64.EncodeToString(body) + "." + b64.EncodeToString(tag)
}
