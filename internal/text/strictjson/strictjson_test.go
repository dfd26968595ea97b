package strictjson

import (
	"errors"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	tests := []struct {
		name, in string
		want     error
	}{
		{"object", `{"a":[1,{"b":null}],"c":{}}`, nil},
		{"space around", " {} \n", nil},
		{"deep enough", nested(MaxDepth), nil},
		{"too deep", nested(MaxDepth + 1), ErrDepth},
		{"far too deep", nested(20000), ErrSyntax},
		{"lists too deep", `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}", ErrDepth},
		{"duplicate", `{"a":1,"a":2}`, ErrDuplicate},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, ErrDuplicate},
		{"duplicate inside", `{"x":[{"a":1,"a":2}]}`, ErrDuplicate},
		{"other case is another member", `{"a":1,"A":2}`, nil},
		{"two values", `{}{}`, ErrSyntax},
		{"truncated", `{"a":1`, ErrSyntax},
		{"trailing comma", `{"a":1,}`, ErrSyntax},
		{"byte order mark", "\ufeff{}", ErrSyntax},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", ErrSyntax},
		{"UTF-16", "{\x00}\x00", ErrSyntax},
		{"empty", "", ErrSyntax},
		{"html", "<html>", ErrSyntax},
		{"list", "[]", ErrNotObject},
		{"null", "null", ErrNotObject},
		{"string", `"x"`, ErrNotObject},
	}
	for _, tt := range tests {
		if _, err := Object([]byte(tt.in)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}
