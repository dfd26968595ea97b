// Package handover takes a sign-in from the host where people sign in to another
// host, which cookies do not get to. The other host begins with an attempt: a
// random nonce that stays in a sealed cookie of the browser. The challenge, its
// digest, goes to the login host, which answers with a code for that host and that
// challenge. Without the cookie the code is worth nothing, so that nobody can be
// signed in to somebody else's account by a link.
package handover

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"authsvc/internal/seal"
)

// How long an attempt and a code live.
const (
	AttemptLife = 10 * time.Minute
	CodeLife    = time.Minute
)

// maxCode is the longest code that is looked at, in bytes: a cookie, sealed.
const maxCode = 8 << 10

// Why a code does not count.
var (
	ErrForged    = errors.New("the code is none, or was not made here")
	ErrElsewhere = errors.New("the code is for another host")
	ErrLate      = errors.New("the code came too late")
	ErrBrowser   = errors.New("this browser did not begin what the code is for")
)

// Keys seal what this package makes.
type Keys struct{ Attempt, Code *seal.Sealer }

// An Attempt is one browser on its way to being signed in at a host.
type Attempt struct {
	Origin  string `json:"o"` // of the host
	To      string `json:"t"` // path and query there, for afterwards
	Nonce   string `json:"n"`
	Expires int64  `json:"e"` // seconds since 1970
}

// Begin makes an attempt.
func Begin(origin, to string, now time.Time) Attempt {
	return Attempt{origin, to, seal.Token(), now.Add(AttemptLife).Unix()}
}

// Challenge is what the login host learns of the nonce.
func (a *Attempt) Challenge() string { return seal.Digest(a.Nonce) }

// IsChallenge reports whether s could be one, in its only spelling.
func IsChallenge(s string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(s) == 43 && len(raw) == 32
}

// ID tells the attempts of a browser apart.
func ID(challenge string) string { return challenge[:16] }

// SealAttempt makes the value of the attempt's cookie.
func (k Keys) SealAttempt(a Attempt) (string, error) { return sealJSON(k.Attempt, a) }

// OpenAttempt reads it. ok is false if it is none, not of this origin, or too old.
func (k Keys) OpenAttempt(value, origin string, now time.Time) (a Attempt, ok bool) {
	if !openJSON(k.Attempt, value, &a) {
		return Attempt{}, false
	}
	return a, a.Origin == origin && now.Unix() < a.Expires
}

// A Code is what the login host answers.
type Code struct {
	Origin    string `json:"o"` // of the host that it is for
	Challenge string `json:"c"`
	Carried   []byte `json:"s"` // what the host is to know of the session
	Expires   int64  `json:"e"` // seconds since 1970
}

// SealCode makes a code for a host and a challenge.
func (k Keys) SealCode(origin, challenge string, carried []byte, now time.Time) (string, error) {
	return sealJSON(k.Code, Code{origin, challenge, carried, now.Add(CodeLife).Unix()})
}

// Redeem judges a code that came to the host of an origin; cookie returns the
// cookie of the attempt with an id. That the code is used once is for the caller to
// see to, by its challenge. c is set if the code is one of ours, whatever the error.
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
