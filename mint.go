package authsvc

import (
	"errors"
	"strings"
	"sync"
	"time"
)

// mintMargin is how long before its expiry a client secret is made anew, at
// most: a tenth of a short life.
const mintMargin = 5 * time.Minute

// A mint makes client secrets and keeps the one in force. One at a time makes
// one; the others wait for it.
type mint struct {
	make   func(c Client, now time.Time) (secret string, expires time.Time, err error)
	client Client

	mu     sync.Mutex
	secret string
	until  time.Time // it is used before
}

// get returns the secret in force. A failure is not kept: the next sign-in
// tries again.
func (m *mint) get(now time.Time) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.until) {
		return m.secret, nil
	}
	secret, expires, err := m.make(m.client, now)
	switch {
	case err != nil:
		return "", err
	case secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("the client secret is empty or not printable")
	case expires.IsZero():
		return secret, nil
	case !now.Before(expires):
		return "", errors.New("the client secret has expired already")
	}
	m.secret, m.until = secret, expires.Add(-min(mintMargin, expires.Sub(now)/10))
	return secret, nil
}
