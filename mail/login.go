package mail

import (
	"slices"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// logIn authenticates (RFC 4954), if the URL has a user. encrypt has made sure
// that the connection may carry the password, so PLAIN is as good as the
// others and the one that all servers get right. SCRAM is left out: go-mail
// lets the server choose how many rounds of hashing it costs us.
func (s *server) logIn(c *smtp.Client) error {
	if s.user == "" {
		return nil
	}
	_, params := c.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(params))
	// In both, true means: also unencrypted. See above.
	switch {
	case slices.Contains(offered, "PLAIN"):
		return c.Auth(smtp.PlainAuth("", s.user, s.pass, s.host, true))
	case slices.Contains(offered, "LOGIN"):
		return c.Auth(smtp.LoginAuth(s.user, s.pass, s.host, true))
	case slices.Contains(offered, "CRAM-MD5"):
		return c.Auth(smtp.CRAMMD5Auth(s.user, s.pass))
	default:
		return errNoAUTH
	}
}
