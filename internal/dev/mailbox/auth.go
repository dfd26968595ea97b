package mailbox

import (
	"crypto/subtle"
	"errors"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

const (
	mechPlain = "PLAIN"
	mechLogin = "LOGIN"
)

// AuthMechanisms returns the mechanisms that EHLO advertises: none if no Username is
// set.
func (c *session) AuthMechanisms() []string {
	if c.server.options.Username == "" {
		return nil
	}
	return c.server.options.AuthMechanisms
}

// Auth starts an authentication exchange (RFC 4954).
func (c *session) Auth(mech string) (sasl.Server, error) {
	c.server.pause()
	for _, m := range c.AuthMechanisms() {
		switch {
		case m != mech:
		case m == mechLogin:
			return &loginServer{check: c.login}, nil
		case m == mechPlain:
			return sasl.NewPlainServer(func(_, user, pass string) error { return c.login(user, pass) }), nil
		}
	}
	return nil, smtp.ErrAuthUnknownMechanism
}

func (c *session) login(user, pass string) error {
	o := c.server.options
	sameUser := subtle.ConstantTimeCompare([]byte(user), []byte(o.Username))
	samePass := subtle.ConstantTimeCompare([]byte(pass), []byte(o.Password))
	if sameUser&samePass != 1 {
		return smtp.ErrAuthFailed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authenticated = true
	return nil
}

// loginServer implements the LOGIN mechanism: two prompts, two answers
// (draft-murchison-sasl-login-00).
type loginServer struct {
	check func(user, pass string) error
	step  int
	user  string
}

// Next answers a response of the client.
func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if l.step == 0 && response != nil { // the user name came with AUTH itself
		l.step = 1
	}
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	case 3:
		return nil, true, l.check(l.user, string(response))
	default:
		return nil, false, errors.New("mailbox: unexpected LOGIN response")
	}
}
