package mail

import (
	"errors"
	"net/mail"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The limits of RFC 5321 section 4.5.3.1 and RFC 1035 section 2.3.4, in bytes.
const (
	maxLocalPart = 64
	maxAddress   = 254
	maxLabel     = 63
	maxSender    = 512 // an address with its display name
)

// checkAddress accepts the addresses that every mail system reads in one and
// the same way, and refuses the rest of RFC 5321: quoted local parts, comments,
// domain literals; and what some servers take for routes (%, !) or encoded
// words (=?). Those have carried sign-in links to somebody else's mailbox.
func checkAddress(addr string) error {
	if len(addr) > maxAddress {
		return errors.New("address is too long")
	}
	local, domain, ok := strings.Cut(addr, "@")
	if !ok || len(local) > maxLocalPart || !isLocalPart(local) {
		return errors.New("address has no plain local part")
	}
	if !isDomain(domain) {
		return errors.New("address has no plain domain")
	}
	if _, err := netip.ParseAddr(domain); err == nil {
		return errors.New("address has an IP address for a domain")
	}
	return nil
}

// isLocalPart reports whether s is a dot-atom (RFC 5322 section 3.2.3, RFC 6531
// section 3.3) that cannot be taken for anything else.
func isLocalPart(s string) bool {
	for _, atom := range strings.Split(s, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool {
			return !isWord(r) && !strings.ContainsRune("#$&'*+-/=?^_`{|}~", r)
		}) {
			return false
		}
	}
	return !strings.Contains(s, "=?")
}

// isDomain reports whether s is labels of letters, digits and inner hyphens.
func isDomain(s string) bool {
	if len(s) > maxAddress {
		return false
	}
	for _, label := range strings.Split(s, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return !isWord(r) && r != '-' }) {
			return false
		}
	}
	return true
}

// isWord accepts letters, marks and digits of any script, and so none of the
// characters that look like @ or a separator, or that cannot be seen.
func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// isOneLine reports whether s has only characters that stay on their line:
// no controls, and none of Unicode's line and paragraph separators.
func isOneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

// parseSender reads a From, such as "Acme <no-reply@example.com>".
func parseSender(from string) (*mail.Address, error) {
	// The length comes first: parsers have been slow on long input.
	if len(from) > maxSender || !isOneLine(from) {
		return nil, errors.New("address is too long or more than one line")
	}
	addr, err := mail.ParseAddress(from)
	if err != nil {
		return nil, errors.New(`not an address such as "Acme <no-reply@example.com>"`)
	}
	if err := checkAddress(addr.Address); err != nil {
		return nil, err
	}
	// ParseAddress has decoded encoded words; what is left of them, or was
	// hidden in them, has no business in a name.
	if !isOneLine(addr.Name) || strings.Contains(addr.Name, "=?") {
		return nil, errors.New("name has control characters or encoded words")
	}
	return addr, nil
}

// asciiDomain is the domain of a checked address in the form of the DNS, or
// "localhost" where there is none.
func asciiDomain(addr string) string {
	_, domain, _ := strings.Cut(addr, "@")
	ascii, err := idna.ToASCII(domain)
	if err != nil || ascii == "" || !isASCII(ascii) {
		return "localhost"
	}
	return ascii
}
