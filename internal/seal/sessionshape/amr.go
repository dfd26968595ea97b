package sessionshape

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Methods are the values of amr, with spaces between; empty: unknown.
type Methods string

// List is the claim amr.
func (m Methods) List() []string {
	if m == "" {
		return nil
	}
	return strings.Fields(string(m))
}

// Level is the claim acr.
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

// Tell sets the claims of a token, in place of what an application has by their
// names.
func (m Methods) Tell(claims map[string]any) {
	delete(claims, "amr")
	delete(claims, "acr")
	if m != "" {
		claims["amr"], claims["acr"] = m.List(), m.Level()
	}
}

// MethodsOf reads the claim amr as Tell writes it. An application may have a claim of
// any kind by that name.
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

// maxMethods bounds methods, in bytes.
const maxMethods = 255

// methodRune is about what a value of amr consists of.
func methodRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/+-", r)
}

// UnmarshalJSON keeps no other kind of value.
func (m *Methods) UnmarshalJSON(b []byte) error {
	var plain bytes.Buffer
	if err := json.Compact(&plain, b); err != nil {
		return err
	}
	*m = MethodsOf(plain.String())
	return nil
}

// ACR is the claim acr.
type ACR string

// ACROf reads it as Tell writes it.
func ACROf(text string) ACR {
	switch text {
	case `"1fa"`, `"2fa"`, `"phr"`:
		return ACR(text[1 : len(text)-1])
	}
	return ""
}

// UnmarshalJSON keeps no other kind of value.
func (a *ACR) UnmarshalJSON(b []byte) error {
	*a = ACROf(string(b))
	return nil
}
