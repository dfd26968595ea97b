package seal

import "strings"

// A Box encrypts text of any length for storage and binds it to the place where it is
// stored: a value that is moved to another place does not open. [Ring.Box] makes one.
//
// A sealed value is KID.BASE64URL. KID names the key; the rest encodes a random nonce
// of 12 bytes, the AES-256-GCM ciphertext and a tag of 16 bytes. The key id and the
// place are authenticated with the text.
type Box struct {
	opaque
	keys []key
	kids []string
}

// Box returns the box for a purpose. Its keys are independent of the keys of a [Sealer]
// or [MAC] for a purpose of the same name.
func (r *Ring) Box(purpose string) *Box {
	b := new(Box)
	for i, secret := range r.secrets {
		b.kids = append(b.kids, b64.EncodeToString(derive(secret, "", infoBoxKID+purpose, 9)))
		b.keys = append(b.keys, newKey(a256gcm, derive(secret, "", infoBox+purpose, a256gcm.keySize), "", i > 0))
	}
	return b
}

// Seal encrypts text with the first secret. place is a list of strings, as in
// [MAC.Sum].
func (b *Box) Seal(text string, place ...string) string {
	sealed := b.keys[0].aead.Seal(nil, nil, []byte(text), b.bound(0, place)) // #nosec G407 -- the AEAD draws its nonce
	return b.kids[0] + "." + b64.EncodeToString(sealed)
}

// Open returns the text of a value that was sealed for the same place. stale is true if
// a secret other than the first sealed it. Every failure is [ErrOpen].
func (b *Box) Open(sealed string, place ...string) (text string, stale bool, err error) {
	kid, body, _ := strings.Cut(sealed, ".")
	raw, err := b64.DecodeString(body)
	if err != nil || len(raw) < a256gcm.ivSize+a256gcm.tagSize {
		return "", false, ErrOpen
	}
	for i := range b.keys {
		if b.kids[i] != kid {
			continue
		}
		if plain, err := b.keys[i].aead.Open(nil, nil, raw, b.bound(i, place)); err == nil {
			return string(plain), i > 0, nil
		}
	}
	return "", false, ErrOpen
}

// bound returns the additional authenticated data: the key id and the place.
func (b *Box) bound(key int, place []string) []byte {
	return appendFrame(nil, append([]string{b.kids[key]}, place...))
}
