// Package handover carries a sign-in from the login host to another host that cookies
// do not reach. The other host begins an attempt: a random nonce in a sealed cookie of
// the browser. The challenge, a digest of the nonce, goes to the login host, which
// answers with a code for that host and challenge. The code is worthless without the
// cookie, so a link cannot sign a person in to another person's account.
package handover

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"authsvc/internal/seal"
)

// Lifetimes of an attempt and a code.
const (
	AttemptLife = 10 * time.Minute
	CodeLife    = time.Minute
)

// maxCode is the maximum length of a code in bytes. A code is about as long as a sealed
// cookie.
const maxCode = 8 << 10

// Reasons why a code is refused.
var (
	ErrForged    = errors.New("the code is malformed, or was not made here")
	ErrElsewhere = errors.New("the code is for another host")
	ErrLate      = errors.New("the code has expired")
	ErrBrowser   = errors.New("this browser did not begin the sign-in that the code is for")
)

// Keys holds the sealers for attempts and codes.
type Keys struct{ Attempt, Code *seal.Sealer }

// An Attempt is a browser's attempt to be signed in at a host.
type Attempt struct {
	Origin  string `json:"o"` // of the host
	To      string `json:"t"` // path and query at the host, to open afterwards
	Nonce   string `json:"n"`
	Expires int64  `json:"e"` // seconds since 1970
}

// Begin makes an attempt.
func Begin(origin, to string, now time.Time) Attempt {
	return Attempt{origin, to, seal.Token(), now.Add(AttemptLife).Unix()}
}

// Challenge returns the digest of the nonce that the login host receives.
func (a *Attempt) Challenge() string { return seal.Digest(a.Nonce) }

// IsChallenge reports whether s has the form of a challenge, in its only spelling.
func IsChallenge(s string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(s) == 43 && len(raw) == 32
}

// ID returns a short name that distinguishes the attempts of a browser.
func ID(challenge string) string { return challenge[:16] }

// SealAttempt makes the value of the attempt's cookie.
func (k Keys) SealAttempt(a Attempt) (string, error) { return sealJSON(k.Attempt, a) }

// OpenAttempt opens the value of an attempt's cookie. It returns false if the value is
// invalid, for another origin or too old.
func (k Keys) OpenAttempt(value, origin string, now time.Time) (a Attempt, ok bool) {
	if !openJSON(k.Attempt, value, &a) {
		return Attempt{}, false
	}
	return a, a.Origin == origin && now.Unix() < a.Expires
}

// A Code is the answer of the login host.
type Code struct {
	Origin    string `json:"o"` // of the host that the code is for
	Challenge string `json:"c"`
	Carried   []byte `json:"s"` // what the host must know about the session
	Expires   int64  `json:"e"` // seconds since 1970
}

// SealCode makes a code for a host and a challenge.
func (k Keys) SealCode(origin, challenge string, carried []byte, now time.Time) (string, error) {
	return sealJSON(k.Code, Code{origin, challenge, carried, now.Add(CodeLife).Unix()})
}

// Redeem judges a code that was sent to the host of an origin. cookie returns the
// cookie of the attempt with an ID. The caller must ensure, by the challenge, that the
// code is used only once. If we made the code, c is set even with an error.
func (k Keys) Redeem(code, origin string, now time.Time, cookie func(id string) (string, bool)) (c Code, a Attempt, err error) {
	if len(code) > maxCode || !openJSON(k.Code, code, &c) || !IsChallenge(c.Challenge) {
		return Code{}, Attempt{}, ErrForged
	}
	if c.Origin != origin {
		return c, Attempt{}, ErrElsewhere
	}
	if now.Unix() >= c.Expires {
		return c, Attempt{}, ErrLate
	}
	value, there := cookie(ID(c.Challenge))
	if !there {
		return c, Attempt{}, ErrBrowser
	}
	a, ok := k.OpenAttempt(value, origin, now)
	if !ok || subtle.ConstantTimeCompare([]byte(a.Challenge()), []byte(c.Challenge)) != 1 {
		return c, Attempt{}, ErrBrowser
	}
	return c, a, nil
}

func sealJSON(s *seal.Sealer, v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return s.Seal(raw)
}

func openJSON(s *seal.Sealer, value string, into any) bool {
	raw, _, err := s.Open(value)
	return err == nil && json.Unmarshal(raw, into) == nil
}
