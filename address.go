package authsvc

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"authsvc/internal/weburl"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// maxAddress is the longest e-mail address, in bytes (RFC 5321 §4.5.3.1).
const maxAddress = 254

var errAddress = errors.New("not an e-mail address that can be used")

// normaliseAddress brings an address into the form in which it is stored,
// looked up and mailed: NFKC, trimmed, lower case. It refuses what mail
// programs read differently from one another, and so what package mail does not
// send to: several @ (also after normalisation), quotes, comments, lists,
// spaces, literals, symbols, dotless domains.
func normaliseAddress(s string) (string, error) {
	if len(s) > 4*maxAddress || !utf8.ValidString(s) {
		return "", errAddress
	}
	s = strings.ToLower(strings.TrimSpace(norm.NFKC.String(s)))
	s = norm.NFKC.String(s) // lower-casing may denormalise
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > maxAddress || local == "" || len(local) > 64 || strings.Contains(domain, "@") {
		return "", errAddress
	}
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(s, "..") || strings.Contains(s, "=?") {
		return "", errAddress
	}
	for _, r := range local {
		if !isLetter(r) && !strings.ContainsRune(".#$&'*+-/=?^_`{|}~", r) {
			return "", errAddress
		}
	}
	if _, err := netip.ParseAddr(domain); err == nil {
		return "", errAddress
	}
	return s, checkDomain(domain)
}

// isLetter accepts letters, marks and digits of any script, but for those that
// are not shown: an address that looks like another is not one to write down.
func isLetter(r rune) bool {
	return r != unicode.ReplacementChar && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

// mailbox names what a normalised address is delivered to, as far as it can be
// told from outside: without a +tag, and with the domain as the DNS has it. It
// is for limits only; mail goes to the address as it is.
func mailbox(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	if name, _, tagged := strings.Cut(local, "+"); tagged && name != "" {
		local = name
	}
	if ascii, err := idna.ToASCII(domain); err == nil {
		domain = ascii
	}
	return local + "@" + domain
}

// keepsMailbox reports whether normalisation leaves an address that of the same
// mailbox. The Kelvin sign, for one, becomes a k: who has the mailbox with the
// sign has proved nothing about the one with the letter.
func keepsMailbox(s string) bool {
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

func checkDomain(domain string) error {
	if !strings.Contains(domain, ".") {
		return errAddress
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return errAddress
		}
		for _, r := range label {
			if r != '-' && !isLetter(r) {
				return errAddress
			}
		}
	}
	return nil
}

// Limits of what a provider may say about a person.
const (
	maxName  = 255 // runes
	maxImage = 2048
)

// cleanUser makes a provider's profile safe to keep and show: control and
// direction characters go, lengths are capped, addresses are normalised,
// pictures must be https.
func cleanUser(u User) User {
	u.Name = cleanName(u.Name)
	if u.Email != "" {
		address, err := normaliseAddress(u.Email)
		if err != nil {
			address = ""
		}
		u.Email = address
	}
	if origin, clean, ok := weburl.Parse(u.Image); ok && strings.HasPrefix(origin, "https://") && len(clean) <= maxImage {
		u.Image = clean
	} else if !isPicture(u.Image) {
		u.Image = ""
	}
	return u
}

// picture is a data: URL (RFC 2397) of a raster image; SVG could hold more.
var picture = regexp.MustCompile(`^data:image/(jpeg|png|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

func isPicture(s string) bool {
	return len(s) <= base64.StdEncoding.EncodedLen(maxPicture)+32 && picture.MatchString(s)
}

func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n == maxName {
			return s[:i]
		}
		n++
	}
	return s
}

// printable makes foreign text fit for a log line or a message.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), limit)]
}
