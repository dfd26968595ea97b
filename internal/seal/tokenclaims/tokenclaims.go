// Package tokenclaims reads the claims of a session token that the engine itself uses,
// each by its exact name and at most once.
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

// Claims holds the claims that the engine itself uses.
type Claims struct {
	Name     string               `json:"name"`
	Email    string               `json:"email"`
	Picture  string               `json:"picture"`
	Subject  string               `json:"sub"`
	ID       string               `json:"jti"`
	SID      string               `json:"sid"`
	Provider string               `json:"provider"`
	Began    float64              `json:"auth_time"`
	Proved   float64              `json:"authsvc_proved"` // last time the person proved their identity; 0: unknown
	AMR      sessionshape.Methods `json:"amr"`
	ACR      sessionshape.ACR     `json:"acr"`
	SecondAt optionalTime         `json:"second_at"`     // when a second factor was proved; 0: never
	Actor    sessionshape.Actor   `json:"act"`           // who acts as the user; empty: the user
	Epoch    *int64               `json:"authsvc_epoch"` // epoch of the user when the session began here

	// VerifiedEmail is the address that was verified when the session began. It is not
	// a flag, because a flag would change its meaning when another program changes the
	// email claim.
	VerifiedEmail string `json:"authsvc_email_verified"`
	// Kept holds the data that stays with the session, {"claims":{…},"columns":{…}}. It
	// has one name, so that none of its members is mistaken for a claim of NextAuth.js.
	// In a session that another program began, only columns counts.
	Kept rawObject `json:"authsvc_session"`

	// AdoptedSID and AdoptedTime belong to a session that another program began. The
	// token of such a session may have the application's own claims under our names.
	AdoptedSID  string  `json:"authsvc_sid"`
	AdoptedTime float64 `json:"authsvc_auth_time"`

	Issued  float64 `json:"iat"`
	Expires float64 `json:"exp"`
	NotYet  float64 `json:"nbf"`
}

// engineClaims lists the JSON names of Claims.
var engineClaims = []string{"name", "email", "picture", "sub", "jti", "sid", "provider", "auth_time", "amr", "acr", "second_at", "act", "iat", "exp", "nbf",
	"authsvc_epoch", "authsvc_email_verified", "authsvc_session", "authsvc_sid", "authsvc_auth_time", "authsvc_proved"}

// A rawObject is a JSON object without spaces, or empty.
type rawObject string

// UnmarshalJSON ignores any other kind of value.
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

// An optionalTime is a time in a claim (RFC 7519 section 2), or 0. Any other value is
// read as 0: before the engine had the claim, an application could use its name.
type optionalTime float64

// UnmarshalJSON ignores any other kind of value.
func (t *optionalTime) UnmarshalJSON(b []byte) error {
	*t = optionalTimeOf(string(b))
	return nil
}

func optionalTimeOf(value string) optionalTime {
	seconds, err := parseSeconds(value)
	if err != nil || !PlausibleTime(seconds) {
		return 0
	}
	return optionalTime(seconds)
}

// errDuplicateClaim refuses a claim that occurs twice, which readers could interpret in
// two ways (RFC 7519 §4).
var errDuplicateClaim = errors.New("a claim occurs twice")

// Decode reads the claims by their exact names, each at most once. encoding/json reads
// "SUB" as "sub", although an application may well have its own claim of that name, and
// of two equal names it reads the last.
//
// shared means that other programs make tokens with the same key. From their tokens
// Decode reads only the claims that NextAuth.js itself writes.
func (c *Claims) Decode(plain []byte, shared bool) error {
	if c.scan(string(plain)) {
		c.dropForeignClaims(shared)
		return nil
	}
	*c = Claims{}
	return c.decodeAny(plain, shared)
}

// decodeAny decodes any JSON object of claims.
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

// dropForeignClaims clears the fields that another program or the application has set,
// unless this engine made or adopted the token.
func (c *Claims) dropForeignClaims(shared bool) {
	switch {
	case c.AdoptedSID != "":
		c.SID, c.Began, c.Proved, c.Provider, c.Epoch, c.AMR, c.Actor, c.VerifiedEmail = c.AdoptedSID, c.AdoptedTime, 0, "", nil, "", "", ""
	case c.Epoch == nil && shared:
		c.SID, c.Began, c.Proved, c.Provider, c.AMR, c.Actor, c.VerifiedEmail, c.Kept = "", 0, 0, "", "", "", "", ""
	}
	c.checkMethods()
}

// dropForeign removes claims of the application: those whose type differs from the
// engine's. In a token that this engine made, only the user's claims can belong to the
// application.
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

// exactClaims returns the members of a JSON object whose names, with escapes resolved,
// are exactly the engine's claims.
func exactClaims(plain []byte) (map[string]json.RawMessage, error) {
	var all json.RawMessage
	if err := json.Unmarshal(plain, &all); err != nil { // also refuses more than one value
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

// claimNames reports whether a member of the JSON object could be mistaken for a claim
// of the engine without having its exact name, and whether a claim occurs twice. It
// leaves invalid JSON to the decoder.
func claimNames(object []byte) (odd, twice bool) {
	seen := 0               // one bit for each of engineClaims
	depth, name := 0, false // name: the next string is the name of a member
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

// claimBit returns the bit of a claim of the engine, or 0 for any other name.
func claimBit(name string) int {
	return 1 << (slices.Index(engineClaims, name) + 1) >> 1
}

// stringEnd returns the index of the quote that ends a JSON string.
func stringEnd(b []byte, i int) int {
	for i < len(b) && b[i] != '"' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	return min(i, len(b))
}

// ambiguousName reports whether name is escaped, is not ASCII (ſ folds to s), or
// differs from one of our claims only in case.
func ambiguousName(name string) bool {
	return !isPlainName(name) || strings.Contains(name, `\`) || foldsToClaim(name)
}

// PlausibleTime reports whether seconds is safe for time arithmetic.
func PlausibleTime(seconds float64) bool {
	return seconds >= 0 && seconds < 1<<40 && !math.IsNaN(seconds)
}

// FromSeconds converts the time in a claim (RFC 7519 §2, NumericDate).
func FromSeconds(s float64) time.Time { return time.UnixMilli(int64(math.Round(s * 1000))) }

// ProtectedNames returns the claims that a JWT callback cannot change.
func (c *Claims) ProtectedNames() []string {
	names := []string{"sub", "iat", "exp", "jti", "authsvc_epoch", "authsvc_email_verified", "authsvc_session", "authsvc_sid", "authsvc_auth_time", "authsvc_proved"}
	if c.SID != "" && c.AdoptedSID == "" {
		names = append(names, "sid", "auth_time", "provider", "amr", "acr", "second_at", "act")
	}
	return names
}

// Proves reports whether email is the address that was verified.
func (c *Claims) Proves(email string) bool { return email != "" && c.VerifiedEmail == email }

// SessionID returns the id of the session. Without a sid it is the jti, which
// NextAuth.js gives each of its tokens.
func (c *Claims) SessionID() string {
	if c.SID != "" {
		return c.SID
	}
	return c.ID
}

// checkMethods clears amr and acr unless acr is the level of amr, and second_at unless
// that level has a second factor. Applications may have their own claims of these names;
// the engine ignores them.
func (c *Claims) checkMethods() {
	if string(c.ACR) != c.AMR.Level() {
		c.AMR, c.ACR = "", ""
	}
	if c.ACR != "2fa" && c.ACR != "phr" {
		c.SecondAt = 0
	}
}

// Origin returns how the session began and who acts in it.
func (c *Claims) Origin() sessionshape.Origin {
	o := sessionshape.Origin{AMR: c.AMR, Actor: string(c.Actor)}
	if c.SecondAt > 0 {
		o.SecondAt = FromSeconds(float64(c.SecondAt))
	}
	return o
}
