package personaltoken

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestForm checks that a token has the documented form, and that all tokens differ.
func TestForm(t *testing.T) {
	t.Parallel()
	whole := regexp.MustCompile("^" + Pattern + "$")
	seen := map[string]bool{}
	for range 1000 {
		token := New()
		if !whole.MatchString(token) || !WellFormed(token) || len(token) != 54 || seen[token] {
			t.Fatalf("%q", token)
		}
		seen[token] = true
	}
}

// TestKnown checks that the form does not change, because tokens are in use.
func TestKnown(t *testing.T) {
	t.Parallel()
	for b, want := range map[byte]string{
		0x00: "asv1_00000000000000000000000000000000000000000003o0QmF",
		0x2a: "asv1_9zuQWWzsuUItctynUYyncDlKI5ZTuPizoWXgXaviRS60Q9CAA",
		0xff: "asv1_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp11puRtP",
	} {
		if got := of(bytes.Repeat([]byte{b}, 32)); got != want || !WellFormed(got) {
			t.Errorf("%x: %q, want %q", b, got, want)
		}
	}
}

// TestMistakes checks that a changed, missing or added character is always detected.
func TestMistakes(t *testing.T) {
	t.Parallel()
	token := of(bytes.Repeat([]byte{0x2a}, 32))
	if !WellFormed(token) {
		t.Fatal("twin")
	}
	tried := 0
	for i := range token {
		for _, c := range []byte("09azAZ_-. \x00\xff") {
			if changed := token[:i] + string(c) + token[i+1:]; changed != token && WellFormed(changed) {
				t.Errorf("%q", changed)
			}
			if WellFormed(token[:i] + string(c) + token[i:]) {
				t.Errorf("%q at %d", c, i)
			}
			tried += 2
		}
		if WellFormed(token[:i]+token[i+1:]) || WellFormed(token[:i]) || i+2 <= len(token) && token[i] != token[i+1] && WellFormed(token[:i]+string(token[i+1])+string(token[i])+token[i+2:]) {
			t.Errorf("cut or swapped at %d", i)
		}
	}
	for _, text := range []string{"", "asv1_", strings.ToUpper(token), strings.ToLower(token), token + "\n", " " + token, strings.Repeat("a", 54), token + token} {
		if WellFormed(text) {
			t.Errorf("%q", text)
		}
	}
	if tried < 1000 {
		t.Errorf("only %d tried", tried)
	}
}

// find returns the well-formed tokens in a text, as a scanner does.
func find(text string) (found []string) {
	for _, token := range regexp.MustCompile(Pattern).FindAllString(text, -1) {
		if WellFormed(token) {
			found = append(found, token)
		}
	}
	return found
}

// TestScanners checks that the documented expression is ours, and finds tokens where
// they leak.
func TestScanners(t *testing.T) {
	t.Parallel()
	token := New()
	for _, where := range []string{token, "TOKEN=" + token, `{"t":"` + token + `"}`, "https://x.example/?t=" + token + "&a=b", "Bearer " + token + "\n", "(" + token + ")"} {
		if found := find(where); len(found) != 1 || found[0] != token {
			t.Errorf("%s: %v", where, found)
		}
	}
	for _, where := range []string{"", "x" + token, token + "x", token[:53], "asv2_" + token[5:], token[:53] + "-", token[:10] + "\n" + token[10:]} {
		if found := find(where); len(found) != 0 {
			t.Errorf("%s: %v", where, found)
		}
	}
	page, err := os.ReadFile("../../../docs/tokens.md")
	if err != nil || !strings.Contains(string(page), "`"+Pattern+"`") {
		t.Errorf("docs/tokens.md does not have %s, %v", Pattern, err)
	}
}
