package authsvc

import (
	"context"
	"errors"
	"strings"
	"time"
)

// secretMargin is how long before its expiry a client secret is made anew, at
// most: a tenth of a short life.
const secretMargin = 5 * time.Minute

// A clientSecrets makes client secrets and keeps the one in force. One at a time makes
// one; the others wait for it.
type clientSecrets struct {
	make   func(c Client, now time.Time) (secret string, expires time.Time, err error)
	client Client

	turn   chan struct{} // holds one while the fields below are in use
	secret string
	until  time.Time // secret is used before
}

func newClientSecrets(o *OAuth) *clientSecrets {
	if o.ClientSecret == nil {
		return nil
	}
	return &clientSecrets{make: o.ClientSecret, client: o.Client, turn: make(chan struct{}, 1)}
}

// get returns the secret in force. A failure is not kept: the next sign-in
// tries again.
func (m *clientSecrets) get(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case m.turn <- struct{}{}:
	}
	defer func() { <-m.turn }()
	now := time.Now()
	if now.Before(m.until) {
		return m.secret, nil
	}
	secret, expires, err := m.make(m.client, now)
	switch {
	case err != nil:
		return "", err
	case secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("the secret is empty or not printable")
	case expires.IsZero():
		return secret, nil
	case !now.Before(expires):
		return "", errors.New("the secret has expired already")
	}
	m.secret, m.until = secret, expires.Add(-min(secretMargin, expires.Sub(now)/10))
	return secret, nil
}
