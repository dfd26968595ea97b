package sessionshape

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Methods holds the values of the amr claim, separated by spaces; empty: unknown.
type Methods string

// List returns the values as the amr claim has them.
func (m Methods) List() []string {
	if m == "" {
		return nil
	}
	return strings.Fields(string(m))
}

// Level returns the acr claim: phr, 2fa or 1fa; empty if m is empty.
func (m Methods) Level() string {
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

// Tell sets amr and acr in the claims of a token. It replaces claims of those names
// that the application has set.
func (m Methods) Tell(claims map[string]any) {
	delete(claims, "amr")
	delete(claims, "acr")
	if m != "" {
		claims["amr"], claims["acr"] = m.List(), m.Level()
	}
}

// MethodsOf reads an amr claim that Tell wrote. It returns "" for any other value,
// because an application may have its own claim of that name.
func MethodsOf(array string) Methods {
	inside, opened := strings.CutPrefix(array, `["`)
	inside, closed := strings.CutSuffix(inside, `"]`)
	if !opened || !closed || strings.Contains(inside, " ") {
		return ""
	}
	values := strings.ReplaceAll(inside, `","`, " ")
	if len(values) > maxMethods || strings.ContainsFunc(values, func(r rune) bool { return r != ' ' && !methodRune(r) }) {
		return ""
	}
	return Methods(values)
}

// maxMethods bounds Methods, in bytes.
const maxMethods = 255

// methodRune reports whether a value of amr may contain r.
func methodRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/+-", r)
}

// UnmarshalJSON ignores any other kind of value.
func (m *Methods) UnmarshalJSON(b []byte) error {
	var plain bytes.Buffer
	if err := json.Compact(&plain, b); err != nil {
		return err
	}
	*m = MethodsOf(plain.String())
	return nil
}

// ACR is the value of the acr claim.
type ACR string

// ACROf reads an acr claim that Tell wrote. It returns "" for any other value.
func ACROf(text string) ACR {
	switch text {
	case `"1fa"`, `"2fa"`, `"phr"`:
		return ACR(text[1 : len(text)-1])
	}
	return ""
}

// UnmarshalJSON ignores any other kind of value.
func (a *ACR) UnmarshalJSON(b []byte) error {
	*a = ACROf(string(b))
	return nil
}
