package plainlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"authsvc/internal/text/plainlog"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	one, two := errors.New("dial: refused"), errors.New("close: gone")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"one line":     {one, "dial: refused"},
		"joined":       {errors.Join(one, two), "dial: refused; close: gone"},
		"with details": {fmt.Errorf("two failed:\n  %w\n\n  %w\n", one, two), "two failed: dial: refused; close: gone"},
		"a nil error":  {(*broken)(nil), "<nil>"},
	} {
		if got := plainlog.OneLine(tt.err); got != tt.want {
			t.Errorf("%s: %q; want %q", name, got, tt.want)
		}
	}
}

// broken panics in Error if it is nil.
type broken struct{ text string }

func (b *broken) Error() string { return b.text }

// TestErrorsInTheLog checks that the lines of an error become one, and that other
// control characters are spelled out, in errors and in text.
func TestErrorsInTheLog(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value any
		want  string
	}{
		"joined errors": {errors.Join(errors.New("a"), errors.New("b")), `v="a; b"`},
		"escape":        {errors.New("a\x1b[31m\nb"), `v="a\\u001b[31m; b"`},
		"text":          {"a\nb", `v=a\u000ab`},
		"plain":         {errors.New("a: b"), `v="a: b"`},
	} {
		var b bytes.Buffer
		slog.New(plainlog.Handler(slog.NewTextHandler(&b, nil))).Info("m", "v", tt.value)
		if !strings.HasSuffix(b.String(), " "+tt.want+"\n") || strings.Count(b.String(), "\n") != 1 {
			t.Errorf("%s: %s; want %s", name, &b, tt.want)
		}
	}
}
