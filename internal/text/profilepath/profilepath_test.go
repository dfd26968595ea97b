package profilepath

import (
	"bytes"
	"encoding/json"
	"slices"
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

// TestSeveral checks paths that lead to lists.
func TestSeveral(t *testing.T) {
	t.Parallel()
	const roles = `{"keys": {"ops": {"org": "a"}, "admin": {"org": "b"}}, "objects": [{"name": "admin"}, {"id": 2}, {"name": null}, {"name": "ops", "in": ["a", "b"]}, "x", null],
		"text": " admin, ops;;dev ", "list": ["a", "b"], "empty": {}, "none": [], "blank": " , ", "null": null, "one": 1,
		"access": {"b": {"roles": ["edit", null]}, "a": {"roles": ["view", "edit"]}, "c": {}}, "deep": {"x": {"p": 1, "q": 2}, "y": {"r": 3}, "z": []}}`
	var from Roots
	d := json.NewDecoder(strings.NewReader(roles))
	d.UseNumber()
	if err := d.Decode(&from.Profile); err != nil {
		t.Fatal(err)
	}
	from.Token = map[string]any{"scope": "openid email"}
	for path, want := range map[string]string{
		"keys[keys]":                          `["admin","ops"]`,
		"keys[].org":                          `["b","a"]`, // in the order of the names
		"objects[].name":                      `["admin","ops"]`,
		"objects[].in":                        `["a","b"]`,
		"objects[name=ops].in[]":              `["a","b"]`,
		"objects[].in[1]":                     `["b"]`,
		"access[].roles":                      `["view","edit","edit"]`,
		"access[].roles[]":                    `["view","edit","edit"]`,
		"deep[][keys]":                        `["p","q","r"]`,
		"list[]":                              `["a","b"]`,
		"list":                                `["a","b"]`,
		`text[split ",;"]`:                    `["admin","ops","dev"]`,
		`text[split ","]`:                     `["admin","ops;;dev"]`,
		`text[split  "|"]`:                    `["admin, ops;;dev"]`,
		`token.scope[split " "]`:              `["openid","email"]`,
		`list[][split "/"]`:                   `["a","b"]`,
		"empty[keys]":                         `[]`,
		"none[]":                              `[]`,
		`blank[split ","]`:                    `[]`,
		"objects[].missing":                   `[]`,
		"list[keys]":                          `null`,
		"text[]":                              `null`,
		"text[keys]":                          `null`,
		`keys[split ","]`:                     `null`,
		`one[split ","]`:                      `null`,
		"missing[]":                           `null`,
		"null[keys]":                          `null`,
		`missing[keys]|text[split ",;"]|list`: `["admin","ops","dev"]`,
		"list[keys]|list":                     `["a","b"]`,
		"list[].name|list":                    `["a","b"]`,
		"objects[].name|list":                 `["admin","ops"]`,
		"list[].name|none[]|missing":          `[]`,
		`"keys"[keys]`:                        `["admin","ops"]`,
	} {
		f, err := Parse(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if raw, _ := json.Marshal(f.Value(from)); string(raw) != want {
			t.Errorf("%s: %s, want %s", path, raw, want)
		}
		if f.Several() != (path != "list") || f.Text(from) != "" {
			t.Errorf("%s: several %v, as text %q", path, f.Several(), f.Text(from))
		}
	}
	if raw, _ := json.Marshal(from.Profile["access"]); string(raw) != `{"a":{"roles":["view","edit"]},"b":{"roles":["edit",null]},"c":{}}` {
		t.Errorf("the profile was changed: %s", raw)
	}
}

// TestSeveralFilters checks that filters on members with the new words still work.
func TestSeveralFilters(t *testing.T) {
	t.Parallel()
	from := Roots{Profile: map[string]any{"a": []any{map[string]any{"keys": "x", "split": "y", "v": "found"}}}}
	for _, path := range []string{"a[keys=x].v", "a[split=y].v", "a[keys=x&split=y].v", "a[0].v"} {
		if f, err := Parse(path); err != nil || f.Text(from) != "found" || f.Several() {
			t.Errorf("%s: %v, %q", path, err, f.Text(from))
		}
	}
}

// TestSeveralMistakes checks that a mistake says where it is and how to mend it.
func TestSeveralMistakes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a[split]":                           `needs separators in double quotes after split, as in [split ","]`,
		"a[split ,]":                         `needs separators in double quotes after split, as in [split ","]`,
		`a[split ""]`:                        `needs separators in double quotes after split, as in [split ","]`,
		`a[split "x,"]`:                      `has a letter or a digit as a separator after split`,
		`a[split ",1"]`:                      `has a letter or a digit as a separator after split`,
		`a[split ","`:                        `ends too early`,
		`a[split ",".b]`:                     `is not a path from ".b]" on`,
		`a[split ",`:                         `has a quote that does not end`,
		"a[ ]":                               `is not a path from " ]" on`,
		"a[keys].":                           `ends too early`,
		"a[key]":                             `is not a path from "]" on`,
		"[]":                                 `is not a path from "[]" on`,
		"{a[keys]} x":                        `has a path with several values in braces`,
		"{b|a[].c}":                          `has a path with several values in braces`,
		"a" + strings.Repeat("[]", maxSteps): "has too many steps",
	} {
		if _, err := Parse(path); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// FuzzProfilePath checks that no path and no profile make the parser or a reading panic,
// that a path to several values leads to a list without null, or to nothing, and that
// the profile stays as it is.
func FuzzProfilePath(f *testing.F) {
	for _, path := range []string{"a.b[0].c", "emails[primary=true].email", `"a b"."c.d"`, "{a} {b}", "a|b", "a[].b", "a[keys]", `a[split ",;"]`, `a[][keys]|token.b[split " "]`, "a[keys=1&b=\"c\"].d", `a[split "\""]`} {
		f.Add(path, `{"a":{"b":[{"c":"d, e"}]},"emails":[{"primary":true}]}`)
	}
	f.Add("a[][][]", `{"a":[[[1,null],{"b":[null]}],"c"]}`)
	f.Fuzz(func(t *testing.T, path, profile string) {
		p, err := Parse(path)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 200 {
				t.Errorf("%q: %q", path, err)
			}
			return
		}
		var from Roots
		if json.Unmarshal([]byte(profile), &from.Profile) != nil {
			return
		}
		from.Token = from.Profile
		before, _ := json.Marshal(from.Profile)
		p.Text(from)
		v := p.Value(from)
		if len(p) == 1 && p.Several() && v != nil {
			list, ok := v.([]any)
			if !ok || slices.ContainsFunc(list, func(v any) bool { return v == nil }) {
				t.Errorf("%q leads to %#v", path, v)
			}
		}
		if after, _ := json.Marshal(from.Profile); !bytes.Equal(before, after) {
			t.Errorf("%q changes the profile from %s to %s", path, before, after)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "a.", ".a", "a[", "a[x]", "a[-1]", "a[99999]", `"a`, "{a", "a|", "a b", strings.Repeat("a.", maxSteps) + "a", strings.Repeat("a", maxPath+1)} {
		if f, err := Parse(path); err == nil {
			t.Errorf("%.40q is taken: %v", path, f)
		}
	}
}
