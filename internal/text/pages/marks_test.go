package pages

import (
	"os"
	"strings"
	"testing"
)

// TestMarksSayWhereTheyComeFrom checks that exactly the filled symbols name an author.
func TestMarksSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	for name, s := range symbols {
		if (s.from == "") != s.line {
			t.Errorf("%s: line %t, from %q", name, s.line, s.from)
		}
	}
	for name := range outlines {
		if _, twice := symbols[name]; twice {
			t.Errorf("%s is both a symbol and an outline", name)
		}
		if s, ok := symbolOf(name); !ok || !strings.Contains(s.from, "CC0-1.0") {
			t.Errorf("%s is from %q", name, s.from)
		}
	}
}

// TestMarksAreDocumented checks that docs/configuration.md names each mark.
func TestMarksAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "The built-in marks are ")
	list, _, _ = strings.Cut(list, ".\n")
	if want := "`" + strings.Join(markNames(), "`, `") + "`"; list != want {
		t.Errorf("docs/configuration.md names %s;\nwant %s", list, want)
	}
}
