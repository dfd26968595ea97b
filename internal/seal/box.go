package seal

import "strings"

// A Box seals text of any length for keeping, such as in a store, and ties it
// to the place where it is kept: a value moved elsewhere does not open. It is
// made by [Ring.Box].
//
// What it makes is KID.BASE64URL, where KID names the key and the rest is a
// random nonce of 12 bytes, the AES-256-GCM ciphertext and a tag of 16 bytes.
// Key id and place are authenticated with it.
type Box struct {
	opaque
	keys []key
	kids []string
}

// Box returns the box for a purpose. Its keys have nothing to do with those of
// a [Sealer] or [MAC] for a purpose of the same name.
func (r *Ring) Box(purpose string) *Box {
	b := new(Box)
	for i, secret := range r.secrets {
		b.kids = append(b.kids, b64.EncodeToString(derive(secret, "", infoBoxKID+purpose, 9)))
		b.keys = append(b.keys, newKey(a256gcm, derive(secret, "", infoBox+purpose, a256gcm.keySize), "", i > 0))
	}
	return b
}

// Seal seals text under the first secret. place is a list, as with [MAC.Sum].
func (b *Box) Seal(text string, place ...string) string {
	sealed := b.keys[0].aead.Seal(nil, nil, []byte(text), b.bound(0, place)) // #nosec G407 -- the AEAD draws its nonce
	return b.kids[0] + "." + b64.EncodeToString(sealed)
}

// Open returns the text of what was sealed for the same place. stale is true
// if that was done with a secret that is not the first. Every failure is
// [ErrOpen].
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

// bound is what is authenticated beside the text.
func (b *Box) bound(key int, place []string) []byte {
	return appendFrame(nil, append([]string{b.kids[key]}, place...))
}
