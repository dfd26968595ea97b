// Package emailaddr reads email addresses. It defines the one grammar for addresses
// that are stored, compared and mailed.
package emailaddr

import (
	"errors"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Limits of RFC 5321 §4.5.3.1 and RFC 1035 §2.3.4, in bytes.
const (
	MaxLength    = 254
	maxLocalPart = 64
	maxLabel     = 63
)

// Errors of Check and Normalise.
var (
	errLength  = errors.New("address is too long")
	errLocal   = errors.New("address has no plain local part")
	errDomain  = errors.New("address has no plain domain")
	errIP      = errors.New("address has an IP address for a domain")
	errDotless = errors.New("address has a domain without a dot")
)

// Check accepts addresses that every mail system reads in the same way. It refuses the
// rest of RFC 5321 (quoted local parts, comments, domain literals) and characters that
// some servers read as routes (%, !) or encoded words (=?). Such addresses have carried
// sign-in links to the wrong mailbox.
func Check(s string) error {
	local, domain, ok := strings.Cut(s, "@")
	switch {
	case len(s) > MaxLength:
		return errLength
	case !ok || len(local) > maxLocalPart || !isLocalPart(local):
		return errLocal
	case !IsDomain(domain):
		return errDomain
	}
	if last := domain[len(domain)-1]; last >= '0' && last <= '9' { // else not an IPv4 address
		if _, err := netip.ParseAddr(domain); err == nil {
			return errIP
		}
	}
	return nil
}

// isLocalPart reports whether s is a dot-atom (RFC 5322 §3.2.3, RFC 6531 §3.3) with
// only one interpretation.
func isLocalPart(s string) bool {
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool {
			return !isWord(r) && !strings.ContainsRune("#$&'*+-/=?^_`{|}~", r)
		}) {
			return false
		}
	}
	return !strings.Contains(s, "=?")
}

// IsDomain reports whether s consists of labels of letters, digits and inner hyphens,
// in any script.
func IsDomain(s string) bool {
	if len(s) > MaxLength {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return !isWord(r) && r != '-' }) {
			return false
		}
	}
	return true
}

// isWord accepts letters, marks and digits of any script, except invisible ones, which
// would make two different addresses look the same.
func isWord(r rune) bool {
	return r != utf8.RuneError && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

// Normalise returns the form in which an address is stored, looked up and mailed: NFKC,
// trimmed, lower case. It refuses addresses that Check refuses after normalisation, and
// domains without a dot.
func Normalise(s string) (string, error) {
	if len(s) > 4*MaxLength {
		return "", errLength
	}
	if !utf8.ValidString(s) {
		return "", errLocal
	}
	s = strings.ToLower(strings.TrimSpace(norm.NFKC.String(s)))
	s = norm.NFKC.String(s) // lower-casing may denormalise
	if err := Check(s); err != nil {
		return "", err
	}
	if _, domain, _ := strings.Cut(s, "@"); !strings.Contains(domain, ".") {
		return "", errDotless
	}
	return s, nil
}

// Mailbox returns the likely mailbox of a normalised address: without a +tag, and with
// the domain as the DNS has it. Use it only for limits; mail goes to the unchanged
// address.
func Mailbox(s string) string {
	local, domain, _ := strings.Cut(s, "@")
	if name, _, tagged := strings.Cut(local, "+"); tagged && name != "" {
		local = name
	}
	if ascii, err := idna.ToASCII(domain); err == nil {
		domain = ascii
	}
	return local + "@" + domain
}

// KeepsMailbox reports whether an address names the same mailbox after normalisation.
// The Kelvin sign, for example, becomes a k: the owner of the mailbox with the sign has
// proved nothing about the mailbox with the letter.
func KeepsMailbox(s string) bool {
	for _, r := range s {
		if r <= unicode.MaxASCII {
			continue
		}
		folded := norm.NFKC.String(strings.ToLower(norm.NFKC.String(string(r))))
		if norm.NFC.String(string(r)) != norm.NFKC.String(string(r)) || strings.ContainsFunc(folded, func(r rune) bool { return r <= unicode.MaxASCII }) {
			return false
		}
	}
	return true
}
