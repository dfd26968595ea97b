package jsonscan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"authsvc/internal/text/jsonscan"
)

func TestMember(t *testing.T) {
	t.Parallel()
	const object = `{"a":{"b":[1,{"c":"}"}]},"b":"x\"y\u00e9","n":-1.5e+3,"t":true,"z":null,"e":{},"l":[]}`
	for name, want := range map[string]string{"a": `{"b":[1,{"c":"}"}]}`, "b": `"x\"y\u00e9"`, "n": "-1.5e+3", "t": "true", "z": "null", "e": "{}", "l": "[]"} {
		if got, ok := jsonscan.Member(object, name); !ok || got != want {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
	for _, c := range []struct{ object, name string }{
		{object, "c"}, {object, ""}, {"", "a"}, {"{", "a"}, {"{}", "a"}, {`[1]`, "a"}, {`{"a"`, "a"}, {`{"a":`, "a"}, {`{"a":1`, "a"},
		{`{"b":1]"a":2}`, "a"}, {`{"b":tru,"a":2}`, "a"}, {`{"b":01,"a":2}`, "a"}, {`{"b":"\x","a":2}`, "a"}, {`{"b":1 ,"a":2}`, "a"},
	} {
		if got, ok := jsonscan.Member(c.object, c.name); ok {
			t.Errorf("%s of %s: %s", c.name, c.object, got)
		}
	}
}

func TestValueRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, s := range []string{"", " 1", "-", "+1", ".5", "1.", "1e", "1e+", `"`, `"\`, `"\u12`, `"\u12g4"`, "\"\n\"", "[1", "[1,]", "{1:2}", `{"a":}`, "nul", deep} {
		if got, _, ok := jsonscan.Value(s); ok && len(got) == len(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

// FuzzValue checks that a cut value is always valid, and that a value of encoding/json
// is cut whole.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,-3e-7,"x\n\u00e9",null,true,{}]}`, "0", "-0", `""`, "[[],{}]", "01", "1.e3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if value, rest, ok := jsonscan.Value(s); ok && (!json.Valid([]byte(value)) || value+rest != s) {
			t.Errorf("%q of %q", value, s)
		}
		var v any
		if !utf8.ValidString(s) || json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		written, err := json.Marshal(v)
		if err != nil {
			return
		}
		value, rest, ok := jsonscan.Value(string(written))
		shallow := strings.Count(s, "[")+strings.Count(s, "{") < 60
		if shallow && (!ok || value != string(written) || rest != "") {
			t.Errorf("%q is cut to %q, %v", written, value, ok)
		}
	})
}
