// Package tokenclaims reads the claims of a session token that the engine itself
// reads, each by its exact name and at most once.
package tokenclaims

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"authsvc/internal/seal/sessionshape"
)

// Claims are the claims that the engine itself reads.
type Claims struct {
	Name     string               `json:"name"`
	Email    string               `json:"email"`
	Picture  string               `json:"picture"`
	Subject  string               `json:"sub"`
	ID       string               `json:"jti"`
	SID      string               `json:"sid"`
	Provider string               `json:"provider"`
	Began    float64              `json:"auth_time"`
	Proved   float64              `json:"authsvc_proved"` // when the person last proved who they are; 0: not known
	AMR      sessionshape.Methods `json:"amr"`
	ACR      sessionshape.ACR     `json:"acr"`
	Epoch    *int64               `json:"authsvc_epoch"` // of the user, when the session began here

	// VerifiedEmail is the address that was proved when the session began. It is
	// not a flag: whoever else changes the claim email would change what that
	// says.
	VerifiedEmail string `json:"authsvc_email_verified"`
	// Kept has what stays with the session, {"claims":{…},"columns":{…}}, under
	// one name, so that nothing in it is taken for a claim of NextAuth.js.
	Kept rawObject `json:"authsvc_session"`

	// Of a session that another program began: its token may have claims of the
	// application's own by the names of ours.
	AdoptedSID  string  `json:"authsvc_sid"`
	AdoptedTime float64 `json:"authsvc_auth_time"`

	Issued  float64 `json:"iat"`
	Expires float64 `json:"exp"`
	NotYet  float64 `json:"nbf"`
}

// engineClaims are the JSON names of Claims.
var engineClaims = []string{"name", "email", "picture", "sub", "jti", "sid", "provider", "auth_time", "amr", "acr", "iat", "exp", "nbf",
	"authsvc_epoch", "authsvc_email_verified", "authsvc_session", "authsvc_sid", "authsvc_auth_time", "authsvc_proved"}

// A rawObject is a JSON object without spaces, or empty.
type rawObject string

// UnmarshalJSON keeps no other kind of value.
func (o *rawObject) UnmarshalJSON(b []byte) error {
	var plain bytes.Buffer
	if err := json.Compact(&plain, b); err != nil {
		return err
	}
	if b = plain.Bytes(); b[0] == '{' {
		*o = rawObject(b)
	}
	return nil
}

// errDuplicateClaim refuses claims that readers could take in two ways (RFC 7519
// §4).
var errDuplicateClaim = errors.New("a claim is there twice")

// Decode reads the claims by their exact names, each at most once.
// encoding/json takes "SUB" for "sub", and an application may well keep a claim
// of its own by such a name; of two it takes the last.
//
// shared: other programs make tokens under the same key. Of theirs only what
// NextAuth.js itself writes is read, whatever else they hold.
func (c *Claims) Decode(plain []byte, shared bool) error {
	if c.scan(string(plain)) {
		c.dropForeignClaims(shared)
		return nil
	}
	*c = Claims{}
	return c.decodeAny(plain, shared)
}

// decodeAny is decode of any JSON.
func (c *Claims) decodeAny(plain []byte, shared bool) error {
	odd, twice := claimNames(plain)
	switch {
	case twice:
		return errDuplicateClaim
	case !odd:
		err := json.Unmarshal(plain, c)
		if wrongType := new(json.UnmarshalTypeError); !shared || !errors.As(err, &wrongType) {
			c.dropForeignClaims(shared)
			return err
		}
	}
	exact, err := exactClaims(plain)
	if err != nil {
		return err
	}
	if shared {
		dropForeign(exact)
	}
	raw, err := json.Marshal(exact)
	if err != nil {
		return err
	}
	*c = Claims{}
	err = json.Unmarshal(raw, c)
	c.dropForeignClaims(shared)
	return err
}

// dropForeignClaims clears fields that another program or the application has
// set, unless this engine made or adopted the token.
func (c *Claims) dropForeignClaims(shared bool) {
	switch {
	case c.AdoptedSID != "":
		c.SID, c.Began, c.Proved, c.Provider, c.Epoch, c.AMR, c.VerifiedEmail, c.Kept = c.AdoptedSID, c.AdoptedTime, 0, "", nil, "", "", ""
	case c.Epoch == nil && shared:
		c.SID, c.Began, c.Proved, c.Provider, c.AMR, c.VerifiedEmail, c.Kept = "", 0, 0, "", "", "", ""
	}
	c.checkMethods()
}

// dropForeign removes the claims that an application may have of its own, where
// they are of another type than the engine's. In a token that this engine made
// only those of the user are the application's.
func dropForeign(claims map[string]json.RawMessage) {
	texts, numbers := []string{"name", "email", "picture"}, []string{"authsvc_epoch"}
	if !isNumber(claims["authsvc_epoch"]) {
		texts = append(texts, "sid", "provider", "authsvc_sid", "authsvc_email_verified")
		numbers = append(numbers, "auth_time", "authsvc_auth_time", "authsvc_proved")
	}
	for _, name := range texts {
		if raw := claims[name]; len(raw) > 0 && raw[0] != '"' {
			delete(claims, name)
		}
	}
	for _, name := range numbers {
		if !isNumber(claims[name]) {
			delete(claims, name)
		}
	}
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// exactClaims are the members of a JSON object that have the very name of a
// claim of the engine's, escapes resolved.
func exactClaims(plain []byte) (map[string]json.RawMessage, error) {
	var all json.RawMessage
	if err := json.Unmarshal(plain, &all); err != nil { // more than one value, too
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("the claims are not an object")
	}
	exact := map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		n, _ := name.(string)
		if _, there := exact[n]; there {
			return nil, errDuplicateClaim
		}
		if slices.Contains(engineClaims, n) {
			exact[n] = v
		}
	}
	return exact, nil
}

// claimNames reports whether a member of the JSON object could be taken for
// one of the engine's claims without having its exact name, and whether one of
// these names occurs twice. Invalid JSON is left to the decoder.
func claimNames(object []byte) (odd, twice bool) {
	seen := 0               // a bit for each of engineClaims
	depth, name := 0, false // name: the next string is a member's name
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{':
			depth++
			name = depth == 1
		case '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case '"':
			end := stringEnd(object, i+1)
			if name {
				own := string(object[i+1 : end])
				bit := claimBit(own)
				odd = odd || bit == 0 && ambiguousName(own)
				twice = twice || seen&bit != 0
				seen |= bit
			}
			i, name = end, false
		}
	}
	return odd, twice
}

// claimBit is the bit of a claim of the engine's, 0 for all other names.
func claimBit(name string) int {
	return 1 << (slices.Index(engineClaims, name) + 1) >> 1
}

// stringEnd is the index of the quote that ends a JSON string.
func stringEnd(b []byte, i int) int {
	for i < len(b) && b[i] != '"' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	return min(i, len(b))
}

// ambiguousName names are escaped, not ASCII (ſ folds to s), or differ from a
// claim of ours in case only.
func ambiguousName(name string) bool {
	return !isPlainName(name) || strings.Contains(name, `\`) || foldsToClaim(name)
}

// PlausibleTime keeps hostile numbers out of time arithmetic.
func PlausibleTime(seconds float64) bool {
	return seconds >= 0 && seconds < 1<<40 && !math.IsNaN(seconds)
}

// FromSeconds is a time as claims have it (RFC 7519 §2, NumericDate).
func FromSeconds(s float64) time.Time { return time.UnixMilli(int64(math.Round(s * 1000))) }

// ProtectedNames returns the claims that a JWT callback cannot change.
func (c *Claims) ProtectedNames() []string {
	names := []string{"sub", "iat", "exp", "jti", "authsvc_epoch", "authsvc_email_verified", "authsvc_session", "authsvc_sid", "authsvc_auth_time", "authsvc_proved"}
	if c.SID != "" && c.AdoptedSID == "" {
		names = append(names, "sid", "auth_time", "provider", "amr", "acr")
	}
	return names
}

// Proves reports whether an address is the one that was proved.
func (c *Claims) Proves(email string) bool { return email != "" && c.VerifiedEmail == email }

// SessionID names the session. NextAuth.js gives each of its tokens a jti.
func (c *Claims) SessionID() string {
	if c.SID != "" {
		return c.SID
	}
	return c.ID
}

// checkMethods forgets amr unless acr is what it amounts to: by these names
// applications have had claims of their own, which count for nothing.
func (c *Claims) checkMethods() {
	if string(c.ACR) != c.AMR.Level() {
		c.AMR, c.ACR = "", ""
	}
}
