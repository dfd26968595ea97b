package oidc

import (
	"errors"
	"strings"
	"testing"
)

func TestClaimsString(t *testing.T) {
	t.Parallel()
	c, err := decodeObject([]byte(`{
		"id": 9007199254740993, "big": 123456789012345678901234567890, "neg": -5, "one": 1.0, "half": 0.50, "zero": -0,
		"exp": 1e3, "null": null, "yes": true, "yesText": "true", "empty": "",
		"a": {"b": [{"c": "deep"}, {"c": 7}]},
		"https://example.com/role": "admin", "x.y": {"z": "dotted"}
	}`))
	wantError(t, err, "")
	tests := []struct {
		path, want string
		ok         bool
	}{
		{"id", "9007199254740993", true},
		{"big", "123456789012345678901234567890", true},
		{"neg", "-5", true}, {"one", "1", true}, {"half", "0.5", true}, {"zero", "0", true},
		{"empty", "", true},
		{"a.b.0.c", "deep", true}, {"a.b.1.c", "7", true},
		{"https://example.com/role", "admin", true},
		{"exp", "", false}, {"null", "", false}, {"yes", "", false}, {"a", "", false}, {"a.b", "", false},
		{"a.b.2.c", "", false}, {"a.b.-1.c", "", false}, {"a.b.+0.c", "", false}, {"a.b.00.c", "", false},
		{"a.b.x.c", "", false}, {"id.x", "", false}, {"ID", "", false}, {"", "", false}, {"missing", "", false},
	}
	for _, tt := range tests {
		if got, ok := c.String(tt.path); got != tt.want || ok != tt.ok {
			t.Errorf("String(%q) = %q, %t", tt.path, got, ok)
		}
	}
	for path, want := range map[string]bool{"yes": true, "yesText": false, "one": false, "null": false, "missing": false} {
		if got := c.Bool(path); got != want {
			t.Errorf("Bool(%q) = %t", path, got)
		}
	}
}

func TestDecodeObject(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	tests := []struct {
		name, in string
		want     error
	}{
		{"object", `{"a":[1,{"b":null}],"c":{}}`, nil},
		{"space around", " {} \n", nil},
		{"deep enough", nested(maxDepth), nil},
		{"too deep", nested(maxDepth + 1), errDepth},
		{"far too deep", nested(20000), errJSON},
		{"lists too deep", `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}", errDepth},
		{"duplicate", `{"a":1,"a":2}`, errDuplicate},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, errDuplicate},
		{"duplicate inside", `{"x":[{"a":1,"a":2}]}`, errDuplicate},
		{"other case is another member", `{"a":1,"A":2}`, nil},
		{"two values", `{}{}`, errJSON},
		{"truncated", `{"a":1`, errJSON},
		{"trailing comma", `{"a":1,}`, errJSON},
		{"byte order mark", "\ufeff{}", errJSON},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", errJSON},
		{"UTF-16", "{\x00}\x00", errJSON},
		{"empty", "", errJSON},
		{"html", "<html>", errJSON},
		{"list", "[]", errNotObject},
		{"null", "null", errNotObject},
		{"string", `"x"`, errNotObject},
	}
	for _, tt := range tests {
		if _, err := decodeObject([]byte(tt.in)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}
