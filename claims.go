package authsvc

import (
	"encoding/json"
	"math"
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
	Issued   float64 `json:"iat"`
	Expires  float64 `json:"exp"`
	NotYet   float64 `json:"nbf"`
}

// engineClaims are the JSON names of sessionClaims.
var engineClaims = []string{"name", "email", "picture", "sub", "jti", "sid", "provider", "auth_time", "iat", "exp", "nbf"}

// decode reads the claims by their exact names. encoding/json takes "SUB" for
// "sub", and an application may well keep a claim of its own by such a name.
func (c *sessionClaims) decode(plain []byte) error {
	if !foldedName(plain) {
		return json.Unmarshal(plain, c)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(plain, &all); err != nil {
		return err
	}
	exact := map[string]json.RawMessage{}
	for _, name := range engineClaims {
		if v, ok := all[name]; ok {
			exact[name] = v
		}
	}
	raw, err := json.Marshal(exact)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, c)
}

// foldedName reports whether a member of the JSON object could be taken for
// one of the engine's claims without having its name. What is no object is
// left to the decoder.
func foldedName(object []byte) bool {
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
			if name && suspicious(object[i+1:end]) {
				return true
			}
			i, name = end, false
		}
	}
	return false
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

// suspicious names are escaped, not ASCII (ſ folds to s), or differ from a
// claim of ours in case only.
func suspicious(name []byte) bool {
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

// sane keeps hostile numbers out of time arithmetic.
func sane(seconds float64) bool { return seconds >= 0 && seconds < 1<<40 && !math.IsNaN(seconds) }

func fromSeconds(s float64) time.Time { return time.UnixMilli(int64(math.Round(s * 1000))) }

func (c *sessionClaims) sid() string {
	if c.SID != "" {
		return c.SID
	}
	return c.ID
}
