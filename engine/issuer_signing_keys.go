package engine

import (
	"errors"
	"time"

	"authsvc"
)

// ErrSealedKeys means that none of Config.Secrets opens the signing keys in the store.
var ErrSealedKeys = errors.New("authsvc: no secret in Secrets opens the signing keys in the store")

// A SigningKey is a key of GET jwks.
type SigningKey struct {
	ID    string             `json:"kid"` // RFC 7638 thumbprint
	Alg   authsvc.SigningAlg `json:"alg"`
	State SigningKeyState    `json:"state"`
	// Published is when the key was published, From and Until are when it starts and
	// stops signing, and Gone is when it is no longer published. Zero: unknown. Without
	// a store, Until and Gone are zero, because keys change only with Secrets.
	Published time.Time `json:"published,omitzero"`
	From      time.Time `json:"from,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Gone      time.Time `json:"gone,omitzero"`
}

// SigningKeyState is the current use of a key.
type SigningKeyState string

// The states.
const (
	KeyNext     SigningKeyState = "next"     // published, not signing yet
	KeySigning  SigningKeyState = "signing"  // signs
	KeyPrevious SigningKeyState = "previous" // its tokens may still be valid
)

// ErrNoTokens means that no audience is configured, so there are no signing keys.
var ErrNoTokens = errors.New("authsvc: no tokens are configured, so there are no signing keys")

// ErrDerivedKeys means that, without a store, signing keys are derived from
// Config.Secrets. They change only with the secrets.
var ErrDerivedKeys = errors.New("authsvc: without storage the signing keys are derived from the secrets; rotate the secrets")
