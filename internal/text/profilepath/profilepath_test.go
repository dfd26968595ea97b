package profilepath

import (
	"encoding/json"
	"strings"
	"testing"
)

const person = `{"id": 12345678901234567, "name": {"first": "Ada", "last": ""}, "a b": {"c.d": "odd"}, "ok": true,
	"emails": [{"email": "old@x.test", "primary": false}, {"email": "ada@x.test", "primary": true, "rank": 1}]}`

func profile(t *testing.T) Roots {
	t.Helper()
	var p map[string]any
	d := json.NewDecoder(strings.NewReader(person))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		t.Fatal(err)
	}
	return Roots{Profile: p, Token: map[string]any{"scope": "openid"}}
}

func TestText(t *testing.T) {
	t.Parallel()
	from := profile(t)
	for path, want := range map[string]string{
		"id":                           "12345678901234567",
		"token.scope":                  "openid",
		"scope":                        "",
		"name.first":                   "Ada",
		"name.last|name.first":         "Ada",
		"emails[primary=true].email":   "ada@x.test",
		"emails[rank=1].email":         "ada@x.test",
		"emails[rank=\"1\"].email":     "", // text is not a number
		"emails[0].email":              "old@x.test",
		"emails[7].email":              "",
		`"a b"."c.d"`:                  "odd",
		"{name.first} {name.last}":     "Ada",
		"{name.last}":                  "",
		"name":                         "",
		"ok":                           "",
		"id.more":                      "",
		"missing|{name.first} of {id}": "Ada of 12345678901234567",
	} {
		f, err := Parse(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := f.Text(from); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	from := profile(t)
	for path, want := range map[string]string{"{name.first}-{name.last}": "", "{name.first}-{id}": "Ada-12345678901234567", "id": "12345678901234567"} {
		f, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Whole(); f.Text(from) != want {
			t.Errorf("%s: %q, want %q", path, f.Text(from), want)
		}
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	f, err := Parse("missing|ok")
	if err != nil || f.Value(profile(t)) != true || f.Value(Roots{}) != nil {
		t.Errorf("%v, %v, %v", err, f.Value(profile(t)), f.Value(Roots{}))
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "a.", ".a", "a[", "a[x]", "a[-1]", "a[99999]", `"a`, "{a", "a|", "a b", strings.Repeat("a.", maxSteps) + "a", strings.Repeat("a", maxPath+1)} {
		if f, err := Parse(path); err == nil {
			t.Errorf("%.40q is taken: %v", path, f)
		}
	}
}
