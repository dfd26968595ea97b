package mail

import (
	"slices"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// logIn authenticates (RFC 4954) if the URL has a user. encrypt has ensured that the
// connection may carry the password, so PLAIN is as safe as the others, and all servers
// implement it correctly. SCRAM is not used, because go-mail lets the server choose the
// number of hash iterations.
func (s *server) logIn(c *smtp.Client) error {
	if s.user == "" {
		return nil
	}
	_, params := c.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(params))
	// In both calls true permits an unencrypted connection. See above.
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
