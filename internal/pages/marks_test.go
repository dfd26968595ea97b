package pages

import "testing"

// TestMarksSayWhereTheyComeFrom: filled symbols are marks of others.
func TestMarksSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	for name, s := range symbols {
		if (s.from == "") != s.line {
			t.Errorf("%s: line %t, from %q", name, s.line, s.from)
		}
	}
}
