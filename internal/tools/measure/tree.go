package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "authsvc"

// A tree is the product's source: no tests, nothing that only tests or tools
// import.
type tree struct {
	set  *token.FileSet
	root *packages.Package
	all  []*packages.Package
}

// notProduct are directories whose packages are no part of what is built.
var notProduct = []string{"/internal/tools", "/internal/test", "/verify", "/e2e", "/examples", "/adaptertest"}

func load(ctx context.Context, dir string) (*tree, error) {
	t := &tree{set: token.NewFileSet()}
	list, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Fset: t.set,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		if p.PkgPath == module+"/engine" {
			t.root = p
		}
		if !slices.ContainsFunc(notProduct, func(d string) bool { return strings.HasPrefix(p.PkgPath, module+d) }) {
			t.all = append(t.all, p)
		}
	}
	if t.root == nil {
		return nil, errors.New("no package " + module + "/engine")
	}
	return t, nil
}

func (t *tree) lines(f *ast.File) int { return t.set.File(f.FileStart).LineCount() }

func (t *tree) name(f *ast.File) string { return filepath.Base(t.set.File(f.FileStart).Name()) }

func (t *tree) files() []figure {
	files, lines := 0, 0
	for _, p := range t.all {
		for _, f := range p.Syntax {
			files++
			lines += t.lines(f)
		}
	}
	rootLines, short, shortLines := 0, 0, 0
	for _, f := range t.root.Syntax {
		n := t.lines(f)
		rootLines += n
		if n < 80 {
			short++
			shortLines += n
		}
	}
	ring := t.ring()
	return []figure{
		{"files of the product", files, ""},
		{"lines of the product", lines, ""},
		{"files of the engine", len(t.root.Syntax), ""},
		{"lines of the engine", rootLines, ""},
		{"files of the engine under 80 lines", short, fmt.Sprintf("%d lines", shortLines)},
		{"files of the engine that use each other in one ring", len(ring), ""},
	}
}

// ring is the largest set of files of the engine each of which uses each other
// one, if by way of others.
func (t *tree) ring() []string {
	uses := map[string]map[string]bool{}
	for _, f := range t.root.Syntax {
		from := t.name(f)
		uses[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := t.root.TypesInfo.Uses[id]
			if o == nil || o.Pkg() != t.root.Types || !o.Pos().IsValid() || !wide(o) {
				return true
			}
			if to := filepath.Base(t.set.Position(o.Pos()).Filename); to != from {
				uses[from][to] = true
			}
			return true
		})
	}
	return largestCycle(uses)
}

// wide reports whether an object can be used from another file.
func wide(o types.Object) bool {
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return true
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

// largestCycle is the largest strongly connected part (Tarjan).
func largestCycle(edges map[string]map[string]bool) (best []string) {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack = append(stack, v)
		on[v] = true
		for w := range edges[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		part := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, w := range part {
			on[w] = false
		}
		if len(part) > len(best) {
			best = part
		}
	}
	for _, v := range slices.Sorted(maps.Keys(edges)) {
		if index[v] == 0 {
			visit(v)
		}
	}
	return best
}
