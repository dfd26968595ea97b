package tokenclaims

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text/jsonscan"
)

// scan reads claims in the form that this engine and NextAuth.js write: an object
// without spaces, escapes or nested values other than our own, with our names in their
// exact form and at most once. It reports false for every other text, valid or not;
// encoding/json then decides, at several times the cost. A fuzz test checks that both
// give the same result.
func (c *Claims) scan(plain string) bool {
	if len(plain) < 2 || plain[0] != '{' || plain[len(plain)-1] != '}' || !utf8.ValidString(plain) {
		return false
	}
	seen, rest := 0, plain[1:]
	for {
		name, after, ok := jsonscan.Text(rest)
		if !ok || after == "" || after[0] != ':' || !isPlainName(name) {
			return false
		}
		bit := claimBit(name)
		if bit == 0 && foldsToClaim(name) || seen&bit != 0 {
			return false
		}
		seen |= bit
		value, after, ok := scanClaim(name, after[1:])
		if !ok || after == "" || !c.set(name, value) {
			return false
		}
		switch after[0] {
		case ',':
			rest = after[1:]
		case '}':
			return after == "}"
		default:
			return false
		}
	}
}

// scanClaim cuts off a value. It accepts an object or a list only for the claim that
// has that type.
func scanClaim(name, s string) (value, rest string, ok bool) {
	if (name == "authsvc_session" || name == "act") && strings.HasPrefix(s, "{") || name == "amr" && strings.HasPrefix(s, "[") {
		return jsonscan.Value(s)
	}
	return jsonscan.Scalar(s)
}

// set sets the field of a claim and ignores unknown claims. It reports false if the
// value does not have the type of the claim.
func (c *Claims) set(name, value string) bool {
	if value == "null" {
		return true
	}
	if field := c.textField(name); field != nil {
		if value[0] != '"' {
			return false
		}
		*field = value[1 : len(value)-1]
		return true
	}
	switch name {
	case "authsvc_session":
		if value[0] == '{' {
			c.Kept = rawObject(value)
		}
	case "amr":
		c.AMR = sessionshape.MethodsOf(value)
	case "acr":
		c.ACR = sessionshape.ACROf(value)
	case "second_at":
		c.SecondAt = optionalTimeOf(value)
	case "act":
		c.Actor = sessionshape.ActorOf(value)
	case "authsvc_epoch":
		n, err := strconv.ParseInt(value, 10, 64)
		c.Epoch = &n
		return err == nil
	}
	if field := c.timeField(name); field != nil {
		n, err := parseSeconds(value)
		*field = n
		return err == nil
	}
	return true
}

// parseSeconds does the same as [strconv.ParseFloat], but is faster for integers.
func parseSeconds(s string) (float64, error) {
	const exactDigits = 15 // exact in a float64
	if s == "" || len(s) > exactDigits {
		return strconv.ParseFloat(s, 64)
	}
	n := 0
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return strconv.ParseFloat(s, 64)
		}
		n = 10*n + int(digit)
	}
	return float64(n), nil
}

func (c *Claims) textField(name string) *string {
	switch name {
	case "name":
		return &c.Name
	case "email":
		return &c.Email
	case "picture":
		return &c.Picture
	case "sub":
		return &c.Subject
	case "jti":
		return &c.ID
	case "sid":
		return &c.SID
	case "provider":
		return &c.Provider
	case "authsvc_sid":
		return &c.AdoptedSID
	case "authsvc_email_verified":
		return &c.VerifiedEmail
	}
	return nil
}

func (c *Claims) timeField(name string) *float64 {
	switch name {
	case "auth_time":
		return &c.Began
	case "authsvc_proved":
		return &c.Proved
	case "authsvc_auth_time":
		return &c.AdoptedTime
	case "iat":
		return &c.Issued
	case "exp":
		return &c.Expires
	case "nbf":
		return &c.NotYet
	}
	return nil
}

// isPlainName reports whether encoding/json reads name as it is written.
func isPlainName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}

// foldsToClaim reports whether name differs from a claim of the engine at most in case.
func foldsToClaim(name string) bool {
	return slices.ContainsFunc(engineClaims, func(own string) bool { return len(own) == len(name) && strings.EqualFold(own, name) })
}
