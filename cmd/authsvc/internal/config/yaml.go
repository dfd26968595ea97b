package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A shape is the kind of a value in YAML.
type shape int

const (
	absent shape = iota // not written, or null
	scalar
	list
	mapping
)

// A value is what somebody wrote, and where.
type value struct {
	shape   shape
	place   string
	raw     string // of a scalar, as written; for messages
	text    string // of a scalar, with ${NAME} expanded
	items   []value
	members []member
}

type member struct {
	key, place string
	value      value
}

// maxDepth bounds the nesting of the file; four levels have a meaning.
const maxDepth = 16

// parse reads one YAML document that is a mapping. It refuses aliases, and with
// them documents that grow when they are read.
func (l *loader) parse(file string, raw []byte) value {
	if file == "" {
		return value{}
	}
	const fix = "start with: url: https://app.example.com"
	d := yaml.NewDecoder(bytes.NewReader(raw))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	if err == nil {
		if second := d.Decode(&more); second == nil {
			l.fail(l.at(&more), "", "begins a second document", "keep one document in the file, without ---")
		} else if !errors.Is(second, io.EOF) {
			err = second
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		l.fail(file, "", "is empty", fix)
		return value{}
	case err != nil:
		l.syntaxError(err)
		return value{}
	}
	v := value{}
	if len(doc.Content) == 1 {
		v = l.convert(doc.Content[0], 0)
	}
	switch {
	case len(l.mistakes) > 0:
	case v.shape == absent:
		l.fail(file, "", "is empty", fix)
	case v.shape != mapping:
		l.fail(v.place, "", "is not a list of keys", fix)
	default:
		return v
	}
	return value{shape: v.shape, members: v.members}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError records an error of the YAML library as a mistake. The library
// quotes names of anchors and tagged values, and either may be a secret that
// was not put in quotes.
func (l *loader) syntaxError(err error) {
	place, text := l.file, "it cannot be read"
	if m := yamlLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); m != nil {
		if text = m[2]; m[1] != "" {
			place += ":" + m[1]
		}
	}
	if strings.Contains(text, "anchor") || strings.Contains(text, "`") {
		text = "a value begins with *, & or !"
	}
	l.fail(place, "", "is not YAML: "+text, "put quotes around values that hold more than letters and digits")
}

func (l *loader) at(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d", l.file, max(n.Line, 1))
}

// convert copies a node.
func (l *loader) convert(n *yaml.Node, depth int) value {
	v := value{place: l.at(n)}
	switch {
	case depth > maxDepth:
		l.fail(v.place, "", "is nested too deeply", "no key has more than four levels")
	case n.Kind == yaml.AliasNode:
		l.fail(v.place, "", "is an alias (*)", "write the value out, in quotes if it begins with *")
	case n.Style&yaml.TaggedStyle != 0:
		l.fail(v.place, "", "has a tag (!)", "write the value without one, in quotes if it begins with !")
	case n.Kind == yaml.ScalarNode:
		if n.Tag != "!!null" {
			v.shape, v.raw = scalar, n.Value
		}
	case n.Kind == yaml.SequenceNode:
		v.shape = list
		for _, item := range n.Content {
			v.items = append(v.items, l.convert(item, depth+1))
		}
	case n.Kind == yaml.MappingNode:
		v.shape = mapping
		v.members = l.convertMembers(n, depth)
	}
	return v
}

func (l *loader) convertMembers(n *yaml.Node, depth int) []member {
	var members []member
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			l.fail(l.at(k), "", "has a key that is not text", "write key: value")
			continue
		}
		if line, twice := seen[k.Value]; twice {
			l.fail(l.at(k), "", "gives "+quote(k.Value)+" again", fmt.Sprintf("it is in line %d already; keep one", line))
			continue
		}
		seen[k.Value] = k.Line
		members = append(members, member{key: k.Value, place: l.at(k), value: l.convert(n.Content[i+1], depth+1)})
	}
	return members
}
