package text

import (
	"slices"
	"testing"
)

// TestLazyRegexp checks that the methods return the results of package regexp, from the
// first use on.
func TestLazyRegexp(t *testing.T) {
	t.Parallel()
	re := LazyRegexp(`a(b*)`)
	if re.re != nil {
		t.Error("compiled before its first use")
	}
	if !re.MatchString("xab") || re.MatchString("x") {
		t.Error("MatchString")
	}
	if got := re.FindString("xabbc"); got != "abb" {
		t.Errorf("FindString: %q", got)
	}
	if got := re.FindStringSubmatch("xabbc"); !slices.Equal(got, []string{"abb", "bb"}) {
		t.Errorf("FindStringSubmatch: %q", got)
	}
	if got := re.FindAllString("ab a", -1); !slices.Equal(got, []string{"ab", "a"}) {
		t.Errorf("FindAllString: %q", got)
	}
	if got := re.FindAllStringSubmatch("ab a", 1); len(got) != 1 || !slices.Equal(got[0], []string{"ab", "b"}) {
		t.Errorf("FindAllStringSubmatch: %q", got)
	}
	if got := re.ReplaceAllString("xab", "$1"); got != "xb" {
		t.Errorf("ReplaceAllString: %q", got)
	}
	if got := re.ReplaceAllStringFunc("xab", func(s string) string { return "<" + s + ">" }); got != "x<ab>" {
		t.Errorf("ReplaceAllStringFunc: %q", got)
	}
}
