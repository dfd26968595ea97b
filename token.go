package authsvc

import (
	"errors"
	"time"
)

// PersonalTokenOptions configure personal access tokens: with one a program acts
// for a user, without a browser, until it expires or is revoked.
type PersonalTokenOptions struct {
	// Enabled lets them be made and used. It needs an Adapter.
	Enabled bool
	// MaxAge is how long one is good at most, default and most 8784 h (366 days),
	// at least 1 h. Those that are out end so, too, when it is lowered.
	MaxAge time.Duration
}

// ErrNoPersonalTokens: Config.PersonalTokens.Enabled is not set.
var ErrNoPersonalTokens = errors.New("authsvc: personal access tokens are not enabled")

// A PersonalTokenRequest says what a new personal access token is good for.
type PersonalTokenRequest struct {
	// Name tells its tokens apart for the user: 1 to 64 characters, without control
	// characters.
	Name string
	// Audiences are ids of TokenOptions.Audiences for which POST token answers
	// tokens to it, at most 50.
	Audiences []string
	// Hosts are origins of programs behind the service that let personal access
	// tokens pass, such as https://grafana.example.com, at most 50. One without
	// scheme is https.
	Hosts []string
	// Life is how long it is good, at least 1 min and at most
	// PersonalTokenOptions.MaxAge. Default: 2160 h (90 days), or MaxAge if that is
	// less.
	Life time.Duration
}

// A PersonalToken describes a personal access token. It holds nothing by which
// the token could be used.
type PersonalToken struct {
	ID        string    `json:"id"` // 22 characters
	UserID    string    `json:"user"`
	Name      string    `json:"name"`
	Audiences []string  `json:"audiences,omitempty"`
	Hosts     []string  `json:"hosts,omitempty"`
	Created   time.Time `json:"created"`
	Used      time.Time `json:"used,omitzero"` // the day (UTC) of the latest use; zero: none
	Expires   time.Time `json:"expires"`
	// Sealed: what it is good for was sealed under a secret that is not one of
	// Config.Secrets any more. It is not accepted.
	Sealed bool `json:"sealed,omitempty"`
}

// ErrSealedKeys: none of Config.Secrets opens the signing keys in the store.
var ErrSealedKeys = errors.New("authsvc: none of Secrets opens the signing keys in the store")

// A SigningKey is a key of GET jwks.
type SigningKey struct {
	ID    string          `json:"kid"` // RFC 7638 thumbprint
	Alg   SigningAlg      `json:"alg"`
	State SigningKeyState `json:"state"`
	// When it was published, when it begins and ceases to sign, and when it is
	// not published any more; zero: not known, or, without a store, when Secrets
	// change.
	Published time.Time `json:"published,omitzero"`
	From      time.Time `json:"from,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Gone      time.Time `json:"gone,omitzero"`
}

// SigningKeyState is what a key does at present.
type SigningKeyState string

// The states.
const (
	KeyNext     SigningKeyState = "next"     // published, does not sign yet
	KeySigning  SigningKeyState = "signing"  // signs
	KeyPrevious SigningKeyState = "previous" // its tokens may still be out
)

// ErrNoTokens: no audience is configured, so there are no signing keys.
var ErrNoTokens = errors.New("authsvc: no tokens are configured, so there are no signing keys")

// ErrDerivedKeys: without a store signing keys follow from Config.Secrets, and
// change with them.
var ErrDerivedKeys = errors.New("authsvc: without storage the signing keys follow from the secrets: rotate those")
