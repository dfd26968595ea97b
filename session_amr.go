package authsvc

import (
	"bytes"
	"encoding/json"
	"strings"
)

// AMR returns by which methods the person signed in, nil if that is not known:
// values of RFC 8176, and fed (an identity provider), email (a link or a code by
// mail) and app (the application's own credentials). Sessions from before authsvc
// kept it, and of other programs, have none.
func (s *Session) AMR() []string { return s.amr.list() }

// ACR returns what the methods of AMR amount to: 1fa (one factor), 2fa (two) or phr
// (a passkey); empty: unknown. It counts factors and stands for no level of NIST or
// of a provider.
func (s *Session) ACR() string { return s.amr.level() }

// methods are the values of amr, with spaces between; empty: unknown.
type methods string

func (m methods) list() []string {
	if m == "" {
		return nil
	}
	return strings.Fields(string(m))
}

// level is acr.
func (m methods) level() string {
	level := ""
	for one := range strings.FieldsSeq(string(m)) {
		switch {
		case one == "pop":
			return "phr"
		case one == "mfa":
			level = "2fa"
		case level == "":
			level = "1fa"
		}
	}
	return level
}

// tell sets the claims of a token, in place of what an application has by their
// names.
func (m methods) tell(claims map[string]any) {
	delete(claims, "amr")
	delete(claims, "acr")
	if m != "" {
		claims["amr"], claims["acr"] = m.list(), m.level()
	}
}

// methodsOf reads the claim amr as tell writes it. An application may have a claim of
// any kind by that name.
func methodsOf(array string) methods {
	inside, opened := strings.CutPrefix(array, `["`)
	inside, closed := strings.CutSuffix(inside, `"]`)
	if !opened || !closed || strings.Contains(inside, " ") {
		return ""
	}
	values := strings.ReplaceAll(inside, `","`, " ")
	if len(values) > maxMethods || strings.ContainsFunc(values, func(r rune) bool { return r != ' ' && !methodRune(r) }) {
		return ""
	}
	return methods(values)
}

// maxMethods bounds methods, in bytes.
const maxMethods = 255

// methodRune is about what a value of amr consists of.
func methodRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/+-", r)
}

// UnmarshalJSON keeps no other kind of value.
func (m *methods) UnmarshalJSON(b []byte) error {
	var plain bytes.Buffer
	if err := json.Compact(&plain, b); err != nil {
		return err
	}
	*m = methodsOf(plain.String())
	return nil
}

// acrClaim is the claim acr.
type acrClaim string

// acrOf reads it as tell writes it.
func acrOf(text string) acrClaim {
	switch text {
	case `"1fa"`, `"2fa"`, `"phr"`:
		return acrClaim(text[1 : len(text)-1])
	}
	return ""
}

// UnmarshalJSON keeps no other kind of value.
func (a *acrClaim) UnmarshalJSON(b []byte) error {
	*a = acrOf(string(b))
	return nil
}

// checkMethods forgets amr unless acr is what it amounts to: by these names
// applications have had claims of their own, which count for nothing.
func (c *sessionClaims) checkMethods() {
	if string(c.ACR) != c.AMR.level() {
		c.AMR, c.ACR = "", ""
	}
}

// amr is how an identity was proved.
func (id *identity) amr() string {
	switch {
	case id.proof:
		return "email"
	case id.stored:
		return "app"
	}
	return "fed"
}
