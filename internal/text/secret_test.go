package text_test

import (
	"testing"

	"authsvc/internal/text"
)

// TestRedact: a long secret is replaced anywhere, a short one unless letters join it on both
// sides.
func TestRedact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ s, secret, want string }{
		"none":              {"the name is wrong", "", "the name is wrong"},
		"one letter":        {"a name may have bananas", "a", "[x] name may have bananas"},
		"inside a word":     {"the passwords are wrong", "word", "the passwords are wrong"},
		"a word":            {"user:word@db", "word", "user:[x]@db"},
		"quoted":            {`"word" is wrong`, "word", `"[x]" is wrong`},
		"after a letter":    {"the password is wrong", "word", "the pass[x] is wrong"},
		"before a letter":   {"PASS=hunter2x", "hunter2", "PASS=[x]x"},
		"after a digit":     {"4hunter2x", "hunter2", "4[x]x"},
		"before a digit":    {"xhunter22", "hunter2", "x[x]2"},
		"after _":           {"password_hunter2", "hunter2", "password_[x]"},
		"between _":         {"a_hunter2_b", "hunter2", "a_[x]_b"},
		"after \\x":         {`\x00bob\x00hunter2`, "hunter2", `\x00bob\x00[x]`},
		"after \\u":         {`bob\u0000hunter2`, "hunter2", `bob\u0000[x]`},
		"after %":           {"bob%00hunter2", "hunter2", "bob%00[x]"},
		"between escapes":   {`bob\nhunter2\n`, "hunter2", `bob\n[x]\n`},
		"twice in a row":    {"word word", "word", "[x] [x]"},
		"thrice in one":     {"wordwordword", "word", "[x][x][x]"},
		"thrice in another": {"swordwordwords", "word", "swordwordwords"},
		"after another":     {"swords word", "word", "swords [x]"},
		"overlapping":       {"baaab aa", "aa", "baaab [x]"},
		"not letters":       {"x!!y", "!!", "x[x]y"},
		"half letters":      {"xwor!y", "wor!", "x[x]y"},
		"other letters":     {"wörter ör ör", "ör", "wörter [x] [x]"},
		"not UTF-8":         {"x\xffab\xff", "ab", "x\xff[x]\xff"},
		"seven bytes":       {"xhunter2x hunter2", "hunter2", "xhunter2x [x]"},
		"eight bytes":       {"xhunter22x", "hunter22", "x[x]x"},
		"the whole text":    {"word", "word", "[x]"},
		"in a code":         {"invalid_grant", "grant", "invalid_[x]"},
		"in part of a code": {"invalid_grant", "ran", "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := text.Redact(c.s, c.secret, "[x]"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := text.Reveals(c.s, c.secret); got != (c.want != c.s) {
				t.Errorf("reveals: %t", got)
			}
		})
	}
}
