// Package metrics writes metrics in version 0.0.4 of the text format that Prometheus
// reads. Metrics of Go and of the process have the names that other programs use.
package metrics

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// ContentType is the media type of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Kinds of metric families.
const (
	Counter = "counter"
	Gauge   = "gauge"
	Summary = "summary"
)

// A Text collects metrics in the text format.
type Text struct{ b bytes.Buffer }

// Bytes returns the text.
func (t *Text) Bytes() []byte { return t.b.Bytes() }

// A Sample is a value with the values of its family's labels.
type Sample struct {
	Labels []string
	Value  float64
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Family writes a family and its samples, sorted by their labels. It writes nothing if
// there are no samples.
func (t *Text) Family(name, kind, help string, labels []string, samples ...Sample) {
	if len(samples) == 0 {
		return
	}
	t.head(name, kind, help)
	slices.SortFunc(samples, func(a, b Sample) int { return slices.Compare(a.Labels, b.Labels) })
	for _, s := range samples {
		t.sample(name, labels, s)
	}
}

// One writes a family with one value and no labels.
func (t *Text) One(name, kind, help string, value float64) {
	t.Family(name, kind, help, nil, Sample{Value: value})
}

func (t *Text) head(name, kind, help string) {
	t.b.WriteString("# HELP " + name + " " + escapeHelp.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

func (t *Text) sample(name string, labels []string, s Sample) {
	t.b.WriteString(name)
	for i, label := range labels {
		t.b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + label + `="` + escapeValue.Replace(s.Labels[i]) + `"`)
	}
	if len(labels) > 0 {
		t.b.WriteByte('}')
	}
	t.b.WriteString(" " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
}
