// Package plainlog keeps untrusted input from controlling a log: it spells out control
// characters, terminal escapes and bidirectional controls before a handler formats
// them.
package plainlog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text spells out every character that is not printable, line ends included, as \u and
// its code, as JSON does. Invalid UTF-8 becomes U+FFFD.
func Text(s string) string { return spell(s, "") }

// OneLine joins the lines of an error, such as those of [errors.Join].
func OneLine(err error) string {
	joined := ""
	for line := range strings.Lines(fmt.Sprint(err)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case joined == "":
			joined = line
		case strings.HasSuffix(joined, ":"): // its details follow
			joined += " " + line
		default:
			joined += "; " + line
		}
	}
	return joined
}

func spell(s, spared string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return odd(r, spared) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			b.WriteRune(r)
		case !odd(r, spared):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// odd reports whether r must be spelled out. Of all blanks, only the space is printed.
func odd(r rune, spared string) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) && !strings.ContainsRune(spared, r)
}

// Handler makes the text of records plain and passes them on to next.
func Handler(next slog.Handler) slog.Handler {
	if h, ok := next.(handler); ok {
		return h
	}
	return handler{next}
}

type handler struct{ next slog.Handler }

// Enabled implements [slog.Handler].
func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.next.WithAttrs(plainAll(attrs))}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler { return handler{h.next.WithGroup(name)} }

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	p := slog.NewRecord(r.Time, r.Level, Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		p.AddAttrs(plain(a))
		return true
	})
	return h.next.Handle(ctx, p)
}

func plainAll(attrs []slog.Attr) []slog.Attr {
	list := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		list[i] = plain(a)
	}
	return list
}

// plain also replaces errors and other values that print themselves by their text, and
// joins the lines of errors. It keeps the lines of a stack, which handlers write as \n.
func plain(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		spared := ""
		if a.Key == "stack" {
			spared = "\n\t"
		}
		v = slog.StringValue(spell(v.String(), spared))
	case slog.KindGroup:
		v = slog.GroupValue(plainAll(v.Group())...)
	case slog.KindAny:
		switch x := v.Any().(type) {
		case nil:
		case error:
			v = slog.StringValue(Text(OneLine(x)))
		case fmt.Stringer:
			v = slog.StringValue(Text(fmt.Sprint(x)))
		case string, []string, []byte, []any, map[string]string, map[string]any:
			v = slog.StringValue(Text(fmt.Sprint(x)))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
