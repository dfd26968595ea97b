package migratefrom

import (
	"bytes"
	"encoding/json"
	"strings"

	"authsvc/internal/text"
)

// A pair is an entry of a mapping of the proposal.
type pair struct {
	key     string
	value   any    // string, literal, []any or mapping
	comment string // above it
}

type mapping []pair

// literal is a value that is written as it is: a number, a boolean, a duration.
type literal string

func (m *mapping) set(key string, value any) { *m = append(*m, pair{key: key, value: value}) }

// get returns the value of a key.
func (m mapping) get(key string) any {
	for _, p := range m {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// text writes the proposal: two levels in lines, and deeper ones in brackets.
func (m mapping) text() []byte {
	var b bytes.Buffer
	for _, p := range m {
		p.writeComment(&b, "")
		switch v := p.value.(type) {
		case mapping:
			b.WriteString(p.key + ":\n")
			for _, q := range v {
				q.writeComment(&b, "  ")
				b.WriteString("  " + scalar(q.key) + ": " + flow(q.value) + "\n")
			}
		case []any:
			b.WriteString(p.key + ":\n")
			for _, item := range v {
				b.WriteString("  - " + flow(item) + "\n")
			}
		default:
			b.WriteString(p.key + ": " + flow(v) + "\n")
		}
	}
	return b.Bytes()
}

func (p pair) writeComment(b *bytes.Buffer, indent string) {
	if p.comment == "" {
		return
	}
	for line := range strings.SplitSeq(p.comment, "\n") {
		b.WriteString(indent + "# " + line + "\n")
	}
}

func flow(value any) string {
	switch v := value.(type) {
	case literal:
		return string(v)
	case string:
		return scalar(v)
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, flow(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case mapping:
		var items []string
		for _, p := range v {
			items = append(items, scalar(p.key)+": "+flow(p.value))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return `""`
}

// bare matches texts that YAML reads as texts without quotes, also in brackets. A colon
// must be followed by more text.
var bare = text.LazyRegexp(`^[A-Za-z_/.][A-Za-z0-9_/.@+-]*(:[A-Za-z0-9_/.@+-]+)*$`)

// scalar quotes a text where YAML could read it as something else.
func scalar(s string) string {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", ".nan":
	default:
		if bare.MatchString(s) {
			return s
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	// JSON leaves some characters as they are that YAML refuses.
	return odd.ReplaceAllStringFunc(strings.TrimSuffix(b.String(), "\n"), func(c string) string { return "\ufffd" })
}

var odd = text.LazyRegexp("[\u007f-\u0084\u0086-\u009f\ufeff\ufffe\uffff]")

// literally returns a text of the application such that the loader of configurations
// does not take it for a reference.
func literally(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// texts returns a list of texts as a value.
func texts(list []string) (values []any) {
	for _, s := range list {
		values = append(values, s)
	}
	return values
}
