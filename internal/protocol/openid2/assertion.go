package openid2

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	nonceAge  = 5 * time.Minute // maximum age of an assertion, in both directions, as clocks differ
	maxParams = 40              // of an assertion
	maxValue  = 4 << 10         // bytes of one value
)

// nameCharacters lists the characters of parameter names. It has no comma and no colon:
// the list of signed names separates them by commas, and what is signed are lines of
// the form name:value.
const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_."

// An Assertion holds the parameters that came back through the browser, by name without
// "openid.". Anyone can write one.
type Assertion map[string]string

// ParseAssertion reads all openid parameters. It refuses duplicates.
func ParseAssertion(q url.Values) (Assertion, error) {
	a := Assertion{}
	for full, values := range q {
		name, ok := strings.CutPrefix(full, "openid.")
		switch {
		case !ok:
			continue
		case len(values) != 1:
			return nil, errors.New("the assertion repeats a parameter")
		case name == "" || strings.Trim(name, nameCharacters) != "":
			return nil, errors.New("the assertion has a parameter name that key-value form does not allow")
		case len(a) == maxParams || len(values[0]) > maxValue || !utf8.ValidString(values[0]) || strings.ContainsAny(values[0], "\r\n\x00"):
			return nil, errors.New("the assertion is malformed or too large")
		}
		a[name] = values[0]
	}
	return a, nil
}

// signedFields lists the fields that a signature must cover (§10.1).
var signedFields = []string{"op_endpoint", "return_to", "response_nonce", "assoc_handle", "claimed_id", "identity"}

// Check checks an assertion without calling the provider: it must be from this endpoint
// and for this attempt, and its signature must cover all important fields. The
// signature must still be verified. The caller must check the identifier and the nonce.
func (a Assertion) Check(endpoint, returnTo string) error {
	switch {
	case a["ns"] != namespace:
		return errors.New("the answer is not in the format of OpenID Authentication 2.0")
	case a["mode"] != "id_res":
		return errors.New("the answer is not an assertion")
	case a["op_endpoint"] != endpoint:
		return errors.New("op_endpoint names another provider")
	case a["return_to"] != returnTo:
		return errors.New("return_to does not match this attempt")
	case a["claimed_id"] != a["identity"]:
		return errors.New("claimed_id and identity differ")
	case a["sig"] == "" || a["assoc_handle"] == "":
		return errors.New("the assertion is not signed")
	}
	signed := strings.Split(a["signed"], ",")
	for _, name := range signedFields {
		if !slices.Contains(signed, name) {
			return errors.New("the signature does not cover " + name)
		}
	}
	for _, name := range signed {
		if _, ok := a[name]; !ok {
			return errors.New("the signature covers a field that is missing")
		}
	}
	return nil
}

// NonceExpiry returns when a response_nonce (§10.1) is no longer accepted and can be
// forgotten. It refuses a nonce that is not fresh.
func NonceExpiry(nonce string, now time.Time) (time.Time, error) {
	const layout = "2006-01-02T15:04:05Z"
	if len(nonce) < len(layout) || len(nonce) > 255 || strings.ContainsFunc(nonce, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return time.Time{}, errors.New("response_nonce is malformed")
	}
	made, err := time.Parse(layout, nonce[:len(layout)])
	if err != nil {
		return time.Time{}, errors.New("response_nonce does not begin with a time")
	}
	if age := now.Sub(made); age > nonceAge || age < -nonceAge {
		return time.Time{}, errors.New("response_nonce is not fresh")
	}
	return made.Add(nonceAge + time.Minute), nil
}
