package text_test

import (
	"testing"

	"authsvc/internal/text"
)

// TestRedact: a long secret is replaced anywhere, a short one only as a word of its own.
func TestRedact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ s, secret, want string }{
		"none":                {"the name is wrong", "", "the name is wrong"},
		"one letter":          {"a name may not have an a", "a", "[x] name may not have an [x]"},
		"inside a word":       {"the password is wrong", "word", "the password is wrong"},
		"a word":              {"user:word@db", "word", "user:[x]@db"},
		"quoted":              {`"word" is wrong`, "word", `"[x]" is wrong`},
		"twice in a row":      {"word word", "word", "[x] [x]"},
		"after a false start": {"swordword word", "word", "swordword [x]"},
		"overlapping":         {"aaa aa", "aa", "aaa [x]"},
		"not letters":         {"x!!y", "!!", "x[x]y"},
		"other letters":       {"wörter ör ör", "ör", "wörter [x] [x]"},
		"seven bytes":         {"xhunter2x hunter2", "hunter2", "xhunter2x [x]"},
		"eight bytes":         {"xhunter22x", "hunter22", "x[x]x"},
		"the whole text":      {"word", "word", "[x]"},
		"in a code":           {"invalid_grant", "grant", "invalid_grant"},
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
