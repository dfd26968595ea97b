package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// questions counts where the engine asks which dialect is spoken, and whether
// there is an adapter: each is to be asked once.
func (t *tree) questions() []figure {
	compat, adapter := map[string]int{}, map[string]int{}
	named := func(e ast.Expr, name string) bool {
		n, ok := types.Unalias(t.root.TypesInfo.TypeOf(e)).(*types.Named)
		return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == module && n.Obj().Name() == name
	}
	for _, f := range t.root.Syntax {
		name := t.name(f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op != token.EQL && n.Op != token.NEQ {
					return true
				}
				if named(n.X, "Compat") || named(n.Y, "Compat") {
					compat[name]++
				}
				if named(n.X, "Adapter") || named(n.Y, "Adapter") {
					adapter[name]++
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && named(n.Tag, "Compat") {
					compat[name]++
				}
			case *ast.IndexExpr:
				if named(n.Index, "Compat") {
					compat[name]++
				}
			}
			return true
		})
	}
	return []figure{
		{"places of the engine that ask for compat", sum(compat), places(compat)},
		{"places of the engine that ask for an adapter", sum(adapter), places(adapter)},
	}
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func places(m map[string]int) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

func (t *tree) surface() []figure {
	scope := t.root.Types.Scope()
	exported := 0
	for _, name := range scope.Names() {
		if token.IsExported(name) {
			exported++
		}
	}
	list := []figure{{"exported names of the engine", exported, ""}}
	for _, name := range []string{"Config", "OAuth", "Adapter"} {
		o := scope.Lookup(name)
		if o == nil {
			continue
		}
		switch u := o.Type().Underlying().(type) {
		case *types.Struct:
			list = append(list, figure{"fields of " + name, u.NumFields(), ""})
		case *types.Interface:
			list = append(list, figure{"methods of " + name, u.NumMethods(), fmt.Sprintf("in %d parts", u.NumEmbeddeds())})
		}
	}
	return list
}

const longFunction = 60

func (t *tree) functions() []figure {
	var lengths []int
	var long []string
	for _, p := range t.all {
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				n := t.span(fn)
				lengths = append(lengths, n)
				if n > longFunction && !t.table(fn) {
					long = append(long, fmt.Sprintf("%s.%s (%d)", p.Name, fn.Name.Name, n))
				}
			}
		}
	}
	slices.Sort(lengths)
	return []figure{
		{"functions of the product", len(lengths), ""},
		{"lines of a function: median", lengths[len(lengths)/2], ""},
		{"lines of a function: 95th of 100", lengths[len(lengths)*95/100], ""},
		{fmt.Sprintf("functions over %d lines, but for tables", longFunction), len(long), strings.Join(long, " ")},
	}
}

func (t *tree) span(n ast.Node) int {
	return t.set.Position(n.End()).Line - t.set.Position(n.Pos()).Line + 1
}

// table reports whether most of a function is one literal.
func (t *tree) table(fn *ast.FuncDecl) bool {
	most := 0
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if l, ok := n.(*ast.CompositeLit); ok {
			most = max(most, t.span(l))
			return false
		}
		return true
	})
	return most*4 >= t.span(fn)*3
}
