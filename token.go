package authsvc

import (
	"errors"
	"time"
)

// PersonalTokenOptions configure personal access tokens. With such a token a program
// acts for a user, without a browser, until the token expires or is revoked.
type PersonalTokenOptions struct {
	// Enabled lets users make and use them. It needs an Adapter.
	Enabled bool
	// MaxAge is the longest lifetime of a token, from 1 h to 8784 h (366 days, the
	// default). Lowering it also shortens existing tokens.
	MaxAge time.Duration
}

// ErrNoPersonalTokens means that Config.PersonalTokens.Enabled is not set.
var ErrNoPersonalTokens = errors.New("authsvc: personal access tokens are not enabled")

// A PersonalTokenRequest describes a new personal access token.
type PersonalTokenRequest struct {
	// Name tells the user's tokens apart: 1 to 64 characters, without control
	// characters.
	Name string
	// Audiences lists ids of TokenOptions.Audiences, at most 50. POST token issues
	// tokens for them in exchange for the personal access token.
	Audiences []string
	// Hosts lists origins of programs behind the service that accept personal access
	// tokens, such as https://grafana.example.com, at most 50. An origin without a
	// scheme is https.
	Hosts []string
	// Life is how long the token is valid, at least 1 min and at most
	// PersonalTokenOptions.MaxAge. Default: 2160 h (90 days), or MaxAge if that is
	// less.
	Life time.Duration
}

// A PersonalToken describes a personal access token. It does not contain the token
// itself.
type PersonalToken struct {
	ID        string    `json:"id"` // 22 characters
	UserID    string    `json:"user"`
	Name      string    `json:"name"`
	Audiences []string  `json:"audiences,omitempty"`
	Hosts     []string  `json:"hosts,omitempty"`
	Created   time.Time `json:"created"`
	Used      time.Time `json:"used,omitzero"` // the day (UTC) of the latest use; zero: none
	Expires   time.Time `json:"expires"`
	// Sealed means that the token's permissions were sealed under a secret that is no
	// longer in Config.Secrets. The token is not accepted.
	Sealed bool `json:"sealed,omitempty"`
}
