package redis

import (
	"strings"
	"testing"
)

// A step begins with the declarations that it uses, directly or through others, and
// with no others.
func TestWithRecords(t *testing.T) {
	t.Parallel()
	text := withRecords("return session(KEYS[1])")
	for _, want := range []string{"local TAG, call =", "local SESSION =", "local function read(", "local function session("} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not declared once:\n%s", want, text)
		}
	}
	for _, not := range []string{"USER", "key", "live", "--"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is declared:\n%s", not, text)
		}
	}
}
