package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"
)

// withFix sets the fix that the operator can try.
func (f *failure) withFix(s *server) *failure {
	switch f.step {
	case "connect":
		f.fix = connectFix(f.cause)
	case "greeting":
		f.fix = greetingFix(s, f.cause)
	case "TLS", "STARTTLS":
		f.fix = tlsFix(s, f.cause)
	case "AUTH":
		f.fix = loginFix(f.cause)
	case "MAIL":
		f.fix = senderFix(f.cause)
	}
	return f
}

func connectFix(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "check the spelling of the host name"
	}
	return "check host and port (587 for smtp://, 465 for smtps://), and whether this machine may reach them. " +
		"Many hosting networks block outgoing mail"
}

func greetingFix(s *server, err error) string {
	var reply *textproto.Error
	switch {
	case errors.As(err, &reply):
		return "the server refuses this machine: ask its operator"
	case s.policy != implicitTLS && strings.HasSuffix(s.addr, ":465"):
		return "port 465 expects TLS from the start: write smtps://"
	default:
		return "check that this is the port of a mail server"
	}
}

func tlsFix(s *server, err error) string {
	var (
		plain   tls.RecordHeaderError
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, errNoSTARTTLS):
		return "use smtps:// if the server has a TLS port (465); " +
			"without TLS others can read the password and the sign-in links in transit"
	case errors.As(err, &plain), s.policy == implicitTLS && errors.Is(err, io.EOF):
		return "this port does not begin with TLS: write smtp:// and the port for STARTTLS (587)"
	case errors.As(err, &name):
		return "use a host name that the certificate names"
	case errors.As(err, &unknown) && s.policy == opportunistic:
		return "add the issuing CA to the system's certificates, or append ?starttls=off, which is safe on this machine"
	case errors.As(err, &unknown):
		return "add the issuing CA to the system's certificates, or give the server a certificate of a public CA"
	case errors.As(err, &invalid):
		return "the server needs a new certificate"
	default:
		return "check that the server supports TLS 1.2 or later"
	}
}

func loginFix(err error) string {
	if errors.Is(err, errNoAUTH) {
		return "remove user and password from the URL if the server requires none, " +
			"or ask its operator for one of these mechanisms"
	}
	return "check that user and password are right, and percent-encoded in the URL. " +
		"Some providers require an app password or an API key instead of the account's password"
}

func senderFix(err error) string {
	var reply *textproto.Error
	switch {
	case errors.Is(err, errNoUTF8):
		return "use a sender address of ASCII characters before the @"
	case errors.As(err, &reply) && reply.Code == 530:
		return "the server requires a login: write smtp://user:password@host"
	default:
		return "have the mail provider verify the sender's address or domain, or send from a verified one"
	}
}
