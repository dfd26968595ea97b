package config

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"authsvc"
)

// A mistakeInSource is a mistake in the source of the engine.
type mistakeInSource struct {
	code, place string
	texts       []string // of its problem and fix
}

// mistakesOf returns the mistakes in the source of a package: the arguments of fail,
// needStorage and ConfigError.
func mistakesOf(t *testing.T, dir string) (list []mistakeInSource) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		coded := map[*ast.CallExpr]string{}
		ast.Inspect(f, func(n ast.Node) bool {
			at := func(n ast.Node) string { return fset.Position(n.Pos()).String() }
			switch n := n.(type) {
			case *ast.AssignStmt: // b.fail(…).Code = "…"
				if sel, ok := n.Lhs[0].(*ast.SelectorExpr); ok && sel.Sel.Name == "Code" {
					if call, ok := sel.X.(*ast.CallExpr); ok {
						if code := literals(n.Rhs[0]); len(code) == 1 {
							coded[call] = code[0]
						}
					}
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				switch {
				case !ok:
				case sel.Sel.Name == "fail" && len(n.Args) >= 3:
					list = append(list, mistakeInSource{coded[n], at(n), slices.Concat(literals(n.Args[1]), literals(n.Args[2]))})
					if len(n.Args) == 4 && n.Ellipsis == token.NoPos { // of a package with one more argument before
						list = append(list, mistakeInSource{coded[n], at(n), literals(n.Args[2])})
					}
				case sel.Sel.Name == "needStorage":
					code := "a code that is passed on"
					if c := literals(n.Args[0]); len(c) == 1 {
						code = c[0]
					}
					list = append(list, mistakeInSource{code, at(n), nil})
				}
			case *ast.CompositeLit:
				if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "ConfigError" {
					m := mistakeInSource{place: at(n)}
					for _, e := range n.Elts {
						kv := e.(*ast.KeyValueExpr)
						switch kv.Key.(*ast.Ident).Name {
						case "Code":
							m.code = strings.Join(literals(kv.Value), "")
						case "Problem", "Fix":
							m.texts = append(m.texts, literals(kv.Value)...)
						}
					}
					list = append(list, m)
				}
			}
			return true
		})
	}
	return list
}

// literals returns the texts in an expression.
func literals(e ast.Expr) (list []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				list = append(list, s)
			}
		}
		return true
	})
	return list
}

// TestRemedies: each code of the engine has a remedy, each remedy has an existing code,
// and a mistake without a code does not name a Go field.
func TestRemedies(t *testing.T) {
	t.Parallel()
	var names []string
	for _, of := range []reflect.Type{reflect.TypeFor[authsvc.Config](), reflect.TypeFor[authsvc.OAuth](), reflect.TypeFor[authsvc.Email](), reflect.TypeFor[authsvc.Audience](), reflect.TypeFor[authsvc.GateHost]()} {
		for _, path := range leaves(of, "") {
			if strings.Contains(path, ".") || regexp.MustCompile(`^[A-Z][a-z]+[A-Z]|^Adapter$`).MatchString(path) && path != "OpenID" {
				names = append(names, regexp.QuoteMeta(path))
			}
		}
	}
	ofGo := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `|Operator\.\w+|Service\.\w+|OpenID: true)\b`)
	codes := map[string]bool{}
	all := slices.Concat(mistakesOf(t, "../../../../engine"), mistakesOf(t, "../../../../internal/seal/sessionshape"), mistakesOf(t, "../../../../internal/protocol/access"))
	for _, m := range all {
		if m.code != "" {
			codes[m.code] = true
			continue
		}
		for _, text := range m.texts {
			if name := ofGo.FindString(text); name != "" {
				t.Errorf("%s names %s, and has no code: %s", m.place, name, text)
			}
		}
	}
	for code := range codes {
		if r, ok := remedies[code]; !ok || r.fix == "" {
			t.Errorf("there is no remedy for %s", code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(remedies)) {
		if !codes[code] {
			t.Errorf("the remedy %s is for no mistake", code)
		}
		if text := remedies[code].problem + remedies[code].fix; ofGo.MatchString(text) {
			t.Errorf("%s speaks of Go: %s", code, text)
		}
	}
	if len(all) < 100 || len(codes) < 20 {
		t.Errorf("%d mistakes with %d codes", len(all), len(codes))
	}
}

// TestRemedyNames: a remedy names the provider and the mode.
func TestRemedyNames(t *testing.T) {
	t.Parallel()
	s := &Settings{}
	s.Engine.Providers = []authsvc.Provider{&authsvc.OAuth{ID: "github"}, &authsvc.OAuth{ID: "acme"}}
	for _, tt := range []struct {
		e    *authsvc.ConfigError
		want string
	}{
		{&authsvc.ConfigError{Code: "issuer_changed", Field: "Providers[1]", Problem: "was elsewhere"}, "was elsewhere; give the new issuer an id of its own, or accept it with `authsvc migrate issuer acme`"},
		{&authsvc.ConfigError{Code: "compat_changed", Field: "Compat", Problem: "is x"}, "is x; change it back, or convert the store with `authsvc migrate compat none` (ends all sessions)"},
		{&authsvc.ConfigError{Code: "update_age_long", Field: "Session.UpdateAge", Problem: "is longer than Session.MaxAge"}, "is longer than session.max_age; sessions would end before they are extended; 24h is the default"},
		{&authsvc.ConfigError{Field: "Session.UpdateAge", Problem: "p", Fix: "f"}, "p; f"},
	} {
		if !strings.HasSuffix(s.Explain(errors.Join(tt.e)).Error(), tt.want) {
			t.Errorf("%v, want %q", s.Explain(errors.Join(tt.e)), tt.want)
		}
	}
}
