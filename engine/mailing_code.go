package engine

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"authsvc/internal/seal"
)

// newCode returns a uniformly random code.
func newCode() string {
	const codes, bound = 100_000_000, 42 * 100_000_000 // bound is a multiple of codes below 1<<32
	for {
		if n := binary.BigEndian.Uint32(seal.Random(4)); n < bound {
			return fmt.Sprintf("%0*d", codeDigits, n%codes)
		}
	}
}

// shownCode formats a code for people to copy: 1234 5678.
func shownCode(code string) string {
	if code == "" {
		return ""
	}
	return code[:codeDigits/2] + " " + code[codeDigits/2:]
}

// typedCode reads a code that a person typed or pasted. It accepts spaces, hyphens and
// the wide digits of East Asian keyboards.
func typedCode(s string) (code string, ok bool) {
	if len(s) > maxTyped {
		return "", false
	}
	code = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Pd, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	return code, len(code) == codeDigits && strings.Trim(code, "0123456789") == ""
}

const codeTries = 5 // for one request, however many copies of the cookie there are

const codeDigits = 8

const maxTyped = 64 // bytes of a typed code
