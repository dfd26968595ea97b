package seal

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxHeader is the largest protected header that parseHeader reads, in bytes of JSON.
const maxHeader = 512

// header is a JOSE header (RFC 7516 §4), reduced to the members that choose a key;
// "alg" is always "dir".
type header struct {
	enc    *encryption
	kid    string
	hasKID bool
}

// encode returns the header as the first part of a token. The members have the order of
// the JavaScript implementations. A kid is base64url and needs no escaping.
func (h header) encode() string {
	text := `{"alg":"dir","enc":"` + h.enc.name + `"`
	if h.hasKID {
		text += `,"kid":"` + h.kid + `"`
	}
	return b64.EncodeToString([]byte(text + "}"))
}

// selects reports whether k may have sealed a token with this header. If both have a
// kid, the kid decides.
func (h header) selects(k *key) bool {
	if h.enc != k.header.enc {
		return false
	}
	return !h.hasKID || !k.header.hasKID || h.kid == k.header.kid
}

// parseHeader reads a protected header that another implementation wrote: "alg" and
// "enc", optionally "kid" and "typ", in any order. RFC 7516 §4 ignores unknown members;
// parseHeader is stricter and refuses them. That excludes compression ("zip"),
// extensions ("crit"), and keys or references to keys ("jwk", "jku", "x5u", …).
func parseHeader(segment string) (header, bool) {
	if len(segment) > b64.EncodedLen(maxHeader) {
		return header{}, false
	}
	raw, err := b64.DecodeString(segment)
	if err != nil {
		return header{}, false
	}
	members, ok := stringMembers(raw)
	if !ok || members["alg"] != "dir" {
		return header{}, false
	}
	h := header{enc: encryptionNamed(members["enc"])}
	if h.enc == nil {
		return header{}, false
	}
	for name, value := range members {
		switch name {
		case "alg", "enc":
		case "kid":
			h.kid, h.hasKID = value, true
		case "typ":
			// RFC 7519 §5.1 recommends the spelling "JWT" in capitals.
			if value != "JWT" {
				return header{}, false
			}
		default:
			return header{}, false
		}
	}
	return h, true
}

// stringMembers reads a JSON object whose values are all strings. It refuses duplicate
// names (RFC 7516 §4) and compares them after unescaping; json.Unmarshal would use the
// last one.
func stringMembers(raw []byte) (map[string]string, bool) {
	// The token reader is lenient about commas and colons, so json.Valid checks the
	// syntax first. The loop below checks only the kinds and the names.
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	members := make(map[string]string, 4)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		value, err := dec.Token()
		if err != nil {
			return nil, false
		}
		n, _ := name.(string)
		v, isString := value.(string)
		if _, duplicate := members[n]; duplicate || !isString {
			return nil, false
		}
		members[n] = v
	}
	return members, true
}
