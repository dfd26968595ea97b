package mail

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"authsvc/internal/text/emailaddr"
)

// A tlsPolicy says when a connection is encrypted.
type tlsPolicy int

const (
	startTLS      tlsPolicy = iota // STARTTLS is required
	implicitTLS                    // from the first byte
	opportunistic                  // STARTTLS if it is offered
	noTLS
)

const maxCredential = 512 // bytes; RFC 4954 section 4 allows lines of 12288

// A server holds the address of an SMTP server and how to deliver to it.
type server struct {
	Options
	host, addr string
	policy     tlsPolicy
	user, pass string
	waiting    sessions
}

var errBadURL = errors.New("mail: the server is not a URL such as smtp://user:pass@host:587 " +
	"(characters like / ? # @ % in a password must be percent-encoded)")

// newServer parses a URL. Its errors quote no part of it: if a character of the
// password was not percent-encoded, any part may contain some of the password.
func newServer(rawURL string, o Options) (*server, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return nil, errors.Join(errBadURL, checkHELO(o.HELO))
	}
	s := &server{Options: o, host: strings.ToLower(u.Hostname())}
	var errs []error
	if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") || u.Path != "" && u.Path != "/" || u.Fragment != "" {
		errs = append(errs, errBadURL)
	}
	if !isHost(s.host) {
		errs = append(errs, errors.New("mail: the URL's host is neither a host name nor an IP address"))
	}
	errs = append(errs, s.setScheme(u), s.setQuery(u), s.setCredentials(u), checkHELO(o.HELO))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *server) setScheme(u *url.URL) error {
	port := u.Port()
	switch u.Scheme {
	case "smtps":
		s.policy = implicitTLS
		if port == "" {
			port = "465"
		}
	case "smtp":
		if s.isLoopback() {
			s.policy = opportunistic
		}
		if port == "" {
			port = "587"
		}
	default:
		return errors.New("mail: the URL must begin with smtp:// or smtps://")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("mail: the URL's port is not a number from 1 to 65535")
	}
	s.addr = net.JoinHostPort(s.host, port)
	return nil
}

func (s *server) setQuery(u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	if u.RawQuery != "starttls=off" {
		return errors.New("mail: the URL's only option is ?starttls=off")
	}
	switch {
	case s.policy == implicitTLS:
		return errors.New("mail: ?starttls=off has no meaning with smtps://")
	case !s.isLoopback() && !s.DangerousNoTLS:
		return errors.New("mail: ?starttls=off would reveal the password and all sign-in links to the network: " +
			"remove it, or set insecure_no_tls if that network is trusted")
	}
	s.policy = noTLS
	return nil
}

func (s *server) setCredentials(u *url.URL) error {
	if u.User == nil {
		return nil
	}
	pass, _ := u.User.Password()
	s.user, s.pass = u.User.Username(), pass
	if s.user == "" || s.pass == "" {
		return errors.New("mail: the URL needs both a user and a password, or neither")
	}
	for _, c := range []string{s.user, s.pass} {
		// PLAIN separates its fields with NUL (RFC 4616 section 2).
		if len(c) > maxCredential || !isOneLine(c) {
			return errors.New("mail: the URL's user or password is too long or has control characters")
		}
	}
	return nil
}

// isLoopback checks the name; encrypt also checks the address.
func (s *server) isLoopback() bool {
	if s.host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(s.host)
	return err == nil && addr.IsLoopback()
}

func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return isASCII(host) && emailaddr.IsDomain(host)
}

func checkHELO(name string) error {
	literal, isLiteral := strings.CutPrefix(name, "[")
	literal, closed := strings.CutSuffix(literal, "]")
	if isLiteral && closed {
		if _, err := netip.ParseAddr(strings.TrimPrefix(literal, "IPv6:")); err == nil {
			return nil
		}
	}
	if name == "" || isASCII(name) && emailaddr.IsDomain(name) {
		return nil
	}
	return errors.New("mail: HELO is neither a host name nor an address literal")
}
