package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"authsvc/internal/text"
)

// A shape is the kind of a value in YAML.
type shape int

const (
	absent     shape = iota // not written, or null
	unreadable              // contains a mistake
	scalar
	list
	mapping
)

// A value is a value in the configuration, with its place.
type value struct {
	shape   shape
	place   string
	key     string // the key that it is assigned to, once it is
	raw     string // of a scalar, as written; for messages
	text    string // of a scalar, with ${NAME} expanded
	items   []value
	members []member
	node    *yaml.Node // of a scalar in the file
	// ofScalar means that it is an item of a list that was written as one text.
	ofScalar bool
}

type member struct {
	key, place string
	value      value
}

// maxDepth limits the nesting of the file. Only four levels have a meaning.
const maxDepth = 16

// parse reads one YAML document, which must be a mapping. It refuses aliases, and thus
// documents that grow when they are read.
func (l *loader) parse(file string, raw []byte) value {
	if file == "" {
		return value{}
	}
	l.lines = strings.Split(string(raw), "\n")
	const fix = "start with: url: https://app.example.com"
	d := yaml.NewDecoder(bytes.NewReader(l.withoutTabs(raw)))
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
		l.syntaxError(raw, err)
		return value{}
	}
	v := value{}
	if len(doc.Content) == 1 {
		v = l.convert(doc.Content[0], 0)
	}
	switch v.shape {
	case absent:
		l.fail(file, "", "is empty", fix)
	case list:
		l.fail(v.place, "", "is a list, not keys with values", "write the keys without dashes, such as url: https://app.example.com")
		v = value{shape: mapping, members: v.undashed()}
	case scalar:
		l.fail(v.place, "", "is one value, not keys with values", fix)
	}
	return v
}

// withoutTabs records tabs that indent lines, which YAML does not allow. If the text
// has the same meaning for every tab width, it returns the text with spaces instead,
// else unchanged.
func (l *loader) withoutTabs(raw []byte) []byte {
	var whole yaml.Node
	text, lines := expandTabs(raw, 2)
	if lines == nil || yaml.Unmarshal(raw, &whole) == nil {
		return raw
	}
	for _, n := range lines {
		l.fail(fmt.Sprintf("%s:%d", l.file, n), "", "is indented with a tab, which YAML does not allow", "indent with spaces")
	}
	wide, _ := expandTabs(raw, 8)
	var one, other any
	if yaml.Unmarshal(text, &one) != nil || yaml.Unmarshal(wide, &other) != nil || !reflect.DeepEqual(one, other) {
		return raw
	}
	return text
}

// expandTabs replaces the tabs that indent lines. It returns the numbers of these
// lines.
func expandTabs(raw []byte, width int) (text []byte, found []int) {
	lines := bytes.Split(raw, []byte("\n"))
	for i, line := range lines {
		rest := bytes.TrimLeft(line, " \t")
		white := line[:len(line)-len(rest)]
		if bytes.ContainsRune(white, '\t') && len(bytes.TrimSpace(rest)) > 0 {
			found = append(found, i+1)
			lines[i] = slices.Concat(bytes.ReplaceAll(white, []byte("\t"), bytes.Repeat([]byte(" "), width)), rest)
		}
	}
	return bytes.Join(lines, []byte("\n")), found
}

var yamlLine = text.LazyRegexp(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError records an error of the YAML library as a mistake. The library quotes
// names of anchors and tagged values; either may be a secret that was not put in
// quotes.
func (l *loader) syntaxError(raw []byte, err error) {
	place, text := l.file, "it cannot be read"
	if m := yamlLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); m != nil {
		line, _ := strconv.Atoi(m[1])
		if text = m[2]; strings.Contains(text, "expected ',' or") { // here, the library counts from 0
			line++
		}
		if line > 0 {
			place += ":" + strconv.Itoa(line)
		}
	}
	if strings.Contains(text, "anchor") || strings.Contains(text, "`") {
		text = "a value begins with *, & or !"
	}
	if len(l.mistakes) > 0 && (strings.Contains(text, "tab character") || strings.Contains(text, "cannot start any token")) { // the tabs have been reported
		return
	}
	const fix = "close every quote and bracket, indent with spaces, and put quotes around values that hold more than letters and digits; other mistakes are reported once this is corrected"
	if o := unclosed(raw); o.line > 0 {
		l.fail(fmt.Sprintf("%s:%d", l.file, o.line), "", "is not YAML: "+o.describe(), fix)
		return
	}
	if line, key := noSpace(raw); line > 0 && strings.Contains(text, "mapping values are not allowed") {
		l.fail(fmt.Sprintf("%s:%d", l.file, line), "", "has no space after "+key+":", "write a space between the colon and the value; other mistakes are reported once this is corrected")
		return
	}
	if strings.Contains(text, "mapping values are not allowed") || strings.Contains(text, "did not find expected") {
		if line, column := oddIndent(raw); line > 0 {
			l.fail(fmt.Sprintf("%s:%d", l.file, line), "", fmt.Sprintf("begins in column %d, where no key above it begins", column),
				"correct its indentation: begin keys of one level in the same column, and the keys below a key two spaces further in; other mistakes are reported once this is corrected")
			return
		}
	}
	l.fail(place, "", "is not YAML: "+text, fix)
}

var keyWithoutSpace = text.LazyRegexp(`^[ -]*([a-z_]+):[^\s/]`)

// noSpace returns the first line that begins with a key and a colon without a space
// behind it, and the key. The line is 0 if there is none.
func noSpace(raw []byte) (line int, key string) {
	for i, text := range strings.Split(string(raw), "\n") {
		if m := keyWithoutSpace.FindStringSubmatch(text); m != nil {
			return i + 1, m[1]
		}
	}
	return 0, ""
}

func (l *loader) at(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d", l.file, max(n.Line, 1))
}

// convert converts a node.
func (l *loader) convert(n *yaml.Node, depth int) value {
	v := value{place: l.at(n), shape: unreadable}
	switch {
	case depth > maxDepth:
		l.fail(v.place, "", "is nested too deeply", "no key has more than four levels")
	case n.Kind == yaml.AliasNode:
		l.fail(v.place, "", "is an alias (*)", "write the value out, in quotes if it begins with *")
	case n.Style&yaml.TaggedStyle != 0:
		l.fail(v.place, "", "has a tag (!)", "write the value without one, in quotes if it begins with !")
	case n.Kind == yaml.ScalarNode:
		if v.shape = absent; n.Tag != "!!null" {
			v.shape, v.raw, v.node = scalar, n.Value, n
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
			l.fail(l.at(k), "", "gives "+quote(k.Value)+" again", fmt.Sprintf("it is already in line %d; keep one", line))
			continue
		}
		seen[k.Value] = k.Line
		members = append(members, member{key: k.Value, place: l.at(k), value: l.convert(n.Content[i+1], depth+1)})
	}
	return members
}
