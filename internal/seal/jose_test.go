package seal

import (
	"crypto"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// The tests below check the formats against go-jose in both directions. We share its
// composition of A256CBC-HS512, which RFC 7518 B.3 checks.

func joseSeal(t *testing.T, enc jose.ContentEncryption, key []byte, kid string, opts *jose.EncrypterOptions, plaintext string) string {
	t.Helper()
	encrypter, err := jose.NewEncrypter(enc, jose.Recipient{Algorithm: jose.DIRECT, Key: key, KeyID: kid}, opts)
	if err != nil {
		t.Fatal(err)
	}
	object, err := encrypter.Encrypt([]byte(plaintext))
	if err != nil {
		t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestJOSE(t *testing.T) {
	t.Parallel()
	const cookie, secret = "__Secure-authjs.session-token", "s3cret"
	r := ring(t, secret)
	// RFC 7638 §3: the required members of the key, sorted, without spaces. go-jose can
	// write symmetric keys, but cannot hash them.
	thumbprint := func(key []byte, hash crypto.Hash) string {
		var jwk struct {
			K   string `json:"k"`
			Kty string `json:"kty"`
		}
		text, err := jose.JSONWebKey{Key: key}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &jwk); err != nil {
			t.Fatal(err)
		}
		if text, err = json.Marshal(jwk); err != nil {
			t.Fatal(err)
		}
		h := hash.New()
		h.Write(text)
		return b64.EncodeToString(h.Sum(nil))
	}
	v5CBC := authJSV5Key(secret, cookie, a256cbcHS512)
	v5GCM := authJSV5Key(secret, cookie, a256gcm)
	tests := []struct {
		name   string
		sealer *Sealer
		enc    jose.ContentEncryption
		key    []byte
		kid    string
		seals  bool // the sealer seals its own tokens with key
	}{
		{"v4", r.NextAuthV4(""), jose.A256GCM, nextAuthV4Key(secret, ""), "", true},
		{"v4 salt", r.NextAuthV4("next-auth.state"), jose.A256GCM, nextAuthV4Key(secret, "next-auth.state"), "", true},
		{"v5", r.AuthJSV5(cookie), jose.A256CBC_HS512, v5CBC, thumbprint(v5CBC, crypto.SHA512), true},
		{"v5 no kid", r.AuthJSV5(cookie), jose.A256CBC_HS512, v5CBC, "", true},
		{"v5 GCM", r.AuthJSV5(cookie), jose.A256GCM, v5GCM, thumbprint(v5GCM, crypto.SHA256), false},
		{"v5 GCM no kid", r.AuthJSV5(cookie), jose.A256GCM, v5GCM, "", false},
		{"own", r.Sealer("p"), jose.A256GCM, derive(secret, "", infoSeal+"p", 32), r.Sealer("p").keys[0].header.kid, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, plaintext := range []string{"", "x", v4SessionPlaintext, strings.Repeat("x", 5000)} {
				wantOpen(t, test.sealer, joseSeal(t, test.enc, test.key, test.kid, nil, plaintext), plaintext, false)
				if !test.seals {
					continue
				}
				object, err := jose.ParseEncryptedCompact(mustSeal(t, test.sealer, plaintext),
					[]jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{test.enc})
				if err != nil {
					t.Fatal(err)
				}
				if test.kid != "" && object.Header.KeyID != test.kid {
					t.Errorf("kid %s, want %s", object.Header.KeyID, test.kid)
				}
				got, err := object.Decrypt(test.key)
				if err != nil || string(got) != plaintext {
					t.Errorf("go-jose opens %q, %v; want %q", got, err, plaintext)
				}
			}
		})
	}
}

func TestJOSEOptions(t *testing.T) {
	t.Parallel()
	s := ring(t, "s3cret").NextAuthV4("")
	key := nextAuthV4Key("s3cret", "")
	typed := (&jose.EncrypterOptions{}).WithType("JWT")
	wantOpen(t, s, joseSeal(t, jose.A256GCM, key, "", typed, "x"), "x", false)
	zipped := &jose.EncrypterOptions{Compression: jose.DEFLATE}
	wantRefused(t, s, joseSeal(t, jose.A256GCM, key, "", zipped, strings.Repeat("x", 1<<20)))
	nested := (&jose.EncrypterOptions{}).WithContentType("JWT")
	wantRefused(t, s, joseSeal(t, jose.A256GCM, key, "", nested, "x"))
}
