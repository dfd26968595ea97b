package sessionshape

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
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

// An Origin says how a session began and who acts in it.
type Origin struct {
	AMR      Methods
	SecondAt time.Time // when a second factor was proved; zero: never
	Actor    string    // who acts as the user; empty: the user
}

// Tell sets amr, acr, second_at and act in the claims of a token. It replaces claims of
// those names that the application has set. act is an object with sub (RFC 8693 section
// 4.1).
func (o Origin) Tell(claims map[string]any) {
	for _, name := range []string{"amr", "acr", "second_at", "act"} {
		delete(claims, name)
	}
	if o.AMR != "" {
		claims["amr"], claims["acr"] = o.AMR.List(), o.AMR.Level()
	}
	if !o.SecondAt.IsZero() {
		claims["second_at"] = float64(o.SecondAt.UnixMilli()) / 1000
	}
	if o.Actor != "" {
		claims["act"] = map[string]any{"sub": o.Actor}
	}
}

// Actor is the subject of the act claim.
type Actor string

// ActorOf reads an act claim without spaces that Tell wrote. It returns "" for any
// other value.
func ActorOf(object string) Actor {
	inside, opened := strings.CutPrefix(object, `{"sub":`)
	inside, closed := strings.CutSuffix(inside, "}")
	actor := ""
	if !opened || !closed || json.Unmarshal([]byte(inside), &actor) != nil {
		return ""
	}
	return Actor(actor)
}

// UnmarshalJSON ignores any other kind of value.
func (a *Actor) UnmarshalJSON(b []byte) error {
	var plain bytes.Buffer
	if err := json.Compact(&plain, b); err != nil {
		return err
	}
	*a = ActorOf(plain.String())
	return nil
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
