package authsvc

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// sessionClaims are the claims that the engine itself reads.
type sessionClaims struct {
	Name     string  `json:"name"`
	Email    string  `json:"email"`
	Picture  string  `json:"picture"`
	Subject  string  `json:"sub"`
	ID       string  `json:"jti"`
	SID      string  `json:"sid"`
	Provider string  `json:"provider"`
	AuthTime float64 `json:"auth_time"`
	Epoch    *int64  `json:"authsvc_epoch"` // of the user, when the session began here

	// Of a session that another program began: its token may have claims of the
	// application's own by the names of ours.
	AdoptedSID  string  `json:"authsvc_sid"`
	AdoptedTime float64 `json:"authsvc_auth_time"`

	Issued  float64 `json:"iat"`
	Expires float64 `json:"exp"`
	NotYet  float64 `json:"nbf"`
}

// engineClaims are the JSON names of sessionClaims.
var engineClaims = []string{"name", "email", "picture", "sub", "jti", "sid", "provider", "auth_time", "iat", "exp", "nbf",
	"authsvc_epoch", "authsvc_sid", "authsvc_auth_time"}

// errDuplicateClaim refuses claims that readers could take in two ways (RFC 7519
// §4).
var errDuplicateClaim = errors.New("a claim is there twice")

// decode reads the claims by their exact names, each at most once.
// encoding/json takes "SUB" for "sub", and an application may well keep a claim
// of its own by such a name; of two it takes the last.
//
// shared: other programs make tokens under the same key. Of theirs only what
// NextAuth.js itself writes is read, whatever else they hold.
func (c *sessionClaims) decode(plain []byte, shared bool) error {
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
	*c = sessionClaims{}
	err = json.Unmarshal(raw, c)
	c.dropForeignClaims(shared)
	return err
}

// dropForeignClaims clears fields that another program or the application has
// set, unless this engine made or adopted the token.
func (c *sessionClaims) dropForeignClaims(shared bool) {
	switch {
	case c.AdoptedSID != "":
		c.SID, c.AuthTime, c.Provider, c.Epoch = c.AdoptedSID, c.AdoptedTime, "", nil
	case c.Epoch == nil && shared:
		c.SID, c.AuthTime, c.Provider = "", 0, ""
	}
}

// dropForeign removes the claims that an application may have of its own, where
// they are of another type than the engine's. In a token that this engine made
// only those of the user are the application's.
func dropForeign(claims map[string]json.RawMessage) {
	texts, numbers := []string{"name", "email", "picture"}, []string{"authsvc_epoch"}
	if !isNumber(claims["authsvc_epoch"]) {
		texts = append(texts, "sid", "provider", "authsvc_sid")
		numbers = append(numbers, "auth_time", "authsvc_auth_time")
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
				bit := claimBit(object[i+1 : end])
				odd = odd || bit == 0 && ambiguousName(object[i+1:end])
				twice = twice || seen&bit != 0
				seen |= bit
			}
			i, name = end, false
		}
	}
	return odd, twice
}

// claimBit is the bit of a claim of the engine's, 0 for all other names.
func claimBit(name []byte) int {
	for i, own := range engineClaims {
		if string(name) == own {
			return 1 << i
		}
	}
	return 0
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
func ambiguousName(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= 0x80 {
			return true
		}
	}
	for _, own := range engineClaims {
		if len(own) == len(name) && string(name) != own && strings.EqualFold(string(name), own) {
			return true
		}
	}
	return false
}

// plausibleTime keeps hostile numbers out of time arithmetic.
func plausibleTime(seconds float64) bool {
	return seconds >= 0 && seconds < 1<<40 && !math.IsNaN(seconds)
}

func fromSeconds(s float64) time.Time { return time.UnixMilli(int64(math.Round(s * 1000))) }

// protectedNames returns the claims that a JWT callback cannot change.
func (c *sessionClaims) protectedNames() []string {
	names := []string{"sub", "iat", "exp", "jti", "authsvc_epoch", "authsvc_sid", "authsvc_auth_time"}
	if c.SID != "" && c.AdoptedSID == "" {
		names = append(names, "sid", "auth_time", "provider")
	}
	return names
}

// sid names the session. NextAuth.js gives each of its tokens a jti.
func (c *sessionClaims) sid() string {
	if c.SID != "" {
		return c.SID
	}
	return c.ID
}
