package oidc

import (
	"testing"

	"authsvc/internal/text/strictjson"
)

func TestClaimsString(t *testing.T) {
	t.Parallel()
	object, err := strictjson.Object([]byte(`{
		"id": 9007199254740993, "big": 123456789012345678901234567890, "neg": -5, "one": 1.0, "half": 0.50, "zero": -0,
		"exp": 1e3, "null": null, "yes": true, "yesText": "true", "empty": "",
		"a": {"b": [{"c": "deep"}, {"c": 7}]},
		"https://example.com/role": "admin", "x.y": {"z": "dotted"}
	}`))
	wantError(t, err, "")
	c := Claims(object)
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
