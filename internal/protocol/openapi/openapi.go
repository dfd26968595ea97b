// Package openapi adapts the description of the HTTP interface to one service. The
// document has extensions of its own:
//
//	x-modes: [none, …]  the node only exists with these values of compat
//	x-cors: true        pages of trusted origins may call the path
//	x-only: serve       the path belongs to the program, not to the Go package
package openapi

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// basePath is the path of the routes in the source document.
const basePath = "/api/auth"

// Options describes the service that the document is for.
type Options struct {
	URL  string // of the routes, such as https://app.example.com/api/auth; empty: as in the source document
	Mode string // a value of compat; empty: all of them, marked with x-modes
}

// Fit returns the document for one service, in YAML. It keeps the order of the source,
// but not its comments.
func Fit(document []byte, o Options) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("openapi: not an object")
	}
	root := doc.Content[0]
	uncomment(&doc)
	if o.Mode != "" {
		gone := map[string]bool{}
		keepMode(root, "#", o.Mode, gone)
		for len(gone) > 0 { // references to removed nodes are removed too
			gone = dropReferences(root, "#", gone)
		}
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil {
			return nil, fmt.Errorf("openapi: %w", err)
		}
		rebase(root, u)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return b.Bytes(), nil
}

func uncomment(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		uncomment(child)
	}
}

// keepMode removes the nodes of other modes, and the x-modes of the remaining nodes. It
// adds the JSON pointers of removed nodes to gone.
func keepMode(n *yaml.Node, at, mode string, gone map[string]bool) {
	filter(n, at, func(child *yaml.Node, path string) bool {
		if modes := member(child, "x-modes"); modes != nil {
			if !slices.ContainsFunc(modes.Content, func(m *yaml.Node) bool { return m.Value == mode }) {
				gone[path] = true
				return false
			}
			remove(child, "x-modes")
		}
		keepMode(child, path, mode, gone)
		return true
	})
}

// dropReferences removes references to the nodes in gone. It returns the pointers of
// the nodes that it removed.
func dropReferences(n *yaml.Node, at string, gone map[string]bool) map[string]bool {
	more := map[string]bool{}
	filter(n, at, func(child *yaml.Node, path string) bool {
		if ref := member(child, "$ref"); ref != nil && gone[ref.Value] {
			more[path] = true
			return false
		}
		for pointer := range dropReferences(child, path, gone) {
			more[pointer] = true
		}
		return true
	})
	return more
}

// filter keeps the members or items of n for which keep returns true.
func filter(n *yaml.Node, at string, keep func(child *yaml.Node, path string) bool) {
	var kept []*yaml.Node
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i]; keep(n.Content[i+1], at+"/"+key.Value) {
				kept = append(kept, key, n.Content[i+1])
			}
		}
	case yaml.SequenceNode:
		for i, child := range n.Content {
			if keep(child, fmt.Sprintf("%s/%d", at, i)) {
				kept = append(kept, child)
			}
		}
	default:
		return
	}
	n.Content = kept
}

// rebase replaces the origin and the path in the document with those of u.
func rebase(root *yaml.Node, u *url.URL) {
	if servers := member(root, "servers"); servers != nil && len(servers.Content) > 0 {
		if server := member(servers.Content[0], "url"); server != nil {
			server.SetString(u.Scheme + "://" + u.Host)
		}
	}
	paths := member(root, "paths")
	if paths == nil {
		return
	}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		switch key := paths.Content[i]; {
		case key.Value == basePath || strings.HasPrefix(key.Value, basePath+"/"):
			key.Value = u.EscapedPath() + strings.TrimPrefix(key.Value, basePath)
		case strings.HasSuffix(key.Value, basePath): // a well-known path ends with the path of the issuer
			key.Value = strings.TrimSuffix(key.Value, basePath) + u.EscapedPath()
		}
	}
}

func member(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

func remove(n *yaml.Node, name string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
