package mail

import (
	"errors"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"authsvc/internal/text/emailaddr"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

const maxSender = 512 // bytes of an address with its display name

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// isOneLine reports whether s has only characters that stay on their line: no control
// characters, and no line or paragraph separators of Unicode.
func isOneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

// parseSender parses a From, such as "Acme <no-reply@example.com>". The address is
// deliverable.
func parseSender(from string) (*mail.Address, error) {
	// Check the length first: parsers have been slow on long input.
	if len(from) > maxSender || !isOneLine(from) {
		return nil, errors.New("address is too long or more than one line")
	}
	addr, err := mail.ParseAddress(from)
	if err != nil {
		return nil, errors.New(`not an address such as "Acme <no-reply@example.com>"`)
	}
	if err := emailaddr.Check(addr.Address); err != nil {
		return nil, err
	}
	if addr.Address, err = deliverable(addr.Address); err != nil {
		return nil, err
	}
	// ParseAddress has decoded encoded words. A name must not contain what is left of
	// them, or was hidden in them.
	if !isOneLine(addr.Name) || strings.Contains(addr.Name, "=?") {
		return nil, errors.New("name has control characters or encoded words")
	}
	return addr, nil
}

// deliverable returns a checked address with its domain in the form of the DNS (A-labels,
// RFC 5890 section 2.3.2.1), which every server takes. The local part stays: only the
// receiving server may change it. An ASCII domain stays, too.
//
// IDNA maps some letters to others that emailaddr.Normalise keeps apart: ᾳ to αι. Such a
// domain is an error. Otherwise, addresses that are stored and limited apart would be one
// mailbox.
func deliverable(addr string) (string, error) {
	local, domain, _ := strings.Cut(addr, "@")
	if isASCII(domain) {
		return addr, nil
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil {
		return "", errors.New("the domain has no form in ASCII (IDNA), so no mail can reach it")
	}
	if mapped, err := idna.Lookup.ToUnicode(ascii); err != nil || folded(mapped) != folded(domain) {
		return "", errors.New("the domain has another spelling in the DNS (IDNA), so no mail can reach it")
	}
	addr = local + "@" + ascii
	return addr, emailaddr.Check(addr) // the form in ASCII is longer
}

// folded returns a domain as emailaddr.Normalise spells it, in A-labels.
func folded(domain string) string {
	ascii, _ := idna.ToASCII(norm.NFKC.String(strings.ToLower(norm.NFKC.String(domain)))) // maps nothing
	return ascii
}

// asciiDomain returns the domain of a deliverable address, or "localhost" if there is
// none.
func asciiDomain(addr string) string {
	_, domain, _ := strings.Cut(addr, "@")
	if domain == "" || !isASCII(domain) {
		return "localhost"
	}
	return domain
}
